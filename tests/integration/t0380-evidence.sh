#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the evidence of a run: show, runs prune, export'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

helpers=$KGB_TEST_SOURCE_DIR/tests/helpers
export helpers

# valid SCHEMA FILE [--lines]: the document is that of its schema.
valid() {
	schema=$1
	shift
	python3 "$helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/$schema.schema.json" "$@"
}
record() { python3 "$helpers/make_record.py" "$@"; }

test_expect_success 'runs made for this test' '
	mkdir runs && record runs/plain && record runs/hostile --hostile
'

test_expect_success 'show prints prompt, versions with verdict and changes, cost and the kernel that counts' '
	kgb-agent show plain add >out &&
	test_grep "^== aten::add: passed" out && test_grep "^by: normal_cc, OFFLINE" out && test_grep "^cost: .* USD$" out &&
	test_grep "^# Write aten::add" out && test_grep "^== Version 1: failed" out && test_grep "^FAILED verify.mismatch: 24 of" out &&
	test_grep "^-    return a$" out && test_grep "^+    return a + b$" out && test_grep "^== Version 4: passed" out &&
	test_grep "^== The kernel that counts: kernels/aten__add.py, version 3" out &&
	test_no_grep 5eed out && test_no_grep "$(printf "\033")" out
'

test_expect_success 'the words that name an operator, an attempt, a run' '
	kgb-agent show plain aten__add --attempt 1 >again && test_cmp out again &&
	kgb-agent show runs/plain aten::add >again && test_cmp out again &&
	touch -d "2 hours" runs/plain/journal.jsonl && kgb-agent show add >again && test_cmp out again &&
	test_expect_code 2 kgb-agent show 2>err && test_grep "name an operator" err &&
	test_expect_code 2 kgb-agent show plain ad 2>err && test_grep "no operator .ad.; did you mean .add.*" err &&
	test_expect_code 2 kgb-agent show plian add 2>err && test_grep "did you mean .plain" err &&
	test_expect_code 2 kgb-agent show "*" add 2>err && test_grep "names 2 runs: name one" err &&
	test_expect_code 2 kgb-agent show plain add --attempt 2 2>err && test_grep "aten::add has 1 attempts" err &&
	test_expect_code 2 kgb-agent show plain add --sample 2 2>err && test_grep "has no samples" err &&
	test_expect_code 2 kgb-agent show plain add --attempt x 2>err && test_grep "attempt: .x. is not a whole number" err
'

test_expect_success 'operators without an attempt or a kernel, and a run that did not end, are shown as far as they go' '
	kgb-agent show plain sum >out && test_grep "^attempt: none began" out && test_grep "^== The kernel that counts: none" out &&
	kgb-agent show plain silu >out && test_grep "^== aten::silu: " out
'

test_expect_success 'JSON has all of it, CSV and Markdown the versions' '
	kgb-agent show plain add --json >show.json && valid show show.json &&
	python3 -c "
