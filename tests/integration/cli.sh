# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What t013N-*.sh, one a coding CLI, have in common: the real CLI in its sandbox, without network, with the
# offline model, and on the bad days of an API (tests/helpers/fake_api.py). Set $cli before.

run_dir() { echo "$1"/*_KernelGenBench_*; }

# On a very busy machine: Codex asks the model what to do after a command that takes 30 s, so there were more requests, and a
# replay, in which checks take no time, makes others.
is_waiting() { grep -q "Process running" "$(run_dir normal)"/attempts/aten__add/001/traffic/*.request.json; }

# test_cli_works: the same session as that of the main job, and one without tools.
test_cli_works() {
	test_expect_success 'it writes a kernel, has it refused, repairs it, and the repaired one passes' '
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
	test_expect_success 'its stream was understood, it asked for nothing that is not offered, nothing is left of it' '
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
	test_expect_success 'one answer without tools; it holds the kernel that has passed' '
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
	test_expect_success 'a budget that is used up: it ends by itself, after one refusal' '
		test_expect_code 5 kgb-agent add -m "naive_$cli" --skip-verify --max-tokens 5000 --runs-dir spent --json >out.json 2>log || { cat log; false; }
		attempt ".end == \"budget.reached\" and .error_code == \"budget.tokens\" and .model_requests == 1 and .term_signal == 0
			and .charged_tokens == 0"
	'
}

# test_cli_bad_days: each line of standard input is a day: the API's answers (fake_api.py; or `closed`: no process listens;
# `tls`: it speaks none), how the attempt ends, and how many requests the CLI made, how many calls the API got and how many
# output tokens were counted. Of `ok` days the CLI's own count is the same. They are played two at a time: they mostly wait.
test_cli_bad_days() {
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/fake_api.py" "$TRASH/port" &
	# shellcheck disable=SC2034 # lib.sh ends it
	test_background=$!
	test_wait_for 100 test -s "$TRASH/port"
	cat >days
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
			# Each call is in the record: what the API was asked last, and before that in vain.
			test_equal "$requests" "$(ls runs/*/attempts/*/001/traffic/*.meta.json | wc -l)" exchanges
			test_expect_code 1 grep -r key-0123456789 runs
		'
	done <days
}

# One attempt on that day, in a separate folder.
test_cli_play() {
	mkdir "$1" && cd "$1" || return 1
	url=http://127.0.0.1:$(cat "$TRASH/port")/$1 code=0
	# Where nothing is late on purpose, a busy machine may be.
	idle=60s
	case $1 in
	closed) url=http://127.0.0.1:1 ;;
	tls) url=https${url#http} idle=5s ;;
	*silent* | *stall*) idle=5s ;;
	esac
	# shellcheck disable=SC2154 # set before
	ANTHROPIC_API_KEY=key-0123456789 OPENAI_API_KEY=key-0123456789 kgb-agent add -m "naive_$cli" --skip-verify --runs-dir runs \
		--timeout 600s --set run.max_attempts=1 --set gateway.max_tries=2 --set gateway.idle_timeout=$idle \
		--set gateway.upstream_url="$url" --set gateway.openai_url="$url" --json >out.json 2>log || code=$?
	echo "$code" >status
}
