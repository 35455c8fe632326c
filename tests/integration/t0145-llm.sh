#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a bare model is asked for samples: offline with verdicts, resumed, and on the bad days of a server; no sample is lost'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

# Counts the samples of a run once more, from its lines, and compares the sums of results.json.
cat >count.py <<'END'
import json, sys
from fractions import Fraction
from math import comb

run, per_operator = sys.argv[1], int(sys.argv[2])
rows = [json.loads(line) for line in open(run + "/samples.jsonl")]
results = json.load(open(run + "/results.json"))
heights = ["refused", "nothing", "compiles", "runs", "core", "correct", "timed"]


def reaches(row, rung):
    if rung == "correct":
        return row["status"] == "passed"
    return row["status"] is not None and row["reached"] in heights[heights.index(rung):]


def check(what, sums, rows, n_operators):
    wanted = {
        "asked": per_operator * n_operators,
        "answered": len(rows),
        "missing": per_operator * n_operators - len(rows),
        "truncated": sum(row["finish"] == "truncated" for row in rows),
        "refused": sum(row["finish"] == "refused" for row in rows),
        "no_kernel": sum(row["kernel_sha256"] is None for row in rows),
        "distinct_kernels": len({(row["operator"], row["kernel_sha256"]) for row in rows if row["kernel_sha256"]}),
        "judged": sum(row["status"] is not None for row in rows),
        "cheated": sum(row["status"] == "cheated" for row in rows),
        **{rung: sum(reaches(row, rung) for row in rows) for rung in ("compiles", "core", "correct")},
    }
    for name, value in wanted.items():
        assert sums[name] == value, f"{what}: {name} is {sums[name]}, counted {value}"


def tokens_of(counts):
    return sum(counts[name] for name in counts if name != "total_tokens")


# Tokens of the samples and of the other answers are those of the ledger.
names = list(results["operators"])
for sums, spent, mine in [(results["summary"]["samples"], results["summary"]["tokens"], rows)] + [
        (results["operators"][name]["samples"], results["operators"][name]["tokens"], [row for row in rows if row["operator"] == name])
        for name in names]:
    assert sums["tokens"] == sum(tokens_of(row["tokens"]) for row in mine), sums
    assert sums["tokens"] + sums["other_tokens"] == tokens_of(spent["gateway"]), (sums, spent)
per_solved = results["summary"]["samples"]["per_solved"]
solved = {row["operator"] for row in rows if row["status"] == "passed"}
assert per_solved["operators"] == len(solved), per_solved
assert not solved or abs(per_solved["tokens"] * len(solved) - tokens_of(results["summary"]["tokens"]["gateway"])) < 1e-6, per_solved
check("run", results["summary"]["samples"], rows, len(names))
rates = {}
for name in names:
    mine = [row for row in rows if row["operator"] == name]
    sums = results["operators"][name]["samples"]
    check(name, sums, mine, 1)
    assert sorted(row["sample"] for row in mine) == list(range(1, len(mine) + 1)), name
    n = len(mine)
    for k in (1, 2, 5, 10):
        assert (str(k) in sums["pass_at_k"]) == (k <= n), (name, k)
        for rung in ("compiles", "core", "correct") if k <= n else ():
            c = sum(reaches(row, rung) for row in mine)
            wanted = float(1 - Fraction(comb(n - c, k), comb(n, k)))
            assert abs(sums["pass_at_k"][str(k)][rung] - wanted) < 1e-12, (name, k, rung)
            rates.setdefault((k, rung), []).append(wanted)
for (k, rung), values in rates.items():
    estimate = results["summary"]["samples"]["pass_at_k"][str(k)][rung]
    mean = sum(values) / len(values)
    assert estimate["operators"] == len(values) and abs(estimate["value"] - mean) < 1e-12, (k, rung, estimate)
    assert estimate["low"] <= estimate["value"] <= estimate["high"], (k, rung, estimate)
END

run_dir() { echo "$1"/llm_*; }
traffic() { find "$1"/llm_*/attempts/*/*/traffic -name '*.meta.json' | wc -l; }

# ---- offline ----

