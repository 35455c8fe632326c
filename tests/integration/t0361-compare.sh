#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='what differs between runs: compare, leaderboard, power; on runs whose truth is known'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

golden=$KGB_TEST_SOURCE_DIR/tests/fixtures/answers
schemas=$KGB_TEST_SOURCE_DIR/docs/schemas
export golden schemas

# mixture DIR METHOD=SHIFT... [OPTION...]: runs with known rates.
mixture() {
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/make_mixture.py" "$@"
}

# same NAME: the output is that of tests/fixtures/answers/NAME.
same() {
	diff -u "$golden/$1" out
}

# valid NAME FILE: the document is that of docs/schemas/NAME.schema.json.
valid() {
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$schemas/$1.schema.json" "$2"
}

cat >"$TRASH/lib.py" <<'EOF'
import glob, json, math, random
def ops(run): return json.load(open(run + "/results.json"))["operators"]
def passed(op): return float(op["status"] == "passed")
def mean(values): values = list(values); return sum(values) / len(values)
def holm(ps):
    order, largest, out = sorted(range(len(ps)), key=lambda i: ps[i]), 0, [0] * len(ps)
    for rank, i in enumerate(order):
        largest = max(largest, min(1, (len(ps) - rank) * ps[i]))
        out[i] = largest
    return out
def flips(differences, n=20000):
    d, draw = [x for x in differences if x], random.Random(1)
    far = abs(sum(d)) - 1e-9
    return mean(abs(sum(x if draw.random() < 0.5 else -x for x in d)) >= far for _ in range(n))
EOF

test_expect_success 'runs made for this test' '
	mkdir runs &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/make_runs.py" runs &&
	mixture reps naive_cc=0 normal_cc=0.05 loop_cc=0.1*1.3 --repeat 3
'

test_expect_success 'compare shows the difference, its tests and the flips' '
	kgb-agent compare runs/naive* runs/normal* >out && same compare.txt &&
	test_no_grep ".\{81\}" out &&
	kgb-agent compare runs/naive* runs/normal* --json >both.json && valid compare both.json &&
	python3 -c "
