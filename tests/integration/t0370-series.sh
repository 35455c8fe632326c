#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='several methods and repetitions in one command: their operators take turns, and a series goes on after kill -9 and Ctrl-C'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/fake_cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/fake_cli.sh"
test_require sandbox torch jq

# valid FILE: by the schema of a series' documents.
valid() { python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/series.schema.json" "$1"; }

# ---- plans and mistakes ----

test_expect_success 'a dry run shows the runs in the order of their turns, and the budgets of one and of all' '
	kgb-agent add,silu -m naive_cc,normal_cc --repeat 2 --max-tokens 2000000 --dry-run >text
	test_grep "a series of 4 runs, which generate and verify 2 operators" text
	test_grep "budget of each run: 2000000 tokens; of all 4 runs together: 8000000 tokens" text
	kgb-agent add,silu -m naive_cc,normal_cc --repeat 2 --max-tokens 2000000 --dry-run --json >plan
	jq -e "[.runs[].run] == [\"naive_cc-1\", \"normal_cc-1\", \"naive_cc-2\", \"normal_cc-2\"] and
		.budget.all_tokens == 8000000 and .budget.all_usd == null and .operators == [\"aten::add\", \"aten::silu\"]" plan
	valid plan
	test ! -e runs
'
test_expect_success 'what is wrong with a series is reported before anything is made' '
	while IFS="|" read -r arguments message; do
		# shellcheck disable=SC2086
		test_expect_code 2 kgb-agent $arguments 2>err </dev/null || return 1
		test_grep "$message" err || return 1
	done <<-\END &&
		add -m naive_cc,normal_c|unknown method .normal_c.; did you mean .normal_cc.
		add -m naive_cc,naive_cc|method .naive_cc. is named twice: for several runs of a method give --repeat N
		add -m ,|run.method names no method
		add -m naive_cc --repeat 0|.0. is out of range: must be 1 to 100
		ad -m naive_cc,normal_c|unknown operator .ad.
		all -m naive_cc,normal_cc --single-test|fix the draw with --set model.seed=N
		resume series_of_nothing|there is no run in
	END
	test ! -e runs
'
test_expect_success 'runs of which one would be live and another offline are refused' '
	test_expect_code 2 env ANTHROPIC_API_KEY=k kgb-agent add -m naive_cc,naive_codex --dry-run 2>err
	test_grep "naive_cc-1 would be live and naive_codex-1 offline: set the keys of all providers" err
'
# A selection in a run: patterns, a file and a filter mean the same in every command that takes operators.
test_expect_success 'operators come from patterns, files and filters, also of an earlier run' '
	printf "# two\nadd\nsil[u]\n" >names &&
	kgb-agent @names -m naive_cc --dry-run --json >plan && jq -e ".operators == [\"aten::add\", \"aten::silu\"]" plan &&
	kgb-agent --category MatrixMultiply --source aten -m naive_cc --dry-run --json >plan && jq -e ".operators | length == 4" plan &&
	printf "add\n\nsilo # a typo\n" >names && test_expect_code 2 kgb-agent @names -m naive_cc --dry-run 2>err &&
	test_grep "names:3: unknown operator .silo.; did you mean .silu." err
'

# ---- a series of a program that waits for a file ----

# Each attempt adds a kernel; while `held` exists the program does not end.
printf 'cat >kernel.py <<\KGB_EOF\n' >body
cat "$KGB_TEST_SOURCE_DIR/tests/honest/aten__silu/flat.py" >>body
printf 'KGB_EOF\n' >>body
{ cat body; echo 'result done'; } | fake_cli && mv cli quick
{ cat body; echo "sleep 600.$$"; } | fake_cli && mv cli slow
# series CLI ARGS...: kgb-agent with that program as Claude Code.
series() { program=$1 && shift && env KGB_CLAUDE_BIN="$TRASH/$program" kgb-agent "$@"; }
# The starts of attempts in all journals below $1, in order of time: "RUN OPERATOR".
starts() {
	for run in "$1"/series_*/*/; do
		jq -r --arg run "$(basename "$run")" "select(.type == \"attempt_started\") | [.time, \$run, .data.operator] | @tsv" "$run/journal.jsonl"
	done | sort | cut -f 2- | tr "\t" " "
}
attempts() { starts "$1" 2>/dev/null | wc -l; }
has_started() { [ "$(attempts "$2")" -ge "$1" ]; }

test_expect_success 'the operators of all runs take turns; each run has its own folder, settings and results' '
	series quick silu,mish -m naive_cc,normal_cc --repeat 2 --skip-verify --runs-dir turns >table 2>log || { cat log; false; }
	starts turns >order
	cat >wanted <<-\END
		naive_cc-1 aten::silu
		normal_cc-1 aten::silu
		naive_cc-2 aten::silu
		normal_cc-2 aten::silu
		naive_cc-1 aten::mish
		normal_cc-1 aten::mish
		naive_cc-2 aten::mish
		normal_cc-2 aten::mish
	END
	test_cmp wanted order
	cd turns/series_*
	jq -e ".runs == [\"naive_cc-1\", \"normal_cc-1\", \"naive_cc-2\", \"normal_cc-2\"]" series.json
	valid series.json
	for run in naive_cc-1 naive_cc-2 normal_cc-1 normal_cc-2; do
		jq -e --arg method "${run%-*}" ".method == \$method and .status == \"completed\" and .gateway == \"offline\"" "$run/results.json"
		grep -q "^  method: \"*${run%-*}\"* " "$run/config.yaml" && grep -q "^  repetition: ${run#*-} " "$run/config.yaml"
	done
	test_equal 4 "$(grep -c "OFFLINE.*-[12]\$" "$TRASH/table")" "lines of runs"
	test_grep "compare the runs with: kgb-agent compare .*/series_" "$TRASH/log"
	test_grep "normal_cc-2 aten::mish: attempt 1 started" "$TRASH/log"
'
test_expect_success 'a bare model and an agent share the judges; samples of two repetitions differ' '
	code=0 && series quick silu -m llm,naive_cc --repeat 2 --samples 2 --device-count 2 --runs-dir judged >table 2>log || code=$?
	[ "$code" -le 1 ] || { cat log; false; } # 1: of the samples that were drawn none is right
	test_equal 2 "$(grep -c " 1/1 .* naive_cc-[12]\$" table)" "agents that passed"
	cd judged/series_*
	for run in llm-1 llm-2; do
		jq -e ".summary.samples.answered == 2 and .summary.samples.missing == 0" "$run/results.json"
		jq -r .kernel_sha256 "$run/samples.jsonl" | sort >"$TRASH/$run.kernels"
	done
	test_must_fail cmp "$TRASH/llm-1.kernels" "$TRASH/llm-2.kernels"
'
test_expect_success 'a series and its runs are found by name, and the latest run means its series' '
	name=$(basename turns/series_*)
	kgb-agent runs --runs-dir turns --json >list
	jq -e --arg name "$name" "[.runs[].run] | length == 4 and index(\$name + \"/naive_cc-1\") != null" list
	for word in "" "$name" "$name/naive_cc-*" "turns/$name"; do
		kgb-agent analyze ${word:+"$word"} --runs-dir turns --json >out
	done
	kgb-agent analyze "$name/normal_cc-2" --runs-dir turns --json >out
	kgb-agent list --not-in "$name/normal_cc-2" --runs-dir turns >rest
	test_equal 208 "$(wc -l <rest)" operators
	for word in "" "$name" "turns/$name"; do
		series quick resume ${word:+"$word"} --runs-dir turns >table 2>log
		test_grep "is complete already" log
		test_equal 5 "$(wc -l <table)" "lines"
	done
	test_equal 8 "$(attempts turns)" attempts
'
test_expect_success 'after kill -9 all unfinished runs of the series go on, each from its own journal' '
	env KGB_CLAUDE_BIN="$TRASH/slow" kgb-agent silu,mish -m naive_cc,normal_cc --skip-verify --device-count 2 --runs-dir killed >table 2>log &
	pid=$!
	test_wait_for 60 has_started 2 killed
	test_expect_code 75 series quick resume --runs-dir killed 2>err
	test_grep "is held by process" err
	kill -9 "$pid" && wait "$pid" || true
	test_wait_for 30 test_no_process "sleep 600.$$"
	series quick resume --runs-dir killed --json >out 2>log || { cat log; false; }
	valid out
	test_grep "2 of 2 runs go on" log
	jq -e ".exit_code == 0 and [.runs[] | [.generated, .unfinished, .state]] == [[2, 0, \"completed\"], [2, 0, \"completed\"]]" out
	starts killed | sort | uniq -c | sort -n >counts
	test_equal 6 "$(attempts killed)" attempts
	test_grep "2 naive_cc-1 aten::silu" counts && test_grep "1 normal_cc-1 aten::mish" counts
	jq -e ".summary.lost.attempts == 1" killed/series_*/naive_cc-1/results.json
'
test_expect_success 'Ctrl-C ends all runs as interrupted, says how to go on, and the series goes on' '
	set -m # else the shell has children in the background ignore SIGINT
	env KGB_CLAUDE_BIN="$TRASH/slow" kgb-agent silu,mish -m naive_cc,normal_cc --skip-verify --runs-dir stopped >table 2>log &
	pid=$!
	test_wait_for 60 has_started 1 stopped
	kill -INT "$pid" && sleep 0.5
	kill -INT "$pid" || true # it may have ended at the first
	code=0 && wait "$pid" || code=$?
	test_equal 130 "$code" status
	test_grep "interrupted; continue with: kgb-agent resume .*/series_" log
	test_equal 2 "$(grep -c interrupted table)" "interrupted runs"
	series quick resume --runs-dir stopped >table 2>log
	test_equal 2 "$(grep -c completed table)" "completed runs"
'

# ---- a provider ----

# asked ROUTE ARGS...: a series of a bare model that asks the API at this address.
asked() {
	route=$1 && shift && env OPENAI_BASE_URL="$api/$route" OPENAI_API_KEY=sk-test-0123456789 \
		kgb-agent silu,mish -m llm --repeat 2 --server-type openai --skip-verify --json "$@"
}
test_start_api
test_expect_success 'each repetition asks with seeds of its own, and has a budget of its own' '
	code=0 && asked ok --samples 2 --set model.seed=5 --runs-dir asked >out.json 2>log || code=$?
	[ "$code" -le 1 ] || { cat log; false; } # 1: the answers have no kernel
	cat asked/series_*/llm-1/samples.jsonl | jq .sent.seed | sort -n | tr "\n" " " >seeds
	test_equal "5 5 6 6 " "$(cat seeds)" "seeds of the first run"
	cat asked/series_*/llm-2/samples.jsonl | jq .sent.seed | sort -n | tr "\n" " " >seeds
	test_equal "1000005 1000005 1000006 1000006 " "$(cat seeds)" "seeds of the second run"
	spent=$(jq .summary.tokens.gateway.total_tokens asked/series_*/llm-1/results.json)
	test_expect_code 5 asked ok --samples 2 --max-output 100 --max-tokens $((spent / 2)) --concurrency 1 --runs-dir limited >out.json 2>log
	valid out.json
	jq -e "[.runs[].state] == [\"budget\", \"budget\"]" out.json
'
test_expect_success 'each run that can reach no model says so with the remedy' '
	test_expect_code 4 asked 401 --runs-dir refused >out.json 2>log
	jq -e "[.runs[] | [.passed, .exit_code]] == [[0, 4], [0, 4]]" out.json
	test_grep "llm-1: no more attempts begin: no attempt can reach a model" log
	test_grep "llm-2: no more attempts begin: no attempt can reach a model" log
'
if [ "$(id -u)" -eq 0 ]; then
	test_expect_success 'on a full disk no run of the series stays' '
		mkdir full
		mount -t tmpfs -o size=128k none full
		trap "umount full" EXIT
		head -c 1m /dev/zero >full/filler 2>/dev/null || true
		for pages in 2 6 12 18; do
			truncate -s -$((pages * $(getconf PAGE_SIZE))) full/filler
			test_expect_code 4 series quick silu,mish -m naive_cc,normal_cc --repeat 9 --skip-verify --runs-dir full/runs 2>err
			test_grep "No space left on device; free some space there, or name another with --runs-dir" err
			test_equal "" "$(ls full/runs)" "left folders"
			head -c 1m /dev/zero >>full/filler 2>/dev/null || true
		done
	'
else
	test_skip 'on a full disk no run of the series stays' 'not root'
fi
test_expect_success 'a series that cannot be made leaves nothing' '
	: >file
	test_expect_code 4 series quick silu -m naive_cc,normal_cc --skip-verify --runs-dir file 2>err
	test_grep "make it writable, or name another with --runs-dir" err
'

test_done
