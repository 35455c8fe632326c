#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='kgb-agent replay: the real Claude Code from a record, without model and judge'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude jq

run() { echo runs/normal_cc_*; }
replay() { find "$(run)/replays" -mindepth 1 -maxdepth 1 | sort | tail -n 1; }
attempt=attempts/aten__add/001
export attempt

test_expect_success 'a run to replay: two checks, five requests' '
	test_expect_code 0 kgb-agent add -m normal_cc --skip-verify --json >out.json &&
	test_equal 5 "$(find "$(run)/$attempt/traffic" -name "*.meta.json" | wc -l)" requests &&
	jq -s -e "all(.[]; (.key | length == 64) and (.response_sha256 | length == 64))" "$(run)/$attempt"/traffic/*.meta.json &&
	test "$(jq -r .response_sha256 "$(run)/$attempt/traffic/0001.meta.json")" = \
		"$(sha256sum "$(run)/$attempt/traffic/0001.response.sse" | cut -d " " -f 1)"
'
test_expect_success 'the replay leaves the same kernel and asks for the same checks, byte for byte, though tasks are worded otherwise by now' '
	mkdir data && ln -s "$KGB_TEST_SOURCE_DIR/datasets" "$KGB_TEST_SOURCE_DIR/verify" data && cp -R "$KGB_TEST_SOURCE_DIR/methods" data &&
	sed -i "s/Implement/Write/" data/methods/data/prompt.md &&
	test_expect_code 0 env KGB_PYTHON=/nonexistent KGB_DATA_DIR="$TRASH/data" kgb-agent replay 2>log >table &&
	test_grep "^aten::add  *identical: kernel same, 2 of 2 checks same" table &&
	cmp "$(run)/kernels/aten__add.py" "$(replay)/kernels/aten__add.py" &&
	for check in 001 002; do
		cmp "$(run)/$attempt/verdicts/$check.py" "$(replay)/$attempt/verdicts/$check.py" &&
		cmp "$(run)/$attempt/verdicts/$check.json" "$(replay)/$attempt/verdicts/$check.json" || return 1
	done
'
test_expect_success 'the model gives the same answers, and its tokens are counted again, at no cost' '
	cat "$(run)/$attempt"/traffic/*.response.sse >a && cat "$(replay)/$attempt"/traffic/*.response.sse >b && test_cmp a b &&
	jq -s -e "map(.source) | unique == [\"replay\"]" "$(replay)/$attempt"/traffic/*.meta.json &&
	kgb-agent rebuild "$(replay)" &&
	jq -e ".operators[\"aten::add\"] | .tokens.agree and .cost_usd == null" "$(replay)/results.json" &&
	jq ".operators[\"aten::add\"].tokens" "$(replay)/results.json" >b && jq ".operators[\"aten::add\"].tokens" out.json >a && test_cmp a b
'
test_expect_success 'a request that is not in the record: loud, with the nearest one and the difference' '
	cp -r "$(run)" changed &&
	sed -i "s/elements are wrong/elements are bad/" changed/$attempt/verdicts/001.json &&
	test_expect_code 1 kgb-agent replay "$PWD/changed" --json >out.json 2>log &&
	test_grep "replay: no recorded answer to this POST /v1/messages (2 of 5 were given); nearest is 0003: it differs at messages" log &&
	test_grep "recorded .*elements are wrong.* asked .*elements are bad" log &&
	jq -e ".identical == false and .operators[\"aten::add\"].misses == 1" out.json
'
test_expect_success 'a check of other bytes than recorded: loud' '
	rm -rf changed && cp -r "$(run)" changed && echo "# more" >>changed/$attempt/verdicts/002.py &&
	test_expect_code 1 kgb-agent replay "$PWD/changed" 2>log >table &&
	test_grep "check 2 is of another kernel than the recorded one" log &&
	test_grep "^aten::add  *DIFFERS" table
'
test_expect_success 'a pruned run is refused, and its replays are pruned with it' '
	rm -rf changed && cp -r "$(run)" changed && kgb-agent runs prune ./changed && test -e changed/$attempt/verdicts/002.json &&
	test_equal "" "$(find changed -name ws -o -name home -o -name git -o -name traffic)" left &&
	test_expect_code 2 kgb-agent replay ./changed 2>err && test_grep "was pruned" err &&
	kgb-agent show ./changed add >out && test_grep "^== Version 2: passed" out &&
	kgb-agent export atif ./changed "$(run)" -o - >lines && jq -s -e "map(.steps | length) | .[0] == .[1] and .[0] >= 5" lines &&
	jq -s -e ".[1].steps | map(select(.source == \"agent\") | .metrics.completion_tokens) | all(. > 0)" lines
'
test_expect_success 'no record, no run: usage errors' '
	mkdir -p empty/runs &&
	test_expect_code 2 kgb-agent replay --runs-dir empty/runs 2>err &&
	test_expect_code 2 kgb-agent replay norml_cc 2>err
'
test_done
