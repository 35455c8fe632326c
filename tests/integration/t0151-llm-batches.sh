#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='batches of a bare model: their bad days, kill -9 at each step, Ctrl-C; nothing is bought or counted twice'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq
test_start_api

# batches DAY/NAME COMMAND...: a command of kgb-agent with the server of that day (fake_batches.py).
batches() {
	# shellcheck disable=SC2154 # test_start_api sets it
	url=$api/$1
	shift
	OPENAI_API_KEY=key-0123456789 ANTHROPIC_API_KEY=key-0123456789 OPENAI_BASE_URL=$url ANTHROPIC_BASE_URL=$url kgb-agent "$@" \
		--json >out.json 2>>log
}
# first DAY PROTOCOL [OPTION...]: the first start, in a folder.
first() {
	day=$1 protocol=$2
	shift 2
	batches "$day/$protocol" silu -m llm --server-type "$protocol" --model-name m --samples 4 --temperature 0.8 --batch \
		--set model.batch_poll=300ms --set run.max_attempts=2 --skip-verify --runs-dir runs "$@"
}
events() { grep -c "^$2" "$TRASH/port.$1" 2>/dev/null || true; }
requests() { awk '$1 == "batch" {n += $2} END {print n + 0}' "$TRASH/port.$1"; }

# What the run has is what the server got: requests, and 105 tokens for each answer.
check_books() {
	jq -c '.operators["aten::silu"] | .samples, [.attempts[] | [.end, .model_requests, .charged_tokens]]' out.json
	jq -e --argjson requests "$(requests "$1")" '.operators["aten::silu"] | .samples.answered as $n |
		([.attempts[].model_requests] | add) == $requests and ([.attempts[].model_calls] | add) == $requests and
		([.attempts[].charged_tokens] | add) == 105 * $n and
		([.attempts[].tokens.gateway | .input_tokens + .output_tokens] | add) == 105 * $n' out.json
	test_expect_code 1 grep -r key-0123456789 runs
}

#  day                   protocol          status  batches  requests  answered  results
cat >table <<\END
batch                    openai                 1        1         4         4        1
batch                    openai-responses       1        1         4         4        1
batch                    anthropic              1        1         4         4        1
batch_expired            openai                 1        2         6         4        3
batch_expired            anthropic              1        2         6         4        2
batch_half_failed        openai                 1        2         6         4        3
batch_half_failed        anthropic              1        2         6         4        2
batch_repeated           openai                 1        1         4         4        1
batch_half_line          openai                 1        1         4         4        2
batch_half_line          anthropic              1        1         4         4        2
batch_503                openai                 1        1         4         4        1
batch_503                anthropic              1        1         4         4        1
batch_none               openai                 1        1         4         4        1
batch_none               anthropic              1        1         4         4        1
batch_gone               openai                 1        1         4         4        1
batch_gone               anthropic              1        1         4         4        1
batch_no_temperature     openai                 1        2         8         4        2
batch_401                openai                 4        0         0         0        0
END
play() {
	mkdir "$1-$2"
	cd "$1-$2"
	code=0
	first "$1" "$2" || code=$?
	echo "$code" >status
}
test_expect_success 'all days are played' '
	running=0
	while read -r day protocol _; do
		(play "$day" "$protocol") &
		running=$((running + 1))
		[ $((running % 4)) -ne 0 ] || wait
	done <table
	wait
	test_equal "$(wc -l <table)" "$(ls -d ./*/status | wc -l)" days
'
while read -r day protocol code n_batches n_requests answered results; do
	export day protocol code n_batches n_requests answered results
	# shellcheck disable=SC2016 # used in the body
	test_expect_success "$day, $protocol: $n_batches batches of $n_requests requests, $answered answers" '
		cd "$day-$protocol"
		cat log
		test_equal "$code" "$(cat status)" "exit status"
		test_equal "$n_batches" "$(events "$day-$protocol" "batch ")" batches
		test_equal "$n_requests" "$(requests "$day-$protocol")" "requests at the server"
		test_equal "$results" "$(events "$day-$protocol" results)" "files of results"
		jq -e ".operators[\"aten::silu\"].samples | .answered == $answered and .missing == 4 - $answered" out.json
		check_books "$day-$protocol"
		for number in 1 2 3 4; do
			[ "$answered" -eq 0 ] || test_equal "hello $number" "$(cat runs/*/attempts/*/*/samples/000$number.md)" "sample $number" || exit 1
		done
	'
done <table