test_expect_success 'offline, three operators of four samples: each has its reply, and each kernel its verdict' '
	test_expect_code 0 kgb-agent add,silu,sum -m llm --samples 4 --device-count 2 --runs-dir offline --json >out.json 2>log
	jq -e ".status == \"completed\" and ([.operators[] | .status] | all(. == \"passed\"))" out.json
	run=$(run_dir offline)
	test_equal 12 "$(wc -l <"$run/samples.jsonl")" lines
	test_equal 12 "$(traffic offline)" requests
	jq -r "[.operator, (.sample | tostring), (.kernel_sha256 // \"-\"), (.same_as // 0 | tostring), .status] | join(\" \")" \
		"$run/samples.jsonl" >rows
	while read -r name number sha256 same_as status; do
		file=$run/attempts/$(echo "$name" | sed "s/::/__/")/001/samples/000$number
		test -s "$file.md" || { echo "no $file.md"; exit 1; }
		if [ "$sha256" = - ]; then
			test ! -e "$file.py" && test ! -e "$file.json" || exit 1
			continue
		fi
		test_equal "$sha256" "$(sha256sum <"$file.py" | cut -d" " -f1)" "$file.py" || exit 1
		# One verdict stands for all kernels that are the same program.
		[ "$same_as" -ne 0 ] || test_equal "$status" "$(jq -r .status "$file.json")" "$file.json" || exit 1
	done <rows
'
test_expect_success 'the sums of results.json are those of samples.jsonl' '
	python3 count.py "$(run_dir offline)" 4
'
test_expect_success 'rebuild makes the same files from the journal' '
	run=$(run_dir offline)
	mkdir before && mv "$run/results.json" "$run/samples.jsonl" before
	kgb-agent rebuild --runs-dir offline
	test_cmp before/results.json "$run/results.json"
	test_cmp before/samples.jsonl "$run/samples.jsonl"
'
test_expect_success 'resume of a run that has all its samples asks for nothing' '
	kgb-agent resume --runs-dir offline >table 2>log
	test_equal 12 "$(traffic offline)" requests
	test_cmp before/samples.jsonl "$(run_dir offline)/samples.jsonl"
'
test_expect_success 'resume --samples 6 asks for two more of each operator and keeps the others' '
	test_expect_code 0 kgb-agent resume --samples 6 --device-count 2 --runs-dir offline --json >out.json 2>log
	run=$(run_dir offline)
	test_equal 18 "$(traffic offline)" requests
	jq -s -e "map(select(.attempt == 2) | .sample) | sort == [5, 5, 5, 6, 6, 6]" "$run/samples.jsonl"
	grep "\"attempt\":1" "$run/samples.jsonl" | test_cmp before/samples.jsonl -
	python3 count.py "$run" 6
'
test_expect_success 'the same seed gives the same samples' '
	test_expect_code 0 kgb-agent silu -m llm --samples 4 --skip-verify --runs-dir again --json >out.json 2>log
	jq -e ".operators[\"aten::silu\"].status == \"generated\"" out.json
	jq -c "[.sample, .kernel_sha256]" "$(run_dir again)/samples.jsonl" | sort >a
	jq -c "select(.operator == \"aten::silu\" and .sample <= 4) | [.sample, .kernel_sha256]" "$(run_dir offline)/samples.jsonl" | sort >b
	test_cmp b a
'

# ---- a judge that a file named `trouble` stops ----