from lib import *
answer = json.load(open(\"both.json\"))
measures = {m[\"measure\"]: m for m in answer[\"measures\"]}
a, b = [sum(f[key] for f in answer[\"flips\"]) for key in (\"a_passed\", \"other_passed\")]
n, few = a + b, min(a, b)
p = min(1, 2 * sum(math.comb(n, i) for i in range(few + 1)) / 2**n)
correct = measures[\"correct, %\"]
assert (a, b) == (2, 7) and abs(correct[\"p\"] - p) < 1e-12 and correct[\"p_holm\"] == correct[\"p\"], (a, b, correct)
assert abs(correct[\"difference\"] - (b - a) / 30) < 1e-12 and correct[\"operators\"] == 30
assert abs(correct[\"detectable\"] - 2.8015852 * math.sqrt((a + b) / 30 / 30)) < 1e-6
both = [ops(glob.glob(\"runs/\" + name + \"*\")[0]) for name in (\"naive\", \"normal\")]
logs = [math.log(both[1][o][\"speedup\"] / both[0][o][\"speedup\"]) for o in both[0] if both[0][o][\"speedup\"] and both[1][o][\"speedup\"]]
speedup = measures[\"speedup\"]
assert speedup[\"operators\"] == len(logs) == 11 and abs(math.log(speedup[\"difference\"]) - sum(logs) / 11) < 1e-12
far = sum(abs(sum(x if i >> k & 1 else -x for k, x in enumerate(logs))) >= abs(sum(logs)) - 1e-12 for i in range(2**11))
assert speedup[\"p\"] == far / 2**11, speedup
"
'

test_expect_success 'a run does not differ from itself, and what could be seen is shown all the same' '
	cp -r runs/naive* twin &&
	kgb-agent compare runs/naive* ./twin --json >same.json && valid compare same.json &&
	python3 -c "
import json
answer = json.load(open(\"same.json\"))
assert answer[\"flips\"] == []
assert all(m[\"p\"] == 1 for m in answer[\"measures\"]), answer
assert answer[\"measures\"][0][\"detectable\"] > 0
assert not [n for n in answer[\"notes\"] if \"better\" in n or \"worse\" in n]
"
'

test_expect_success 'repeats of a method are its attempts, and several methods are compared with the first' '
	kgb-agent compare reps --json >joined.json && valid compare joined.json &&
	kgb-agent compare reps >out && test_no_grep ".\{81\}" out &&
	test_grep "^A: loop_cc, 3 runs, model m-1, 3 completed$" out &&
	python3 -c "
from lib import *
answer = json.load(open(\"joined.json\"))
rows = [m for m in answer[\"measures\"] if m[\"measure\"] == \"correct, %\"]
assert [(r[\"side\"], r[\"label\"], r[\"a_label\"]) for r in rows] == [(\"B\", \"naive_cc\", \"loop_cc\"), (\"C\", \"normal_cc\", \"loop_cc\")]
def rates(method):
    runs = [ops(\"reps/%s_%d\" % (method, i)) for i in (1, 2, 3)]
    return [mean(passed(run[name]) for run in runs) for name in runs[0]]
a = rates(\"loop_cc\")
for row in rows:
    b = rates(row[\"label\"])
    d = [y - x for x, y in zip(a, b)]
    assert abs(row[\"difference\"] - mean(d)) < 1e-12 and abs(row[\"a\"] - mean(a)) < 1e-12
    assert abs(row[\"p\"] - flips(d)) < 0.02, (row, flips(d))
    # One of two comparisons: level 0.025.
    assert abs(row[\"detectable\"] - (2.2414027 + 0.8416212) * math.sqrt(mean(x * x for x in d) / 60)) < 1e-6
    assert row[\"runs\"] == \" \".join(\"%s_%d\" % (row[\"label\"], i) for i in (1, 2, 3))
assert [r[\"p_holm\"] for r in rows] == holm([r[\"p\"] for r in rows])
# One way: attempts of the first side, by sums of squares.
runs = [ops(\"reps/loop_cc_%d\" % i) for i in (1, 2, 3)]
between = 3 * sum((x - mean(a)) ** 2 for x in a) / 59
within = sum((passed(run[name]) - x) ** 2 for run in runs for name, x in zip(runs[0], a)) / 120
icc = (between - within) / (between + 2 * within)
note = next(n for n in answer[\"notes\"] if n.startswith(\"A: 180 attempts\"))
assert \"ICC %.2f: worth %.0f operators\" % (icc, 180 / (1 + 2 * icc)) in note, (note, icc)
"
'

test_expect_success 'groups of operators have rows, adjusted for their number; not groups by what A came to' '
	kgb-agent compare reps --by source,category --json >by.json && valid compare by.json &&
	kgb-agent compare reps --by source >out && test_no_grep ".\{81\}" out && test_grep "^B     aten    correct, %" out &&
	python3 -c "
from lib import *
groups = json.load(open(\"by.json\"))[\"groups\"]
assert [g[\"group\"] for g in groups if g[\"by\"] == \"source\"] == [s for _ in (0, 1) for s in (\"aten\",) * 2 + (\"cublas\",) * 2 + (\"vllm\",) * 2]
ofs = [g for g in groups if g[\"by\"] == \"category\" and g[\"measure\"] == \"correct, %\"]
assert [g[\"operators\"] for g in ofs] == [30] * 4 and [g[\"p_holm\"] for g in ofs] == holm([g[\"p\"] for g in ofs])
def rate(method, place): return mean(passed(op) for i in (1, 2, 3) for k, op in enumerate(ops(\"reps/%s_%d\" % (method, i)).values()) if k % 2 == place)
assert abs(ofs[0][\"difference\"] - (rate(\"naive_cc\", 0) - rate(\"loop_cc\", 0))) < 1e-12, ofs[0]
" &&
	test_expect_code 2 kgb-agent compare reps --by status 2>err && test_grep "by .status.: write gpu alone" err
'

test_expect_success 'runs of one method are compared by word, or each; --each does that always' '
	kgb-agent compare reps/naive_cc_1 reps/naive_cc_2 >out && test_grep "^B: naive_cc_2, model m-1, completed$" out &&
	mkdir old new && cp -r reps/naive_cc_1 reps/naive_cc_2 old && cp -r reps/naive_cc_3 new &&
	kgb-agent compare ./old ./new >out && test_grep "^A: ./old, 2 runs, model m-1, 2 completed$" out && test_grep "^B: naive_cc_3, " out &&
	kgb-agent compare ./old >out && test_grep "^B: naive_cc_2, " out &&
	kgb-agent compare reps --each --csv >out && [ "$(wc -l <out)" -eq 49 ]
'

test_expect_success 'samples of a bare model are its attempts, and missing ones are left out' '
	mixture bare llm=0 --samples 10 && mixture bare normal_cc=0 --seed 7 &&
	sed -i "/aten::mix000.*\"sample\": [2-9],/d; /vllm::mix001/d; /cublas::mix002.*\"sample\": 1,/s/\"status\": \"[a-z]*\"/\"status\": null/" bare/llm_1/samples.jsonl &&
	kgb-agent compare bare/llm* bare/normal* --json >bare.json &&
	python3 -c "
from lib import *
row = json.load(open(\"bare.json\"))[\"measures\"][0]
by_op = {}
for line in map(json.loads, open(\"bare/llm_1/samples.jsonl\")):
    if line[\"status\"]:
        by_op.setdefault(line[\"operator\"], []).append(passed(line))
assert len(by_op[\"aten::mix000\"]) == 2 and len(by_op[\"cublas::mix002\"]) == 9
assert row[\"operators\"] == 60 and abs(row[\"a\"] - sum(map(mean, by_op.values())) / 60) < 1e-12, row
"
'

test_expect_success 'of a chain of rounds the attempt is as good as its best round' '
	cp -r bare rounds &&
	python3 -c "
import json
lines = [json.loads(line) for line in open(\"rounds/llm_1/samples.jsonl\")]
with open(\"rounds/llm_1/samples.jsonl\", \"w\") as file:
    for line in lines:
        number = line[\"sample\"]
        line.update(sample=(number + 1) // 2, round=2 - number % 2)
        print(json.dumps(line), file=file)
" &&
	kgb-agent compare rounds/llm* rounds/normal* --json >rounds.json &&
	python3 -c "
from lib import *
row = json.load(open(\"rounds.json\"))[\"measures\"][0]
chains = {}
for line in map(json.loads, open(\"rounds/llm_1/samples.jsonl\")):
    chains.setdefault(line[\"operator\"], {}).setdefault(line[\"sample\"], []).append(line)
rates = []
for chain in chains.values():
    done = [any(map(passed, c)) for c in chain.values() if all(l[\"status\"] for l in c) or any(map(passed, c))]
    rates.append(mean(done))
assert abs(row[\"a\"] - sum(rates) / 60) < 1e-12, (row, rates)
"
'

test_expect_success 'what measures different things is refused, and --force says so first' '
	sed -i "s/\"gateway\": \"live\"/\"gateway\": \"offline\"/; 0,/0005\"/s/0005\"/0ff5\"/" twin/results.json &&
	test_expect_code 2 kgb-agent compare runs/naive* ./twin 2>err &&
	test_grep "one run is offline.*; 1 operators have another specification; --force" err &&
	kgb-agent compare runs/naive* ./twin --force >out && test_grep "^FORCED, the runs measure different things: one run" out &&
	mixture budgets naive_cc=0 --timeout 20m && mixture budgets normal_cc=0 --timeout 1h --gpu "NVIDIA H200" &&
	for command in compare leaderboard; do
		test_expect_code 2 kgb-agent "$command" budgets 2>err || return 1
		test_grep "operators were timed on another GPU; limits.attempt_timeout is 20m and 1h; --force" err || return 1
		kgb-agent "$command" budgets --force >out && sed 1q out >first && test_grep "^FORCED.*attempt_timeout is 20m and 1h$" first || return 1
	done &&
	for run in budgets/*_1; do
		jq --arg precision "${run%_cc_1}" ".operators[].timing_precision = \$precision" $run/results.json >timed &&
		mv timed $run/results.json || return 1
	done &&
	test_expect_code 2 kgb-agent compare budgets 2>err && test_grep "operators were timed with another precision" err &&
	printf "limits: [" >budgets/naive_cc_1/config.yaml &&
	test_expect_code 2 kgb-agent compare budgets 2>err && test_grep "budgets/naive_cc_1/config.yaml:2" err
'

test_expect_success 'repeats of one method differ no more often than chance allows' '
	mixture twins naive_cc=0 --repeat 8 --operators 60 &&
	for a in 1 2 3 4 5 6 7; do
		b=$((a + 1))
		while [ "$b" -le 8 ]; do
			kgb-agent compare "twins/naive_cc_$a" "twins/naive_cc_$b" >out || return 1
			grep -h "operators passed: \|common speedup: " out >>verdicts
			b=$((b + 1))
		done
	done &&
	[ "$(wc -l <verdicts)" -eq 56 ] &&
	{ grep "better\|worse" verdicts >alarms || true; } && cat alarms && [ "$(wc -l <alarms)" -le 6 ]
'

test_expect_success 'the same kernels on several GPUs are joined by their hash' '
	mixture h100 naive_cc=0 normal_cc=0 && mixture h200 naive_cc=0 --gpu "NVIDIA H200" && mixture mi naive_cc=0 --gpu "MI=300" &&
	kgb-agent compare h100 h200 mi --by gpu --json >gpus.json && valid compare_gpus gpus.json &&
	kgb-agent compare h100 h200 mi --by gpu >out && test_grep "^60 kernels were judged on two GPUs or more$" out &&
	test_no_grep ".\{81\}" out &&
	kgb-agent compare h100 h200 mi --by gpu --csv | sed 1q | grep -qx "operator,kernel_sha256,kernel,spread,NVIDIA H100,NVIDIA H200,MI=300" &&
	python3 -c "
from lib import *
answer = json.load(open(\"gpus.json\"))
names = (\"NVIDIA H100\", \"NVIDIA H200\", \"MI=300\")
runs = [ops(d + \"/naive_cc_1\") for d in (\"h100\", \"h200\", \"mi\")]
spreads = []
for row in answer[\"kernels\"]:
    speeds = [run[row[\"operator\"]][\"speedup\"] for run in runs]
    assert row[\"kernel_sha256\"] == runs[0][row[\"operator\"]][\"kernel_sha256\"]
    for name, speed in zip(names, speeds):
        assert row[name] == \"failed\" if speed is None else abs(row[name] - speed) < 1e-9, row
    if None not in speeds:
        spreads.append(max(speeds) / min(speeds))
        assert abs(row[\"spread\"] - spreads[-1]) < 1e-9
assert spreads == sorted(spreads, reverse=True) and len(spreads) > 20
assert [g[\"gpu\"] for g in answer[\"gpus\"]] == list(names)
mean_spread = math.exp(mean(map(math.log, spreads)))
assert \"differ by a factor of %.2f (mean of %d), %.2f at most\" % (mean_spread, len(spreads), spreads[0]) in \" \".join(answer[\"notes\"])
b = answer[\"gpus\"][1]
logs = [math.log(y[\"speedup\"] / x[\"speedup\"]) for x, y in zip(runs[0].values(), runs[1].values()) if x[\"speedup\"]]
assert b[\"common\"] == len(logs) and abs(math.log(b[\"against_first\"]) - mean(logs)) < 1e-9
" &&
	test_expect_code 2 kgb-agent compare reps --by gpu 2>err && test_grep "no kernel was judged on two GPUs" err &&
	test_expect_code 2 kgb-agent compare reps --by sauce 2>err && test_grep "by .sauce.: write one or more of source" err
'

test_expect_success 'a leaderboard ties what no test separates, and has pass@5 of those with five attempts' '
	mixture five naive_cc=0 normal_cc=0 --repeat 5 --operators 12 && mixture board llm=0 --samples 10 && mixture board naive_cc=0 strong_cc=0.08 weak_cc=-0.2 --repeat 3 --seed 3 &&
	kgb-agent leaderboard board --json >board.json && valid leaderboard board.json &&
	kgb-agent leaderboard board >out && test_no_grep ".\{81\}" out &&
	kgb-agent leaderboard board --markdown >out && test_grep "^| rank | method | pass@ |" out &&
	cp -r five hostile && sed -i "s/\"method\": \"naive_cc\"/\"method\": \"<b>\\\\u001b[31m_\"/" hostile/naive_cc_1/results.json &&
	kgb-agent leaderboard hostile --markdown >out && test_grep "^- .<b>.\\\\x1b" out && test_no_grep "^- <b>" out &&
	kgb-agent leaderboard board --csv >out && [ "$(wc -l <out)" -eq 6 ] &&
	python3 -c "
from lib import *
answer = json.load(open(\"board.json\"))
rows = {(r[\"label\"], r[\"k\"]): r for r in answer[\"rows\"]}
assert set(rows) == {(\"llm\", 1), (\"llm\", 5), (\"naive_cc\", 1), (\"strong_cc\", 1), (\"weak_cc\", 1)}
by_op = {}
for line in map(json.loads, open(\"board/llm_1/samples.jsonl\")):
    by_op.setdefault(line[\"operator\"], []).append(line)
for k in (1, 5):
    rate = mean(1 - math.comb(10 - sum(map(passed, v)).__int__(), k) / math.comb(10, k) for v in by_op.values())
    assert abs(rows[\"llm\", k][\"correct\"] - rate) < 1e-12
assert abs(rows[\"llm\", 5][\"tokens\"] - 5 * 1500) < 1e-6 and abs(rows[\"llm\", 1][\"usd\"] - 0.001) < 1e-12
logs = [[math.log(s[\"speedup\"]) for s in v if passed(s)] for v in by_op.values()]
fallback = math.exp(mean(sum(v) / 10 for v in logs))
assert abs(rows[\"llm\", 1][\"speedup_fallback\"] - fallback) < 1e-9
only = [mean(v) for v in logs if v]
assert rows[\"llm\", 1][\"timed\"] == len(only) and abs(math.log(rows[\"llm\", 1][\"speedup_correct\"]) - mean(only)) < 1e-9
assert len(answer[\"pairs\"]) == 10
adjusted = holm([p[\"p\"] for p in answer[\"pairs\"]])
assert all(abs(p[\"p_holm\"] - q) < 1e-12 and (p[\"verdict\"] == \"apart\") == (q <= 0.05) for p, q in zip(answer[\"pairs\"], adjusted))
names = [r[\"label\"] if r[\"k\"] == 1 else \"%s pass@%d\" % (r[\"label\"], r[\"k\"]) for r in answer[\"rows\"]]
for place, (name, row) in enumerate(zip(names, answer[\"rows\"])):
    apart = [p for p in answer[\"pairs\"] if p[\"verdict\"] == \"apart\" and name in (p[\"better\"], p[\"other\"])]
    assert row[\"rank_best\"] == 1 + sum(p[\"other\"] == name for p in apart), row
    assert row[\"rank_worst\"] == 5 - sum(p[\"better\"] == name for p in apart), row
assert rows[\"llm\", 1][\"rank\"] == rows[\"naive_cc\", 1][\"rank\"] and rows[\"weak_cc\", 1][\"rank\"] == \"5\"
" &&
	kgb-agent leaderboard five --csv >out && [ "$(wc -l <out)" -eq 3 ] &&
	kgb-agent leaderboard five --at 1,5 --csv >out && [ "$(wc -l <out)" -eq 5 ] &&
	kgb-agent leaderboard board --at 10 --csv >out && [ "$(wc -l <out)" -eq 2 ] &&
	test_expect_code 2 kgb-agent leaderboard board --at 0 2>err && test_grep "at .0.: write up to" err &&
	test_expect_code 2 kgb-agent leaderboard five --at 6 2>err && test_grep "no method has that many attempts" err
'

test_expect_success 'power says how many operators and attempts a difference needs' '
	kgb-agent power reps/naive* --json >one.json && valid power one.json &&
	kgb-agent power reps/naive_cc_* reps/normal_cc_* >out && test_no_grep ".\{81\}" out && test_no_grep "assumed" out &&
	kgb-agent power reps/naive_cc_1 >out && test_no_grep ".\{81\}" out &&
	test_grep "ICC 0.50 (assumed: no repeats)" out && test_grep "assumed: rates of operators correlate by 0.8" out &&
	kgb-agent power reps/naive_cc_1 --effect 7% --power 90 --csv >out && [ "$(wc -l <out)" -eq 3 ] && test_grep "^correct,0.07," out &&
	python3 -c "
from lib import *
rows = [r for r in json.load(open(\"one.json\"))[\"rows\"] if r[\"measure\"] == \"correct\"]
runs = [ops(\"reps/naive_cc_%d\" % i) for i in (1, 2, 3)]
a = [mean(passed(run[name]) for run in runs) for name in runs[0]]
within = sum((passed(run[name]) - x) ** 2 for run in runs for name, x in zip(runs[0], a)) / 120
between = (3 * sum((x - mean(a)) ** 2 for x in a) / 59 - within) / 3
for row in rows:
    for m in (1, 2, 5, 10):
        needed = 2.8015852**2 * (2 * between * 0.2 + 2 * within / m) / row[\"effect\"]**2
        assert row[\"operators_%d\" % m] == max(6, math.ceil(needed - 1e-4)), (row, needed)
    left = 60 * (row[\"effect\"] / 2.8015852)**2 - 2 * between * 0.2
    assert row[\"attempts\"] == (None if left <= 0 else max(1, math.ceil(2 * within / left))), row
" &&
	test_expect_code 2 kgb-agent power reps 2>err && test_grep "name the runs of one method or of two: 3 were found" err &&
	test_expect_code 2 kgb-agent power reps/naive_cc_1 --effect 5x 2>err && test_grep "effect .5x.: write a percentage" err
'

test_expect_success 'what so few operators cannot show is said' '
	mixture few naive_cc=1*2 normal_cc=-1 --operators 4 && mixture few loop_cc=0.8*1.1 --operators 4 &&
	kgb-agent compare few/naive_cc_1 few/normal_cc_1 >out && test_grep "^B, operators passed: undecided (p = 0.12; 4 operators show none)$" out &&
	test_grep "correct, %.*  0.12  *none$" out && test_grep "tokens, k.*  1 *none$" out &&
	kgb-agent compare few/naive_cc_1 few/loop_cc_1 >out && test_grep "common speedup: undecided (p = .*; 4 operators show none)$" out &&
	kgb-agent compare few/naive_cc_1 few/loop_cc_1 --json >few.json && valid compare few.json &&
	kgb-agent leaderboard few/naive_cc_1 few/normal_cc_1 >out && test_grep "0.12 *none  tied$" out &&
	mixture two naive_cc=0 --operators 5 --samples 4 && kgb-agent power two --effect 90% >out && test_grep "90.0 points  *6  *6  *6  *6  *never  *0 %$" out &&
	kgb-agent power few/normal_cc_1 >out && test_grep "correct: too few attempts, or all alike" out
'

test_expect_success 'what cannot be compared is named' '
	test_expect_code 2 kgb-agent compare runs/naive* 2>err && test_grep "name two runs to compare: 1 were found" err &&
	test_expect_code 2 kgb-agent compare runs/naive* reps/normal_cc_1 2>err && test_grep "naive_cc and normal_cc share no operator" err &&
	test_expect_code 2 kgb-agent leaderboard runs/naive* reps/normal_cc_1 2>err && test_grep "the runs share no operator" err &&
	sed -i "3s/{/{{/" bare/llm_1/samples.jsonl &&
	test_expect_code 2 kgb-agent compare bare 2>err && test_grep "bare/llm_1/samples.jsonl:3: " err
'

test_done