test_expect_success 'a result that is missing may have been billed: it counts as the most, and is asked for once more' '
	mkdir missing && cd missing
	test_expect_code 1 first batch_missing openai
	cat log
	jq -c ".operators[\"aten::silu\"].attempts" out.json
	jq -e ".operators[\"aten::silu\"] | .samples.answered == 4 and .attempts[0].model_requests == 4 and .attempts[1].model_requests == 1
		and .attempts[0].charged_tokens > 315 + 16384 and .attempts[1].charged_tokens == 105" out.json
	test_equal 5 "$(requests batch_missing-openai)" "requests at the server"
'
test_expect_success 'half of the list price is counted' '
	mkdir price && cd price
	test_expect_code 1 batches batch/price silu -m llm --server-type openai --model-name gpt-4o-mini --samples 4 --batch \
		--set model.batch_poll=200ms --skip-verify --runs-dir runs
	cat log
	jq -c ".operators[\"aten::silu\"].attempts[0] | .cost_usd, .usd_per_million_tokens" out.json
	grep -h "\"type\":\"batch\"" runs/*/journal.jsonl | jq -s -e "map(.data.state) == [\"leaving\", \"submitted\", \"over\"] and
		all(.data.price_factor == 0.5)"
	jq -s -e "map(.path) | sort | unique | length >= 3" runs/*/attempts/*/001/traffic/*.request.json
'
test_expect_success 'a budget that holds two requests gets two, and the others are missing' '
	mkdir budget && cd budget
	# Each may take its bytes / 2, 1,024 and the 16,384 tokens of an answer.
	test_expect_code 5 batches batch/budget silu -m llm --server-type openai --model-name m --samples 4 --batch \
		--set model.batch_poll=300ms --skip-verify --runs-dir runs --max-tokens 45000
	cat log
	jq -e ".operators[\"aten::silu\"] | .samples.answered == 2 and .attempts[0].end == \"budget.reached\" and
		.attempts[0].charged_tokens == 210" out.json
	test_equal 2 "$(requests batch-budget)" "requests at the server"
'
test_expect_success 'without a provider, and with --choices, --batch is refused with the reason' '
	test_expect_code 2 kgb-agent silu -m llm --batch --runs-dir refused 2>offline.log
	test_grep "the offline model has no batches: set .*OPENAI_API_KEY or leave out --batch" offline.log
	test_expect_code 2 first batch openai --choices 2
	test_grep "exclude each other" log
'

# stalled ADDRESS: the server has got the call that it does not answer.
stalled() { grep -q stalled "$TRASH/port.$1" 2>/dev/null; }
for protocol in openai anthropic; do
	for step in upload create made poll results; do
		[ "$protocol $step" != "anthropic upload" ] || continue
		export protocol step
		# shellcheck disable=SC2016 # used in the body
		test_expect_success "kill -9 at $step, $protocol: one batch, and the books agree" '
			mkdir "kill-$step-$protocol" && cd "kill-$step-$protocol"
			first "stall_$step" "$protocol" & pid=$!
			test_wait_for 60 stalled "stall_$step-$protocol"
			sleep 0.3
			kill -9 $(ps -o pid= --ppid $pid)
			wait $pid || true
			test_expect_code 1 batches "stall_$step/$protocol" resume --runs-dir runs
			cat log
			test_equal 1 "$(events "stall_$step-$protocol" "batch ")" batches
			test_equal 4 "$(requests "stall_$step-$protocol")" "requests at the server"
			jq -e ".operators[\"aten::silu\"].samples.answered == 4" out.json
			check_books "stall_$step-$protocol"
		'
	done
done

has_batch() { grep -q "^poll" "$TRASH/port.batch_hold-$1" 2>/dev/null; }
test_expect_success 'Ctrl-C leaves the batch at the provider and names the way on; resume fetches it' '
	mkdir interrupt && cd interrupt
	touch "$TRASH/port.hold"
	first batch_hold openai & pid=$!
	test_wait_for 60 has_batch openai
	kill -INT $(ps -o pid= --ppid $pid)
	test_expect_code 130 wait $pid
	cat log
	test_grep "aten::silu: batch batch_0_[0-9]* stays at the provider: .kgb-agent resume. fetches its results" log
	rm "$TRASH/port.hold"
	test_expect_code 1 batches batch_hold/openai resume --runs-dir runs
	jq -e ".operators[\"aten::silu\"].samples.answered == 4" out.json
	test_equal 1 "$(events batch_hold-openai "batch ")" batches
	check_books batch_hold-openai
'
test_done