mkdir own
cp "$KGB_TEST_BIN_DIR"/kgb-* own/
cat >own/kgb-judge <<\END
#!/bin/sh
[ "$1" = verify ] || exit 1
here=$(dirname "$0")/..
echo >>"$here/judged"
status=passed code=null
[ ! -e "$here/trouble" ] || status=infra_error code='"infra.test"'
printf '{"schema":"kgb.verdict/1","status":"%s","code":%s,"total_tests":1,"passed_tests":1,"failed_tests":0}\n' $status "$code"
END
with_own_judge() {
	rm -f judged
	touch judged
	KGB_DATA_DIR=${data:-$KGB_TEST_SOURCE_DIR} KGB_DEPS_DIR=$KGB_TEST_SOURCE_DIR/.deps own/kgb-agent "$@" --json >out.json 2>log || return $?
}
test_expect_success 'answers stay when the judge is in trouble, and resume has them judged, equal kernels once' '
	touch trouble
	test_expect_code 4 with_own_judge add -m llm --samples 6 --set run.max_attempts=1 --runs-dir trouble_runs
	cat log
	jq -e ".operators[\"aten::add\"] | .samples.answered == 6 and .samples.judged == .samples.no_kernel
		and (.samples.pass_at_k | has(\"10\") | not) and (.attempts[0] | .code_generated and .end == \"infra.sandbox\" and .error_code == .end)" out.json
	rm trouble
	test_expect_code 0 with_own_judge resume --runs-dir trouble_runs
	jq -e ".operators[\"aten::add\"] | .status == \"passed\" and .samples.judged == 6 and .samples.correct == 6 - .samples.no_kernel" out.json
	test_equal 6 "$(traffic trouble_runs)" requests
	# Each kernel, and the best one in the final verification.
	test_equal $(($(jq ".operators[\"aten::add\"].samples.distinct_kernels" out.json) + 1)) "$(wc -l <judged)" "times judged"
'

test_expect_success 'with --skip-verify nothing is judged; --skip-gen judges all samples, asks for none, and resume finds nothing to do' '
	test_expect_code 0 with_own_judge add,silu -m llm --samples 6 --skip-verify --runs-dir later
	test_equal 0 "$(wc -l <judged)" "times judged"
	jq -e "[.operators[] | .status == \"generated\" and .samples.judged == .samples.no_kernel and .samples.pass_at_k == {}] | all" out.json
	test_expect_code 0 with_own_judge --skip-gen --runs-dir later
	jq -e "[.operators[] | .status == \"passed\" and .samples.judged == 6 and (.samples.pass_at_k | has(\"5\"))] | all" out.json
	jq -e ".gateway == \"offline\" and .summary.samples.missing == 0" out.json
	test_equal 12 "$(traffic later)" requests
	test_equal $(($(jq "[.operators[].samples.distinct_kernels] | add" out.json) + 2)) "$(wc -l <judged)" "times judged"
	test_expect_code 0 with_own_judge resume --runs-dir later
	test_equal 0 "$(wc -l <judged)" "times judged again"
'

test_expect_success 'kernels that differ in their comments only are judged once' '
	mkdir data && cp -R "$KGB_TEST_SOURCE_DIR/datasets" "$KGB_TEST_SOURCE_DIR/methods" data/ && ln -s "$KGB_TEST_SOURCE_DIR/verify" data/
	cat >>data/datasets/offline/aten__add.yaml <<-\END
	sessions:
	  sample:
	    - {say: "```python\n{{kernel.fixed}}\n```"}
	    - {say: "```python\n# {{bug}}\n{{kernel.fixed}}  # the end\n```"}
	END
	data=$TRASH/data test_expect_code 0 with_own_judge add -m llm --samples 6 --runs-dir alike
	jq -s -e "(map(.kernel_sha256) | unique | length) == 2 and (map(select(.same_as == null)) | length) == 1 and all(.status == \"passed\")" \
		"$(run_dir alike)/samples.jsonl"
	test_equal 2 "$(wc -l <judged)" "times judged, once for the final verdict"
'

# ---- rounds with reflection ----

# The judge says of each kernel what the file named like the purpose of its verification says.
cat >own/kgb-judge <<\END
#!/bin/sh
[ "$1" = verify ] || exit 1
here=$(dirname "$0")/..
case $(cat) in
*'"purpose":"final"'*) purpose=final ;;
*'"purpose":"agent"'*) purpose=agent ;;
*) exit 1 ;;
esac
printf '{"schema":"kgb.verdict/1","status":"%s","code":"verify.test","message":"seen by %s","reached":"runs","total_tests":1}\n' \
	"$(cat "$here/says.$purpose")" $purpose
