# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What t013N-*.sh, one a coding CLI, have in common: the real CLI in its sandbox, without network, with the
# offline model, and on the bad days of a real API (tests/helpers/fake_api.py). Set $cli before.

run_dir() { echo "$1"/*_KernelGenBench_*; }

# test_cli_works: the same session as that of the main job, and one without tools.
test_cli_works() {
	test_expect_success 'it writes a kernel, has it refused, repairs it, and the repaired one passes' '
		test_expect_code 0 kgb-agent add -m "normal_$cli" --skip-verify --runs-dir normal --json >out.json 2>log || { cat log; false; }
		jq -e ".operators[\"aten::add\"] | .status == \"generated\" and (.verify_calls | map(.status)) == [\"failed\", \"passed\"]" out.json
		attempt ".end == \"agent.ok\" and .kernel_source == \"verified\""
		cmp "$(run_dir normal)/kernels/aten__add.py" "$(run_dir normal)/attempts/aten__add/001/verdicts/002.py"
		test_no_grep "not among the tested versions" log
	'
	test_expect_success 'its own count of tokens and that on the wire are the same' '
		jq -e ".operators[\"aten::add\"].tokens | .agree and .gateway == .cli and .gateway.output_tokens > 0
			and .gateway.cache_read_input_tokens > 0" out.json
	'
	test_expect_success 'its stream was understood, it asked for nothing that is not offered, nothing is left of it' '
		exit=$(run_dir normal)/attempts/aten__add/001/exit.json
		jq -e ".cli | .unknown_events == 0 and .bad_lines == 0 and .has_result and .session_id != \"\" and .tool_calls >= 4" "$exit"
		jq -e ".gateway.probes == 0 and .gateway.errors == 0 and .survivors == 0 and .term_signal == 0" "$exit"
		jq -s -e "length == 5 and all(.usage_complete and .tools_removed == 0)" \
			"$(run_dir normal)"/attempts/aten__add/001/traffic/*.meta.json
		test_no_process "$TRASH"
	'
	test_expect_success 'one answer without tools' '
		test_expect_code 0 kgb-agent add -m "naive_$cli" --skip-verify --runs-dir naive --json >out.json 2>log || { cat log; false; }
		attempt ".end == \"agent.ok\" and .kernel_source == \"message\""
		jq -e ".operators[\"aten::add\"] | .verify_calls == [] and .tokens.agree" out.json
		jq -e "(.body.tools // []) | map(.name // .function.name) | map(select(test(\"bash|exec|shell\"))) == []" \
			"$(run_dir naive)/attempts/aten__add/001/traffic/0001.request.json"
	'
	test_expect_success 'the first session once more, from its record: kernel and checks are the same, byte for byte' '
		test_expect_code 0 kgb-agent replay --runs-dir normal >table 2>log || { cat log; false; }
		test_grep "^aten::add  *identical: kernel same, 2 of 2 checks same" table
	'
	test_expect_success 'a budget that is used up: it ends by itself, after one refusal' '
		test_expect_code 5 kgb-agent add -m "naive_$cli" --skip-verify --max-tokens 5000 --runs-dir spent --json >out.json 2>log || { cat log; false; }
		attempt ".end == \"budget.reached\" and .error_code == \"budget.tokens\" and .model_requests == 1 and .term_signal == 0
			and .charged_tokens == 0"
	'
}

# Once, before test_cli_bad_day.
start_fake_api() {
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/fake_api.py" "$TRASH/port" &
	# shellcheck disable=SC2034 # lib.sh ends it
	test_background=$!
	test_wait_for 20 test -s "$TRASH/port"
}

# test_cli_bad_day BEHAVIOUR END STATUS: the API does that, the attempt ends as END, kgb-agent with STATUS.
# `ok` is a good day: what is left of it are the counts, which agree.
test_cli_bad_day() {
	behaviour=$1 end=$2 status=$3
	export behaviour end status
	# shellcheck disable=SC2016 # used in the body
	test_expect_success "an API that answers with $1: $2" '
		url=http://127.0.0.1:$(cat "$TRASH/port")/$behaviour
		rm -rf bad
		code=0
		ANTHROPIC_API_KEY=key-0123456789 OPENAI_API_KEY=key-0123456789 kgb-agent add -m "naive_$cli" --skip-verify --runs-dir bad \
			--timeout 120s --set run.max_attempts=1 --set gateway.max_tries=1 \
			--set gateway.upstream_url="$url" --set gateway.openai_url="$url" --json >out.json 2>log || code=$?
		jq ".operators[\"aten::add\"].attempts" out.json
		cat log
		test_equal "$status" "$code" "exit status"
		attempt ".end == \"$end\""
		[ "$behaviour" != ok ] || attempt ".tokens | .agree and .gateway.output_tokens == 5 and .gateway.input_tokens == 100"
		test_expect_code 1 grep -r key-0123456789 bad
	'
}