import json
show = json.load(open(\"show.json\"))
assert [v[\"status\"] for v in show[\"versions\"]] == [\"failed\"] + 3 * [\"passed\"] and show[\"kernel_version\"] == 3
assert show[\"versions\"][0][\"diff\"] is None and show[\"versions\"][2][\"diff\"].startswith(\"@@ -2,5 +2,5 @@\")
assert abs(show[\"versions\"][2][\"similarity\"] - 10 / 12) < 1e-12
assert show[\"prompt\"][\"path\"] == \"attempts/aten__add/001/prompt.md\"
" &&
	kgb-agent show plain sum --json >none.json && valid show none.json &&
	kgb-agent show plain add --csv >rows.csv && test_equal 5 "$(wc -l <rows.csv)" lines &&
	kgb-agent show plain add --markdown >out.md && test_grep "^## Version 2: passed" out.md && test_grep "^~~~diff" out.md
'

test_expect_success 'what an agent wrote drives no terminal and closes no block' '
	kgb-agent show hostile add >out && test_no_grep "$(printf "\033")" out && test_grep "x1b\]0;owned" out &&
	kgb-agent show hostile add --markdown >out.md && test_grep "^~~~~~~python" out.md &&
	kgb-agent show hostile add --json >show.json && valid show show.json && test_no_grep "$(printf "\033")" show.json
'

test_expect_success 'on a terminal it is coloured, and --open gives it to the pager' '
	script -qec "env TERM=xterm kgb-agent show plain add" /dev/null </dev/null >out && test_grep "$(printf "\033")\[32m+    return a + b" out &&
	script -qec "env TERM=xterm NO_COLOR=1 kgb-agent show plain add" /dev/null </dev/null >out && test_no_grep "$(printf "\033")" out &&
	script -qec "env TERM=xterm PAGER=\"sed s/^/paged:/\" kgb-agent show plain add --open" /dev/null </dev/null >out && test_grep "^paged:.*aten::add" out &&
	PAGER=false kgb-agent show plain add --open >out && test_grep "^== aten::add" out
'

test_expect_success 'pairs: each failure with the next success, each gain beyond doubt' '
	kgb-agent export pairs plain hostile -o pairs.jsonl 2>err && test_grep "pairs.jsonl: 4 pairs of 2 runs" err &&
	valid pair --lines pairs.jsonl && test_no_grep 5eed pairs.jsonl &&
	python3 -c "
import json
pairs = [json.loads(line) for line in open(\"pairs.jsonl\")][:2]
assert [(p[\"kind\"], p[\"before\"][\"version\"], p[\"after\"][\"version\"]) for p in pairs] == [(\"correction\", 1, 2), (\"optimization\", 2, 3)], pairs
gain = pairs[1][\"gain\"]
assert pairs[0][\"gain\"] is None and gain[\"ratio\"] == 1.5 and 1 < gain[\"low\"] < 1.5 < gain[\"high\"]
"
'

test_expect_success 'trajectories: one line or one file for each attempt' '
	kgb-agent export atif plain -o - >lines && kgb-agent export atif plain -o folder/ && ls folder >names &&
	test_equal 2 "$(wc -l <lines)" documents && test_equal "plain__aten__add__001.json plain__aten__mm__001.json" "$(paste -sd " " names)" &&
	head -n 1 lines | cmp - folder/plain__aten__add__001.json
'

test_expect_success 'JUnit: well-formed whatever a kernel says' '
	kgb-agent export junit plain hostile -o junit.xml &&
	python3 -c "
import xml.etree.ElementTree as xml
root = xml.parse(\"junit.xml\").getroot()
suites = root.findall(\"testsuite\")
assert [s.get(\"name\") for s in suites] == [\"plain\", \"hostile\"] and root.get(\"tests\") == \"8\"
outcome = {c.get(\"name\"): c[0].tag if len(c) else \"passed\" for c in suites[0].findall(\"testcase\")}
assert outcome[\"aten::add\"] == \"passed\" and outcome[\"aten::mm\"] == \"failure\" and outcome[\"aten::sum\"] == \"skipped\", outcome
"
'

test_expect_success 'a file is whole or as before; what cannot be exported is named' '
	echo old >kept && mkdir broken && cp -r runs/plain broken/run && echo "{" >broken/run/attempts/aten__add/001/verdicts/002.json &&
	test_expect_code 2 kgb-agent export pairs plain broken/run -o kept 2>err && test_grep "verdicts/002.json" err &&
	test_equal old "$(cat kept)" kept && test_equal "" "$(find . -name "kept*.part")" left &&
	test_expect_code 2 kgb-agent export pairs plain 2>err && test_grep "name the destination: -o FILE" err &&
	test_expect_code 2 kgb-agent export pair -o x 2>err && test_grep "pairs, atif or junit; did you mean .pairs" err &&
	test_expect_code 4 kgb-agent export junit plain -o /dev/full 2>err && test_grep "not a regular file" err &&
	test_expect_code 0 sh -c "kgb-agent export atif plain -o - | head -c 1 >/dev/null"
'

test_expect_success 'prune says how much, drops it, and leaves what figures need' '
	kgb-agent runs prune plain --dry-run >out && test_grep "dry run, nothing is dropped: 1 of 1 runs" out && test -e runs/plain/attempts/aten__add/001/ws &&
	test_expect_code 2 kgb-agent runs prune 2>err && test_grep "name the runs to prune, or give --older-than" err &&
	kgb-agent runs prune --older-than 100000d --json >none.json && valid prune none.json && test -e runs/plain/attempts/aten__add/001/ws &&
	cp -r runs/plain before && kgb-agent rebuild plain >/dev/null && cp runs/plain/results.json results &&
	kgb-agent runs prune plain --json >prune.json && valid prune prune.json && valid pruned runs/plain/pruned.json &&
	python3 -c "
import json
run, = json.load(open(\"prune.json\"))[\"runs\"]
assert run[\"outcome\"] == \"pruned\" and run[\"folders\"] == 4 and run[\"bytes_before\"] - run[\"bytes_after\"] >= 40000, run
" &&
	test_equal "prompt.md stdout.jsonl verdicts" "$(ls runs/plain/attempts/aten__add/001 | paste -sd " " -)" &&
	kgb-agent rebuild plain >/dev/null && test_cmp results runs/plain/results.json &&
	kgb-agent show plain add >out && test_grep "^run: plain (pruned" out && kgb-agent export atif plain -o - >again && test_cmp lines again &&
	kgb-agent runs plain >out && test_grep " pruned  " out &&
	test_expect_code 2 kgb-agent replay plain 2>err && test_grep "was pruned: .*cannot be replayed" err
'

test_expect_success 'a run that another process holds is left alone' '
	cp -r before runs/held && python3 -c "
import fcntl, struct, subprocess
f = open(\"runs/held/lock\", \"w+\")
fcntl.fcntl(f, 37, struct.pack(\"hhqqi4x\", fcntl.F_WRLCK, 0, 0, 0, 0))
named = subprocess.run([\"kgb-agent\", \"runs\", \"prune\", \"held\"], capture_output=True, text=True)
assert named.returncode == 75 and \"running: left alone\" in named.stdout, named
swept = subprocess.run([\"kgb-agent\", \"runs\", \"prune\", \"--older-than\", \"1s\"], capture_output=True, text=True)
assert swept.returncode == 0 and \"running: left alone\" in swept.stdout, swept
" && test -e runs/held/attempts/aten__add/001/ws && test ! -e runs/held/pruned.json
'

test_expect_success 'a prune that is killed anywhere leaves a run that can be read, and a second one finishes' '
	for ms in 1 2 3 5 8; do
		rm -rf runs/killed && cp -r before runs/killed &&
		mkdir -p runs/killed/attempts/aten__add/001/ws/many && (cd runs/killed/attempts/aten__add/001/ws/many && seq 3000 | xargs touch) &&
		{ timeout -s KILL "0.00$ms" kgb-agent runs prune killed >/dev/null 2>&1 || true; } &&
		kgb-agent show killed add >/dev/null && kgb-agent runs killed >/dev/null || return 1
		kgb-agent runs prune killed >/dev/null && test ! -e runs/killed/attempts/aten__add/001/ws && test -e runs/killed/pruned.json || return 1
	done
'

test_done