END
# judge_says CHECK FINAL
judge_says() {
	echo "$1" >says.agent
	echo "$2" >says.final
}
# Turns of each question of a run.
turns() { jq -s -c "map(.body.messages | length)" "$(run_dir "$1")"/attempts/*/*/traffic/*.request.json; }
test_expect_success 'each round is shown the last answer and its check, and nothing of the verdict that counts' '
	judge_says failed passed
	test_expect_code 0 with_own_judge silu -m llm --reflection --samples 2 --max-rounds 3 --runs-dir rounds
	run=$(run_dir rounds)
	jq -s -e "map([.sample, .round]) | sort == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]" "$run/samples.jsonl"
	jq -s -e "map(select(.kernel_sha256)) | all(.status == \"passed\" and .check == (if .round < 3 then \"failed\" else null end))" \
		"$run/samples.jsonl"
	jq -s -e "map(.body.messages) | all(map(.role) == [\"system\", \"user\"] or (map(.role) == [\"system\", \"user\", \"assistant\", \"user\"]
		and (.[3].content | contains(\"FAILED verify.test: seen by agent\") or contains(\"FAILED agent.no_kernel\"))))" \
		"$run"/attempts/*/001/traffic/*.request.json
	test_expect_code 1 grep "seen by final" "$run"/attempts/*/001/traffic/*.request.json
	for last in 0001 0001-2 0002 0002-2; do
		jq -s -e --rawfile answer "$run/attempts/aten__silu/001/samples/$last.md" \
			"map(.body.messages[2].content) | index(\$answer)" "$run"/attempts/*/001/traffic/*.request.json
	done
	test ! -e "$run/attempts/aten__silu/001/samples/0001-3.check.json"
	jq -e ".summary.samples | has(\"pass_at_k\") == false and .missing == 0 and .answered == 6 and .refine_at_r[\"1\"].correct.value == 1
		and (.refine_at_r | keys == [\"1\", \"2\", \"3\"])" "$run/results.json"
'
# valid FILE: it is a results.json by the schema. valid FILE progress: a progress.json.
valid() { python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/${2:-results}.schema.json" "$1"; }
test_expect_success 'results.json of samples and of rounds is that of its schema, and a wrong figure by k or round is refused' '
	valid "$(run_dir alike)/results.json"
	valid "$(run_dir rounds)/results.json"
	valid "$(run_dir rounds)/progress.json" progress
	jq ".summary.samples.refine_at_r |= with_entries(.key = \"r\" + .key)" "$(run_dir rounds)/results.json" >bad.json
	test_expect_code 1 valid bad.json >out
	test_grep "summary.samples.refine_at_r: .r1. is not in the schema" out
	jq ".operators[].samples.refine_at_r[\"2\"].correct = 1.5" "$(run_dir rounds)/results.json" >bad.json
	test_expect_code 1 valid bad.json >out
	test_grep "refine_at_r.2.correct: 1.5 is more than 1" out
	jq "(.operators[].samples.pass_at_k[\"1\"]) = {}" "$(run_dir alike)/results.json" >bad.json
	test_expect_code 1 valid bad.json >out
	test_grep "pass_at_k.1: .compiles. is missing" out
'
test_expect_success 'a kernel that passes its check ends the chain, whatever the final seeds find' '
	judge_says passed failed
	test_expect_code 1 with_own_judge silu -m llm --reflection --max-rounds 5 --runs-dir once
	test_equal "[2]" "$(turns once)" turns
	jq -e ".summary.samples | .missing == 0 and .refine_at_r[\"5\"].correct.value == 0" "$(run_dir once)/results.json"
'
test_expect_success 'a chain goes on where it stopped: nothing is asked twice, and the texts are those of the start' '
	judge_says infra_error failed
	echo "what I say: {{verdict}}" >mine.md
	test_expect_code 1 with_own_judge silu -m llm --reflection --samples 2 --max-rounds 2 --runs-dir more \
		--set run.max_attempts=1 --set prompt.reflection=mine.md
	jq -e ".operators[] | .samples | .missing == 2 and .answered == 2 and .asked == 4" out.json
	rm mine.md
	judge_says failed failed
	test_expect_code 1 with_own_judge resume --runs-dir more
	test_equal "[2,2,4,4]" "$(turns more)" turns
	jq -s -e "map(.body.messages[3].content // empty) | length == 2 and all(startswith(\"what I say: FAILED \"))" \
		"$(run_dir more)"/attempts/*/*/traffic/*.request.json
	test_expect_code 1 with_own_judge resume --runs-dir more --max-rounds 3
	test_equal "[2,2,4,4,4,4]" "$(turns more)" turns
	mkdir rounds_before && mv "$(run_dir more)/results.json" "$(run_dir more)/samples.jsonl" rounds_before
	kgb-agent rebuild --runs-dir more
	test_cmp rounds_before/results.json "$(run_dir more)/results.json"
	test_cmp rounds_before/samples.jsonl "$(run_dir more)/samples.jsonl"
'
test_expect_success 'a run is not mixed with other sampling, texts or rounds by accident' '
	echo other >other.md
	while read -r option message; do
		test_expect_code 2 kgb-agent resume --runs-dir more --max-rounds 4 "$option" 2>log </dev/null
		test_grep "$message" log || { cat log; exit 1; }
	done <<-\LIST
		--temperature=0.3 sampling was /v1/chat/completions {"seed":0,"max_tokens":16384} and would be
		--set=model.name=other model was claude-sonnet-4-5 and would be other
		--set=prompt.system=other.md prompts was system
		--set=model.reflection=false has chains of rounds: start a new run for independent samples
	LIST
	test_equal "[2,2,4,4,4,4]" "$(turns more)" turns
	test_expect_code 2 kgb-agent add -m llm --reflection --set prompt.reflection=nowhere.md --runs-dir nowhere 2>log
	test_grep "prompt.reflection: open .nowhere.md.: No such file" log
	test ! -e nowhere
'

# ---- names of KernelGenBench's script ----

live_plan() { OPENAI_API_KEY=k OPENAI_BASE_URL=http://127.0.0.1:1 kgb-agent -m llm --dry-run --json "$@" >plan.json 2>log; }
test_expect_success 'the options of the original choose operators, server, place and number as there' '
	live_plan --op-name aten::silu --server-type vllm --model-name m --temperature 0.8 --num-workers 150 --test-type triton --output-dir here
	jq -e ".operators == [\"aten::silu\"]" plan.json
	test_grep "model.server .vllm. is asked as a server that speaks OpenAI.s Chat Completions" log
	live_plan --debug
	jq -e ".operators | length == 8 and (map(split(\"::\")[0]) | unique | length) == 3" plan.json
	live_plan --single-test --set model.seed=5
	one=$(jq -r ".operators[]" plan.json)
	test_grep "single-test: $one\$" log
	live_plan --single-test --set model.seed=5
	test_equal "$one" "$(jq -r ".operators[]" plan.json)" "drawn again"
	live_plan --single-test --set model.seed=6
	test "$one" != "$(jq -r ".operators[]" plan.json)"
	test ! -e here && test ! -e runs
'
test_expect_success 'an option that means something else here, or nothing, is answered with what there is instead' '
	while read -r option message; do
		# shellcheck disable=SC2086 # an option and its value
		test_expect_code 2 live_plan silu ${option%%=*} ${option#*=} </dev/null
		test_grep "$message" log || { cat log; exit 1; }
	done <<-\LIST
		--max-tokens=16384 16384 tokens hold no request of Bare model.*the length of an answer is --max-output
		--timeout=300 needs a unit
		--test-type=accuracy there is one type, triton
		--name=aten there is no option .--name.: the dataset is chosen with --dataset
		--custom-test-modules=f there is no option .--custom-test-modules.: the tests of an operator are its spec
		--acc-test-func-path=f it had no effect
		--benchmark-func-path=f it had no effect
		--resume-from=x leave out operators
	LIST
	live_plan silu --max-tokens 1000000
	test_grep "warning: --max-tokens limits all tokens of the run; the length of an answer is --max-output (now 16384)" log
	kgb-agent --resume-from "$(run_dir once)" -m llm 2>log >table2 || true
	test_grep "is complete already" log
'

# ---- servers ----

test_start_api

# live DAY COMMAND...: a command of kgb-agent with the server of that day (fake_api.py).
live() {
	# shellcheck disable=SC2154 # test_start_api sets it
	url=$api/$1
	shift
	OPENAI_API_KEY=key-0123456789 ANTHROPIC_API_KEY=key-0123456789 OPENAI_BASE_URL=$url ANTHROPIC_BASE_URL=$url kgb-agent "$@"
}
calls() { grep -c . "$TRASH/port.$1" 2>/dev/null || true; }

# Calls that the provider got by the run's ledger, all attempts together; or another sum that is named.
cat >ledger.py <<'END'
import json, sys

totals = {}
for line in open(sys.argv[1] + "/journal.jsonl"):
    event = json.loads(line)
    data = event["data"]
    if event["type"] in ("usage", "attempt_finished") and data.get("gateway"):
        totals[data["operator"], data["attempt"]] = data["gateway"]
print(sum(t[name] for t in totals.values() for name in sys.argv[2:] or ["calls"]))
END

# One attempt for four samples. Other cases look at the runs of the first days; of the others one in three is played.
#  day                protocol           end                    requests  repeated  answered  truncated
cat >table <<\END
ok                    openai             agent.ok                      4         0         4          0
ok                    openai-responses   agent.ok                      4         0         4          0
ok                    anthropic          agent.ok                      4         0         4          0
401                   openai             provider.auth                 4         0         0          0
403                   anthropic          provider.auth                 4         0         0          0
404                   openai             provider.unknown_model        4         0         0          0
cut.ok                openai             provider.transient            4         0         3          0
two_choices           openai             agent.ok                      4         0         4          0
no_usage              openai             agent.ok                      4         0         4          0
null_usage            openai             agent.ok                      4         0         4          0
null_usage            anthropic          agent.ok                      4         0         4          0
null_usage            openai-responses   agent.ok                      4         0         4          0
same_id               openai             agent.ok                      4         0         4          0
same_id               anthropic          agent.ok                      4         0         4          0
no_temperature        openai             agent.ok                      8         0         4          0
no_temperature        anthropic          agent.ok                      8         0         4          0
no_temperature        openai-responses   agent.ok                      8         0         4          0
no_max_tokens         openai             agent.ok                      8         0         4          0
n_all                 openai             agent.ok                      1         0         4          0
n_one                 openai             agent.ok                      4         0         4          0
n_fewer               openai             agent.ok                      3         0         4          0
n_same.ok             openai             agent.ok                      5         0         4          0
n_cut.ok              openai             agent.ok                      4         0         4          0
no_n                  openai             agent.ok                      5         0         4          0
END
sample_lines 3 >>table <<\END
html_403              openai             provider.auth                 4         0         0          0
402                   openai             provider.credit               4         0         0          0
400                   openai             provider.bad_request          4         0         0          0
429_soon.ok           openai             agent.ok                      4         1         4          0
429_date.ok           openai             agent.ok                      4         1         4          0
429_later             openai             provider.transient            4         0         0          0
html_502.ok           openai             agent.ok                      4         1         4          0
529                   anthropic          provider.transient            4         8         0          0
529.529.ok            anthropic          agent.ok                      4         2         4          0
slow                  openai             agent.ok                      4         0         4          0
silent.ok             openai             agent.ok                      4         1         4          0
stall.ok              openai             provider.transient            4         0         3          0
cut.ok                openai-responses   provider.transient            4         0         3          0
cut.ok                anthropic          provider.transient            4         0         3          0
no_stop.ok            openai             provider.transient            4         0         3          0
malformed.ok          openai             provider.transient            4         0         3          0
error_event.ok        openai             provider.transient            4         0         3          0
error_event.ok        openai-responses   provider.transient            4         0         3          0
error_event.ok        anthropic          provider.transient            4         0         3          0
half_json.ok          openai             provider.transient            4         0         3          0
html.ok               openai             provider.transient            4         0         3          0
html.ok               anthropic          provider.transient            4         0         3          0
empty.ok              openai             provider.transient            4         0         3          0
empty.ok              openai-responses   provider.transient            4         0         3          0
error_200.ok          openai             provider.transient            4         0         3          0
long                  openai             agent.ok                      4         0         4          4
n_all                 anthropic          agent.ok                      4         0         4          0
html.ok.n_all         openai             provider.transient            1         0         0          0
END

# play DAY PROTOCOL: into the folder DAY-PROTOCOL.
play() {
	folder=$1-$2 code=0
	mkdir "$folder"
	# On days without a planned delay the limits are long, because a busy machine may be late.
	idle=60s
	case $1 in silent* | stall*) idle=4s ;; esac
	choices=1
	case $1 in *n_* | no_n) choices=4 ;; esac
	live "$1/$2" silu -m llm --server-type "$2" --model-name m --samples 4 --temperature 0.8 --skip-verify \
		--choices "$choices" --set run.max_attempts=1 --set gateway.max_tries=3 --set gateway.idle_timeout="$idle" \
		--runs-dir "$folder/runs" --json >"$folder/out.json" 2>"$folder/log" || code=$?
	echo "$code" >"$folder/status"
}

# Four at a time, because they mostly wait.
test_expect_success 'all days are played' '
	running=0
	while read -r day protocol _; do
		play "$day" "$protocol" &
		running=$((running + 1))
		[ $((running % 4)) -ne 0 ] || wait
	done <table
	wait
	test_equal "$(wc -l <table)" "$(ls -d ./*/status | wc -l)" days
