#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a run names the maker of each kernel: no mixed models, no replaced kernels, all starts and tokens'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude jq

has_used() { grep -q '"type":"usage"' killed/*/journal.jsonl 2>/dev/null; }
# An offline attempt of add that kgb-agent leaves unfinished; tried again when the attempt ended before the signal.
kill_in_attempt() {
	for _ in 1 2 3 4 5; do
		rm -rf killed
		kgb-agent add -m naive_cc --runs-dir killed >out 2>log &
		pid=$!
		test_wait_for 60 has_used && kill -9 "$pid"
		wait "$pid" 2>/dev/null
		grep -q '"type":"attempt_finished"' killed/*/journal.jsonl || return 0
	done
	return 1
}

test_expect_success 'an offline run is killed while its attempt runs' '
	kill_in_attempt && test_wait_for 60 test_no_process "$TRASH/killed" && cp killed/*/journal.jsonl before
'
test_expect_success 'resume refuses another gateway mode: a key has come into the environment' '
	test_expect_code 2 env ANTHROPIC_API_KEY=sk-test-0123456789 kgb-agent resume --runs-dir killed 2>err &&
	test_grep "gateway was offline and would be live" err && test_grep "gateway.mode=offline" err &&
	test_cmp before killed/*/journal.jsonl
'
test_expect_success 'resume refuses another model and another method, and names both' '
	test_expect_code 2 kgb-agent resume --runs-dir killed --set model.name=other --set run.method=normal_cc 2>err &&
	test_grep "method was naive_cc and would be normal_cc" err && test_grep "model was .* and would be other" err &&
	test_cmp before killed/*/journal.jsonl
'
test_expect_success 'resumed as it was, it passes; the lost attempt stands apart and wall time covers both starts' '
	test_expect_code 0 kgb-agent resume --runs-dir killed >table 2>log &&
	test_grep "aten::add  *passed  *OFFLINE" table && test_grep "^OFFLINE: 1 of 1 passed" table && test_grep "OFFLINE PASSED" log &&
	jq -e ".gateway == \"offline\" and .summary.lost.attempts == 1 and .summary.pass_rate == 1
		and (.start_time < .operators[\"aten::add\"].attempts[1].start_time)
		and .summary.seconds.wall >= .summary.seconds.agent" killed/*/results.json &&
	jq -e ".operators[\"aten::add\"] | .lost.attempts == 1 and .tokens.agree and .attempts[1].gateway == \"offline\"
		and (.attempts[1].models_answered | length) == 1 and .tokens.gateway == .attempts[1].tokens.gateway" killed/*/results.json
'
test_expect_success 'replay follows the attempt that counts, not the one that was killed' '
	kgb-agent replay --runs-dir killed --json >out.json 2>log && jq -e ".identical" out.json
