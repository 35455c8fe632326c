# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# The common part of t013N-*.sh, one for each coding CLI: the real CLI in its sandbox, without network, with the
# offline model, and on the bad days of an API (tests/helpers/fake_api.py). The caller sets $cli.

run_dir() { echo "$1"/*_KernelGenBench_*; }

# On a very busy machine Codex sends the model another request after a command that takes 30 s. A replay, in which checks take
# no time, sends other requests.
is_waiting() { grep -q "Process running" "$(run_dir normal)"/attempts/aten__add/001/traffic/*.request.json; }

# test_cli_works: the session of the main job, and one without tools.
test_cli_works() {
	test_expect_success 'the CLI writes a kernel, the judge refuses it, and the repaired kernel passes' '
		test_expect_code 0 kgb-agent add -m "normal_$cli" --runs-dir normal --json >out.json 2>log || { cat log; false; }
		jq -e ".operators[\"aten::add\"] | .status == \"passed\" and (.verify_calls | map(.status)) == [\"failed\", \"passed\"]" out.json
		attempt ".end == \"agent.ok\" and .kernel_source == \"verified\""
		cmp "$(run_dir normal)/kernels/aten__add.py" "$(run_dir normal)/attempts/aten__add/001/verdicts/002.py"
		test_no_grep "not among the tested versions" log
	'
	test_expect_success 'its own count of tokens and that on the wire are the same' '
		jq -e ".operators[\"aten::add\"].tokens | .agree and .gateway == .cli and .gateway.output_tokens > 0
			and .gateway.cache_read_input_tokens > 0" out.json
	'
	test_expect_success 'the whole stream was understood, every request was to an offered endpoint, no process is left' '
		exit=$(run_dir normal)/attempts/aten__add/001/exit.json
		jq -e ".cli | .unknown_events == 0 and .bad_lines == 0 and .has_result and .session_id != \"\" and .tool_calls >= 4" "$exit"
		jq -e ".gateway.probes == 0 and .gateway.errors == 0 and .survivors == 0 and .term_signal == 0
			and .sandbox.probes == []" "$exit"
		requests=5
		! is_waiting || requests=$(ls "$(run_dir normal)"/attempts/aten__add/001/traffic/*.meta.json | wc -l)
		jq -s -e "length == $requests and all(.usage_complete and .tools_removed == 0)" \
			"$(run_dir normal)"/attempts/aten__add/001/traffic/*.meta.json
		test_wait_for 30 test_no_process "$TRASH"
	'
	test_expect_success 'one answer without tools holds the kernel that has passed' '
		test_expect_code 0 kgb-agent add -m "naive_$cli" --skip-verify --runs-dir naive --json >out.json 2>log || { cat log; false; }
		attempt ".end == \"agent.ok\" and .kernel_source == \"message\""
		cmp "$(run_dir normal)/kernels/aten__add.py" "$(run_dir naive)/kernels/aten__add.py"
		jq -e ".operators[\"aten::add\"] | .verify_calls == [] and .tokens.agree" out.json
		jq -e "(.body.tools // []) | map(.name // .function.name) | map(select(test(\"bash|exec|shell\"))) == []" \
			"$(run_dir naive)/attempts/aten__add/001/traffic/0001.request.json"
	'
	test_expect_success 'the first session once more, from its record: kernel and checks are the same, byte for byte' '
		! is_waiting || return 0
		test_expect_code 0 kgb-agent replay --runs-dir normal >table 2>log || { cat log; false; }
		test_grep "^aten::add  *identical: kernel same, 2 of 2 checks same" table
	'
	test_expect_success 'at the end of a budget the CLI ends by itself, after one refusal' '
		least=$(sed -n "s/^least_tokens: //p" "$KGB_TEST_SOURCE_DIR/methods/data/program/$cli.yaml")
		test_expect_code 2 kgb-agent add -m "naive_$cli" --max-tokens $((least - 1)) --runs-dir spent 2>log && test ! -e spent
		test_grep "^kgb-agent: error: --max-tokens: budget.run_tokens: $((least - 1)) tokens hold no request of .* takes at least $least" log
		test_expect_code 5 kgb-agent add -m "naive_$cli" --skip-verify --max-tokens "$least" --runs-dir spent --json >out.json 2>log || { cat log; false; }
		attempt ".end == \"budget.reached\" and .error_code == \"budget.tokens\" and .model_requests == 1 and .term_signal == 0
			and .charged_tokens == 0"
	'
}

# test_cli_bad_days: each line of standard input is a day: the API's answers (fake_api.py), the end of the attempt, and the numbers
# of requests by the CLI, calls that the API got and counted output tokens. On `ok` days the CLI counts the same. One day in three is
# played, two at a time, because they mostly wait.
test_cli_bad_days() {
	test_start_api
	sample_lines 3 >days
	test_expect_success 'all days are played' '
		running=0
		while read -r day _; do
			test_cli_play "$day" &
			running=$((running + 1))
			[ $((running % 2)) -ne 0 ] || wait
		done <days
		wait
		test_equal "$(wc -l <days)" "$(ls -d ./*/status | wc -l)" days
	'
	while read -r day end requests calls output; do
		export day end requests calls output
		# shellcheck disable=SC2016 # used in the body
		test_expect_success "an API that answers with $day: $end" '
			cd "$day"
			jq ".operators[\"aten::add\"].attempts" out.json
			cat log
			attempt ".end == \"$end\" and .model_requests == $requests and .tokens.gateway.output_tokens == $output"
			[ "$end" = agent.ok ] || test_equal 4 "$(cat status)" "exit status"
			case $day in *ok) attempt ".tokens.agree" ;; esac
			test_equal "$calls" "$(cat "../port.$day" 2>/dev/null | wc -l)" calls
			# Each call is in the record: the last one, and the failed ones before it.
			test_equal "$requests" "$(ls runs/*/attempts/*/001/traffic/*.meta.json | wc -l)" exchanges
			test_expect_code 1 grep -r key-0123456789 runs
		'
	done <days
}

# Runs one attempt on that day, in a separate folder.
test_cli_play() {
	mkdir "$1" && cd "$1" || return 1
	url=${api:?}/$1 code=0
	# On days without a planned delay the limits are long, because a busy machine may be late.
	idle=60s
	case $1 in
	*silent* | *stall*) idle=5s ;;
	esac
	# shellcheck disable=SC2154 # set before
	ANTHROPIC_API_KEY=key-0123456789 OPENAI_API_KEY=key-0123456789 kgb-agent add -m "naive_$cli" --skip-verify --runs-dir runs \
		--timeout 600s --set run.max_attempts=1 --set gateway.max_tries=2 --set gateway.idle_timeout=$idle \
		--set gateway.upstream_url="$url" --set gateway.openai_url="$url" --json >out.json 2>log || code=$?
	echo "$code" >status
}