'
while read -r day protocol end requests repeated answered truncated; do
	export day protocol end requests repeated answered truncated
	# shellcheck disable=SC2016 # used in the body
	test_expect_success "$day, $protocol: $end, $answered of 4 samples" '
		cd "$day-$protocol"
		cat log
		jq -c ".operators[\"aten::silu\"] | .samples, .attempts" out.json
		jq -e ".operators[\"aten::silu\"] | .attempts | length == 1 and (.[0] | .end == \"$end\" and .model_requests == $requests
			and .model_retries == $repeated and .error_code == (if .end == \"agent.ok\" then \"agent.no_kernel\" else .end end))" out.json
		jq -e ".operators[\"aten::silu\"].samples | .answered == $answered and .missing == 4 - $answered
			and .truncated == $truncated" out.json
		run=$(run_dir runs)
		test_equal "$answered" "$(wc -l <"$run/samples.jsonl")" lines
		test_equal "$requests" "$(traffic runs)" exchanges
		# What the server got is what the ledger of the run has.
		test_equal "$(calls "$day-$protocol")" "$(jq ".operators[\"aten::silu\"].model_calls" out.json)" calls
		test_equal 0 "$(jq ".operators[\"aten::silu\"].model_calls_unsure" out.json)" "unsure calls"
		test_expect_code 1 grep -r key-0123456789 runs
		if [ "$end" = agent.ok ]; then test_equal 1 "$(cat status)"; else test_equal 4 "$(cat status)"; fi
	'
done <table

test_expect_success 'a field that the server refuses is left out, once, and the rows say so' '
	for protocol in openai openai-responses anthropic; do
		cd "$TRASH/no_temperature-$protocol"
		test_equal 1 "$(grep -c "the server refuses temperature; it is left out from now on" log)"
		jq -s -e "length == 4 and all(.sent.temperature == null and .sent != null)" "$(run_dir runs)/samples.jsonl"
		jq -s -e "map(select(.body.temperature == null)) | length == 4" "$(run_dir runs)"/attempts/*/001/traffic/*.request.json
	done
	jq -s -e "all(.sent.temperature == 0.8)" "$(run_dir "$TRASH/ok-openai/runs")/samples.jsonl"
	jq -s -e "all(.sent | .max_tokens == null and .max_completion_tokens == 16384)" \
		"$(run_dir "$TRASH/no_max_tokens-openai/runs")/samples.jsonl"
'
test_expect_success 'each of several choices is a sample, and its row has what was sent' '
	rows=$(run_dir "$TRASH/n_all-openai/runs")
	jq -s -e "map([.sample, .choice, .sent.n]) | sort == [[1, 1, 4], [2, 2, 4], [3, 3, 4], [4, 4, 4]]" "$rows/samples.jsonl"
	for i in 0 1 2 3; do
		test_equal "hello $i" "$(cat "$rows"/attempts/*/001/samples/000$((i + 1)).md)" "choice $i" || exit 1
	done
	# Usage is of the request: 100 tokens of prompt, not 400.
	jq -e ".operators[\"aten::silu\"].tokens.gateway | .input_tokens == 100 and .output_tokens == 20" "$TRASH/n_all-openai/out.json"
	jq -s -e "map([.choice, .sent.n] | tostring) | sort == [\"[1,4]\", \"[2,4]\", \"[null,null]\", \"[null,null]\"]" \
		"$(run_dir "$TRASH/n_fewer-openai/runs")/samples.jsonl"
	for day in n_one n_same.ok no_n; do
		test_equal 1 "$(grep -c "the server does not give several choices (n)" "$TRASH/$day-openai/log")" "warnings, $day" || exit 1
	done