'
test_expect_success 'the run is named in the same way by rebuild, resume and replay; one that goes on is left alone' '
	run=$(echo killed/*) && kgb-agent rebuild "$run" >out && test_grep "$run/results.json" out &&
	kgb-agent resume "$run" 2>log >out && test_grep "is complete already" log &&
	for command in replay rebuild resume; do
		code=0
		python3 -c "
import fcntl, subprocess, sys
with open(sys.argv[2] + \"/lock\", \"r+\") as lock:
	fcntl.lockf(lock, fcntl.LOCK_EX)
	sys.exit(subprocess.run([\"kgb-agent\", *sys.argv[1:]]).returncode)" $command "$run" 2>err || code=$?
		test_equal 75 "$code" "status of $command" && test_grep "held by" err || return 1
	done
'
test_start_api
test_expect_success 'with --force the makers are mixed, and every place says so' '
	cp -r killed forced && for file in forced/*/journal.jsonl; do cp before "$file"; done &&
	code=0 && { ANTHROPIC_API_KEY=sk-test-0123456789 kgb-agent resume --runs-dir forced --force --set gateway.upstream_url="$api/500" \
		--set gateway.max_tries=1 --set run.max_attempts=1 >table 2>log || code=$?; } && test "$code" -ne 0 &&
	jq -e ".gateway == \"mixed\" and .model == null
		and [.operators[\"aten::add\"].attempts[] | .gateway] == [\"offline\", \"live\"]
		and .operators[\"aten::add\"].attempts[1].endpoint == \"$api/500\"" forced/*/results.json &&
	test_grep "^MIXED MODELS: 0 of 1 passed" table
'
test_expect_success 'a kernel that was changed by hand counts in no rate' '
	cp -r killed offline &&
	for file in killed/*/kernels/aten__add.py; do echo "# changed" >>"$file"; done &&
	test_expect_code 1 kgb-agent --skip-gen --runs-dir killed >table 2>log &&
	test_grep "passed, replaced" table && test_grep "aten__add.py was changed after the run had made it" table &&
	test_grep "0 of 0 passed, 1 replaced" table &&
	jq -e ".summary | .pass_rate == null and .replaced == 1 and .passed == 0 and .by_status == {}" killed/*/results.json &&
	jq -e ".operators[\"aten::add\"] | .status == \"passed\" and .kernel_source == \"replaced\"" killed/*/results.json
'
test_expect_success '--kernels names a missing folder, and files that belong to no operator' '
	test_expect_code 2 kgb-agent --kernels nowhere 2>err && test_grep "open .nowhere." err &&
	mkdir foreign && cp killed/*/kernels/aten__add.py foreign/ && cp foreign/aten__add.py foreign/aten__sillu.py &&
	test_expect_code 0 kgb-agent --kernels foreign --runs-dir judged >table 2>log &&
	test_grep "foreign/aten__sillu.py. is not judged: unknown operator .aten__sillu.; did you mean" log &&
	jq -e ".summary.passed == 1 and .operators[\"aten::add\"].kernel_source == \"adopted\" and .gateway == null" judged/*/results.json
'
# judged_again: the run of --kernels that is below `again`.
judged_again() { test_expect_code 0 kgb-agent --kernels "$1" --runs-dir again >table 2>log || { cat log; false; }; }
test_expect_success 'kernels of an offline run stay OFFLINE when another run judges them, in every command' '
	run=$(echo offline/*) && judged_again "$run/kernels" &&
	test_grep "the kernels are those of run $(basename "$run"), which is OFFLINE" log && test_grep "OFFLINE PASSED" log &&
	test_grep "aten::add  *passed  *OFFLINE" table && test_grep "^OFFLINE: 1 of 1 passed" table &&
	jq -e --arg from "$(basename "$run")" ".method == \"kernels\" and .gateway == \"offline\" and .endpoint == null and .model != null
		and .from_run == \$from and .operators[\"aten::add\"].kernel_source == \"adopted\"" again/*/results.json &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/results.schema.json" again/*/results.json &&
	for command in "runs ./again" "analyze ./again" "leaderboard ./again $run" "show add" "watch --once" "export junit -o -"; do
		kgb-agent $command --runs-dir again >out && test_grep -i "offline" out || { echo "$command"; cat out; return 1; }
	done &&
	kgb-agent report ./again --json >out && jq -e ".runs[0].offline and (.warnings | length) == 1" out &&
	kgb-agent compare "$run" ./again >out && test_grep "^B: OFFLINE, kernels_" out
'
test_expect_success 'they have no agent to go on with or to replay; kernels of such a run are OFFLINE too; copied ones are of nobody' '
	test_expect_code 2 kgb-agent resume --runs-dir again 2>err && test_grep "has no agent.s work to continue" err &&
	test_expect_code 2 kgb-agent replay --runs-dir again 2>err && test_grep "has no agent.s work to replay" err &&
	mv again first && judged_again "$(echo first/*)/kernels" && jq -e ".gateway == \"offline\"" again/*/results.json &&
	rm -r again && cp -r first/*/kernels kernels && judged_again kernels && jq -e ".gateway == null and .model == null" again/*/results.json &&
	test_no_grep OFFLINE table && kgb-agent show add --runs-dir again >out && test_grep "^by: kernels, no model" out
'
test_done
