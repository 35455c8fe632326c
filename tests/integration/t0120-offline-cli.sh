#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the real Claude Code CLI against the gateway: offline, and live with an offline gateway as its API'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require claude jq

driver=${KGB_TEST_BIN_DIR%/bin}/tests/helpers/gateway_driver
[ -x "$driver" ] || test_skip_all "no $driver"
# shellcheck disable=SC2034 # used in the bodies
data=$KGB_TEST_SOURCE_DIR
claude=$(test_cli_path claude)

echo 'Write a Triton kernel for aten::add in kernel.py.' >prompt
# with_claude DRIVER...: runs the CLI below those drivers, in a separate folder and home, with the contents of `prompt`.
with_claude() {
	mkdir -p ws &&
	cat <prompt |
		(cd ws && IS_SANDBOX=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 CLAUDE_CODE_MAX_RETRIES=1 \
			"$@" "$claude" -p --output-format stream-json --verbose --dangerously-skip-permissions \
			--model claude-sonnet-4-5 --tools Bash,Edit,Read,Write --strict-mcp-config --setting-sources '' \
			--disable-slash-commands --no-session-persistence --max-turns 20) >out.jsonl 2>err
}

# The CLI's own counts, in the form of the driver's.
cli_tokens() {
	tail -n 1 out.jsonl | jq -S '.modelUsage | map_values({inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens})'
}

test_expect_success 'the scripted session runs to its end and both meters agree' '
	mkdir traffic &&
	with_claude "$driver" "$data" aten__add verify "$TRASH/traffic" &&
	jq -s -e ".[-1] | .type == \"result\" and .subtype == \"success\" and .is_error == false
		and .terminal_reason == \"completed\" and .permission_denials == []" out.jsonl &&
	jq -e ".verify == 2 and .exchanges == 5 and .errors == 0 and .probes == 0" traffic.json &&
	jq -S .models traffic.json >gateway.json && cli_tokens >cli.json && test_cmp gateway.json cli.json &&
	jq -e "[.[]] | length == 1 and (.[0] | [.[]] | min > 0)" gateway.json
'
test_expect_success 'kernel.py is the repaired kernel, and the last message quotes it' '
	test_no_grep "// BLOCK) \* BLOCK" ws/kernel.py &&
	tail -n 1 out.jsonl | jq -r .result | sed -n "/^.*python\$/,/^.*\`\`\`\$/p" | sed "1d;\$d" >quoted &&
	test_cmp ws/kernel.py quoted &&
	jq -s -r ".[] | select(.type == \"assistant\") | .message.content[] | .text // empty" out.jsonl >said &&
	test_grep "not a language model" said &&
	test_grep "^case: add_Tensor/float32/n=1000/standard" said
'
test_expect_success 'each exchange is recorded whole' '
	test_equal 5 "$(ls traffic | grep -c "^000[1-5].request.json$")" requests &&
	test_equal 5 "$(ls traffic | grep -c "^000[1-5].response.sse$")" responses &&
	for meta in traffic/*.meta.json; do jq -e ".source == \"offline\" and .usage_complete" "$meta" || return 1; done
'
test_expect_success 'one shot: the kernel is in the answer, and nothing else happens' '
	rm -rf ws traffic2 && mkdir traffic2 &&
	with_claude "$driver" "$data" aten__add oneshot "$TRASH/traffic2" &&
	jq -e ".verify == 0 and .exchanges == 1" traffic2.json &&
	test ! -e ws/kernel.py &&
	tail -n 1 out.jsonl | jq -r .result >said && test_grep "def add_Scalar_out" said
'
test_expect_success 'a prompt of one megabyte goes through whole, and is counted' '
	cp prompt short && yes "All the words of this line count as well." | head -c 1048576 >>prompt &&
	rm -rf ws && mkdir traffic3 &&
	with_claude "$driver" "$data" aten__add oneshot "$TRASH/traffic3" && mv short prompt &&
	jq -e ".exchanges == 1 and .errors == 0" traffic3.json &&
	jq -e ".request_bytes > 1048576 and .billed and .usage_complete" traffic3/0001.meta.json &&
	test_equal 1 "$(jq -r "[.body.messages[].content | .. | strings | select(length > 1000000)] | length" traffic3/0001.request.json)" texts &&
	jq -S .models traffic3.json >gateway.json && cli_tokens >cli.json && test_cmp gateway.json cli.json
'
test_expect_success 'live: the same session through a relay; three meters agree, and both records hold the same bytes' '
	rm -rf ws && mkdir outer inner &&
	with_claude "$driver" "$data" aten__add verify "$TRASH/outer" "$driver" - - live "$TRASH/inner" &&
	jq -e ".verify == 2 and .exchanges == 5 and .errors == 0" outer.json &&
	jq -e ".verify == 0 and .exchanges == 5 and .errors == 0" inner.json &&
	jq -S .models outer.json >a && jq -S .models inner.json >b && cli_tokens >c && test_cmp a b && test_cmp b c &&
	test_equal 5 "$(ls inner | grep -c "response.sse$")" responses &&
	cat outer/000?.response.sse >a && cat inner/000?.response.sse >b && test_cmp a b
'
test_done