'
test_expect_success 'each answer is counted when all have one id, and one without counts of tokens as the most' '
	for day in same_id-openai same_id-anthropic; do
		jq -e ".operators[\"aten::silu\"].tokens.gateway | .output_tokens == 20 and .input_tokens == 400" "$TRASH/$day/out.json"
	done
	for day in no_usage-openai null_usage-openai null_usage-anthropic null_usage-openai-responses; do
		jq -e ".operators[\"aten::silu\"] | .cost_usd == null and .attempts[0].charged_tokens > 4 * 16384" "$TRASH/$day/out.json"
	done
	# The answer, not another choice.
	test_equal hello "$(cat "$(run_dir "$TRASH/two_choices-openai/runs")"/attempts/*/001/samples/0001.md)"
'
test_expect_success 'the remedy is named, and no operator after the first asks with a key that is refused' '
	test_grep "no attempt can reach a model (provider.auth: status 401): give a key that the provider accepts" 401-openai/log
	test_grep "no attempt can reach a model (provider.unknown_model: status 404): name a model that the provider has" 404-openai/log
	for day in 401 403 404; do
		test_expect_code 4 live $day/many silu,neg,cos,sin,floor -m llm --samples 100 --concurrency 2 --device-count 5 --skip-verify \
			--runs-dir many$day >table2 2>log
		cat log
		test "$(calls $day-many)" -le 2
		test_equal 1 "$(grep -c "no more attempts begin" log)" remedies
	done
'
test_expect_success 'the samples that are missing after bad days are asked for once more, and no others' '
	cd cut.ok-openai
	cp "$(run_dir runs)/samples.jsonl" before
	test_expect_code 1 live cut.ok/openai resume --runs-dir runs --json >out.json 2>log
	jq -e ".operators[\"aten::silu\"] | .samples.answered == 4 and .attempts[1].model_requests == 1" out.json
	test_equal 5 "$(calls cut.ok-openai)" calls
	test_equal 3 "$(grep -cxFf before "$(run_dir runs)/samples.jsonl")" "old rows"
'

test_expect_success 'at the end of a budget no answer that is paid for is lost, and there is one warning' '
	test_expect_code 5 live ok/budget silu -m llm --server-type openai --model-name m --samples 60 --concurrency 8 --skip-verify \
		--max-tokens 22000 --runs-dir budget --json >out.json 2>log
	cat log
	jq -e ".operators[\"aten::silu\"] | .attempts[0].end == \"budget.reached\" and .samples.missing > 0
		and .samples.answered == $(calls ok-budget) and .attempts[0].charged_tokens == 105 * .samples.answered" out.json
	test_equal 1 "$(grep -c "warning: aten::silu: the token budget of the run is used up" log)" warnings
'

has_calls() { [ -e "$TRASH/port.$1" ] && [ "$(calls "$1")" -ge "$2" ]; }
test_expect_success 'after kill -9, resume asks for what is missing, and the ledger has what the server got' '
	OPENAI_API_KEY=key OPENAI_BASE_URL=$api/ok.ok.ok.slow/kill kgb-agent neg,silu -m llm --server-type openai \
		--model-name m --samples 5 --concurrency 2 --skip-verify --runs-dir killed >table2 2>log & pid=$!
	test_wait_for 60 has_calls ok.ok.ok.slow-kill 4
	sleep 0.5
	kill -9 $pid
	wait $pid || true
	answered=$(grep -c "\"type\":\"sample\"" killed/*/journal.jsonl)
	before=$(calls ok.ok.ok.slow-kill)
	test_equal "$before" "$(python3 ledger.py "$(run_dir killed)")" "calls before the kill"
	# The tokens of an answer are in the journal before the answer is.
	test "$(python3 ledger.py "$(run_dir killed)" output)" -ge $((5 * answered))
	test_expect_code 1 live ok.ok.ok.slow/kill resume --concurrency 8 --runs-dir killed --json >out.json 2>log
	jq -e "[.operators[] | .samples.answered] == [5, 5]" out.json
	test_equal $((before + 10 - answered)) "$(calls ok.ok.ok.slow-kill)" calls
	test_equal "$(calls ok.ok.ok.slow-kill)" "$(python3 ledger.py "$(run_dir killed)")" "calls after the resume"
	python3 count.py "$(run_dir killed)" 5
'
test_expect_success 'a call that libcurl repeats on another connection is counted, and the first one is unsure' '
	test_expect_code 1 live ok.gone.ok/reused silu -m llm --server-type openai --model-name m --samples 3 --concurrency 1 \
		--skip-verify --runs-dir reused --json >out.json 2>log
	cat log
	test_equal 4 "$(calls ok.gone.ok-reused)" calls
	jq -e ".operators[\"aten::silu\"] | .samples.answered == 3 and .model_calls == 3 and .model_calls_unsure == 1" out.json
'
test_expect_success 'killed at 4 random moments, no sample is lost or asked for twice, and the ledger has what the server got' '
	OPENAI_API_KEY=key OPENAI_BASE_URL=$api/jitter/kills python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/kill_run.py" \
		4 "${KGB_TEST_SEED:-$$}" "$TRASH/port.jitter-kills" kills \
		kgb-agent neg,silu -m llm --model-name m --samples 40 --set model.seed=1 --concurrency 4 --skip-verify --runs-dir kills \
		-- kgb-agent resume --runs-dir kills
	run=$(run_dir kills)
	# A call that a kill ended may have reached the server or not.
	jq -e --argjson got "$(calls jitter-kills)" \
		".summary | .model_calls <= \$got and \$got <= .model_calls + .model_calls_unsure" "$run/results.json"
	python3 count.py "$run" 40
	jq -e ".summary.samples | .answered == 80 and .judged == 80" "$run/results.json"
'

# ---- replays ----

# replay RUNS: the replay of the run in that folder has the same samples; times apart.
replay() {
	run=$(run_dir "$1")
	kgb-agent replay --runs-dir "$1" --json >replay.json 2>replay.log || { cat replay.log replay.json && return 1; }
	jq -e ".identical and ([.operators[] | .misses] | add) == 0 and ([.operators[] | .samples] | add) == $(wc -l <"$run/samples.jsonl")" \
		replay.json || return 1
	kgb-agent rebuild --runs-dir "$run/replays" || return 1
	jq -c "del(.time, .seconds)" "$run/samples.jsonl" | sort >was
	jq -c "del(.time, .seconds)" "$(jq -r .replay replay.json)/samples.jsonl" | sort >is
	test_cmp was is && rm -r "$run/replays"
}
test_expect_success 'a replay makes the same samples from the record: judged, resumed, of several choices, without refused fields' '
	for runs in offline trouble_runs ok-openai/runs ok-anthropic/runs ok-openai-responses/runs cut.ok-openai/runs \
		no_temperature-anthropic/runs no_max_tokens-openai/runs n_all-openai/runs n_fewer-openai/runs n_cut.ok-openai/runs; do
		echo "$runs"
		replay "$runs" || exit 1
	done
'
test_expect_success 'a replay names the answer that its record lacks, and an answer that was changed' '
	run=$(run_dir ok-openai/runs)
	rm "$(grep -l "\"x-kgb-sample\", *\"2\"" "$run"/attempts/*/001/traffic/*.request.json | sed "s/request.json/meta.json/")"
	test_expect_code 1 kgb-agent replay --runs-dir ok-openai/runs >out 2>err
	cat out err
	test_grep "DIFFERS: kernel same, 3 of 4 samples not the same, 1 requests not in the record" out
	echo x >>"$(ls "$(run_dir no_max_tokens-openai/runs)"/attempts/*/001/traffic/*.response.sse | tail -n 1)"
	test_expect_code 1 kgb-agent replay --runs-dir no_max_tokens-openai/runs >out 2>err
	test_grep "is not what was recorded" err
'
test_done
