#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='what runs say: runs, analyze; as text, JSON, CSV and Markdown'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures
golden=$fixtures/answers
schemas=$KGB_TEST_SOURCE_DIR/docs/schemas
export fixtures golden schemas

# same NAME: the output is that of tests/fixtures/answers/NAME.
same() {
	diff -u "$golden/$1" out
}

# valid COMMAND FILE: the document that the command printed is that of its schema.
valid() {
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$schemas/$1.schema.json" "$2"
}

test_expect_success 'runs made for this test' '
	mkdir runs &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/make_runs.py" runs &&
	cp -r "$fixtures/agent/run" runs/story
'

test_expect_success 'analyze shows two methods, all operators and each source, in 80 columns' '
	kgb-agent analyze "runs/n*" --by source >out && same analyze.txt &&
	test_no_grep ".\{81\}" out
'

test_expect_success 'Markdown has the same text, JSON and CSV have the same figures' '
	kgb-agent analyze "runs/n*" --by source --markdown >out && same analyze.md &&
	kgb-agent analyze "runs/n*" --by source --csv >rows.csv &&
	kgb-agent analyze "runs/n*" --by source --json >rows.json && valid analyze rows.json &&
	python3 -c "
import csv, json
rows, lines = json.load(open(\"rows.json\"))[\"rows\"], list(csv.DictReader(open(\"rows.csv\")))
assert len(rows) == len(lines) == 8
for row, line in zip(rows, lines):
    assert row.keys() == line.keys()
    for key, value in row.items():
        assert line[key] == (value or \"\") if not isinstance(value, (int, float)) else float(line[key]) == value, key
naive = rows[0]
assert (naive[\"correct\"], naive[\"timed\"], naive[\"common\"]) == (13 / 30, 13, 11), naive
assert abs(naive[\"correct_low\"] - 0.27377) < 1e-4 and naive[\"tokens_per_correct\"] == 369000 / 13
assert rows[2][\"group\"] == \"aten\" and rows[2][\"speedup_common\"] is None
"
'

test_expect_success 'each table in 80 columns, its document valid, and CSV with one table only' '
	kgb-agent analyze "runs/n*" --failures --unsolved --attribution --by category >out && same views.txt &&
	for view in curve failures unsolved rounds anytime attribution; do
		kgb-agent analyze "runs/n*" story --$view --by source+status >out && sed "1,/^$/d" out >tables &&
		test_no_grep ".\{81\}" tables &&
		kgb-agent analyze "runs/n*" story --$view --by source --json >rows.json && valid analyze rows.json &&
		kgb-agent analyze "runs/n*" story --$view --by source --csv >rows.csv || return 1
	done &&
	kgb-agent analyze "runs/n*" --curve --csv >rows.csv && test_grep "^run,label,by,group,p,faster,operators,fast_p," rows.csv &&
	test_expect_code 2 kgb-agent analyze "runs/n*" --curve --rounds --csv 2>err && test_grep "choose one of --curve and --rounds" err
'

test_expect_success 'operators are grouped by parts and by two keys at once, and chosen by name' '
	kgb-agent analyze "runs/n*" --by dtype,interface,source+chip --json >rows.json && valid analyze rows.json &&
	python3 -c "
import json
rows = {(r[\"label\"], r[\"by\"], r[\"group\"]): r for r in json.load(open(\"rows.json\"))[\"rows\"]}
wide, half = (rows[\"naive_cc\", \"dtype\", t] for t in (\"float32\", \"float16\"))
assert wide[\"operators\"] == half[\"operators\"] == 30, wide  # without a verdict it fails in the types of the other run
assert (wide[\"correct\"], half[\"correct\"]) == (17 / 30, 13 / 30) and wide[\"tokens\"] is None
assert rows[\"naive_cc\", \"interface\", \"op000\"][\"operators\"] == 1
assert rows[\"normal_cc\", \"source+chip\", \"vllm + cuda\"][\"operators\"] == 10
" &&
	kgb-agent analyze "runs/n*" --only "vllm*,op000" --json >rows.json &&
	python3 -c "import json; assert [r[\"operators\"] for r in json.load(open(\"rows.json\"))[\"rows\"]] == [11, 11]" &&
	test_expect_code 2 kgb-agent analyze "runs/n*" --only "cuda*" 2>err && test_grep "no operator of these runs is named .cuda" err &&
	test_expect_code 2 kgb-agent analyze "runs/n*" --attribution --by dtype 2>err && test_grep "dtype. divides operators" err
'

if reason=$(test_have torch); then
	test_expect_success 'radon measures kernels; a hostile one costs only its own figures' '
		for run in runs/n*; do mkdir "$run/kernels"; done
		naive=$(echo runs/naive*)/kernels/aten__add.py normal=$(echo runs/normal*)/kernels/aten__add.py
		cp "$KGB_TEST_SOURCE_DIR/tests/honest/aten__div_/in_place.py" "$naive" &&
		python3 -c "print(\"(\" * 200000)" >"$normal" &&
		kgb-agent analyze "runs/n*" --quality --json >rows.json && valid analyze rows.json &&
		python3 -c "
import json
answer = json.load(open(\"rows.json\"))
rows = {(r[\"label\"], r[\"kernels\"]): r for r in answer[\"quality\"]}
assert set(rows) == {(\"naive_cc\", k) for k in (\"all\", \"right\", \"not right\", \"faster\", \"not faster\")}, set(rows)
naive = rows[\"naive_cc\", \"all\"]
assert naive[\"n\"] == 30 and 50 < naive[\"maintainability\"] < 51 and naive[\"trivial\"] == 0, naive
assert naive[\"complexity\"] == 3.125 and naive[\"complexity_max\"] == 12, naive
assert rows[\"naive_cc\", \"right\"][\"n\"] == 13 and rows[\"naive_cc\", \"faster\"][\"n\"] == 9
assert \"normal_cc: radon cannot read 30 kernels\" in answer[\"notes\"], answer[\"notes\"]
" &&
		echo "\"\"\"Nothing.\"\"\"" >"$normal" &&
		kgb-agent analyze "runs/n*" --quality >out && test_grep "normal_cc  all    all .* 100.0 .100.0, 100.0.  *30 " out
	'
else
	test_skip 'radon measures kernels; a hostile one costs only its own figures' "$reason"
fi

test_expect_success 'an interpreter without radon is named with the remedy, status 4' '
	printf "#!/bin/sh\nexit 3\n" >python && chmod +x python &&
	test_expect_code 4 kgb-agent analyze "runs/n*" --quality --set "paths.python=$TRASH/python" 2>err &&
	test_grep "python. has no radon: run .kgb-agent setup." err &&
	test_expect_code 4 kgb-agent analyze "runs/n*" --quality --set paths.python=/nowhere 2>err && test_grep "no Python at ./nowhere" err
'

test_expect_success 'each table and figure of the papers is one command of docs/answers.md' '
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/make_runs.py" papers --whole --named --operators 210 --runs 4 &&
	sed -n "/^### Tables and figures/,/^What cannot/s/^|.*| .\(analyze RUN[^\`]*\).*/\1/p" "$KGB_TEST_SOURCE_DIR/docs/answers.md" |
		grep -v -e "--quality" | sort -u >commands && [ "$(wc -l <commands)" -ge 7 ] &&
	while read -r command; do
		eval "kgb-agent ${command%%RUN*} papers ${command#*RUN} --json" >answer.json &&
		python3 -c "
import json
answer = json.load(open(\"answer.json\"))
tables = [value for name, value in answer.items() if name not in (\"schema\", \"notes\")]
assert tables and all(tables), answer.keys()
" || return 1
	done <commands &&
	kgb-agent analyze papers --only "cublas?gemm*" --by precision+api --json >gemm.json &&
	python3 -c "
import json
rows = [r for r in json.load(open(\"gemm.json\"))[\"rows\"] if r[\"label\"] == \"llm\"]
assert rows[0][\"operators\"] == sum(r[\"operators\"] for r in rows[1:]) == 14 and len(rows) == 15, rows
assert not [r for r in rows if \"unknown\" in r[\"group\"]]
"
'

test_expect_success 'a run that did not end keeps all its operators, and offline is the first word' '
	kgb-agent analyze story >out && same unfinished.txt &&
	kgb-agent analyze story --by code,gpu --json >rows.json && valid analyze rows.json &&
	test_grep "^normal_cc: OFFLINE" out
'

test_expect_success 'runs names them, latest first, with state, passed, cost and size' '
	kgb-agent runs >all && test_grep "story$" all &&
	kgb-agent runs runs --json >rows.json && valid runs rows.json &&
	python3 -c "
import json
rows = {r[\"run\"]: r for r in json.load(open(\"rows.json\"))[\"runs\"]}
assert len(rows) == 3
naive = rows[\"naive_cc_KernelGenBench_20261121T080000Z_0000\"]
assert (naive[\"passed\"], naive[\"operators\"], naive[\"model\"], naive[\"status\"]) == (13, 30, \"m-1\", \"completed\"), naive
assert naive[\"bytes\"] > 100000 and abs(naive[\"usd\"] - 0.73) < 1e-9
assert rows[\"story\"][\"model\"] == \"OFFLINE\" and rows[\"story\"][\"operators\"] == 4
"
'

# hostile COMMAND...: no form of what it prints has a control character; each shows one as text.
hostile() {
	for form in "" --csv --markdown; do
		kgb-agent "$@" ${form:+"$form"} >out && test_grep "x1b" out && test_no_grep "[^ -~]" out || return 1
	done
}
test_expect_success 'what drives a terminal in names of methods, models, groups and codes is shown, in text, CSV and Markdown' '
	mkdir hostile && python3 - <<-"END" &&
	import json, pathlib
	evil = "evil\x1b]0;owned\x07\r\n\u202e"
	for number, path in enumerate(sorted(pathlib.Path("runs").glob("n*/results.json"))):
	    run = json.loads(path.read_text())
	    run.update(method=evil + str(number), model="m\x1b[2J")
	    for op in run["operators"].values():
	        op.update(category="c\x9b2J", error_code=op["error_code"] and op["error_code"] + "\x1b[A", error="\x1b[31m")
	    (pathlib.Path("hostile") / str(number)).mkdir()
	    (pathlib.Path("hostile") / str(number) / "results.json").write_text(json.dumps(run))
	END
	hostile runs hostile && hostile analyze hostile --by category && hostile analyze hostile --failures --by code &&
	hostile compare hostile/0 hostile/1 --by category && hostile leaderboard hostile
'

test_expect_success 'what cannot be read or understood is named' '
	test_expect_code 2 kgb-agent analyze naive_cx 2>err && test_grep "there is no run .naive_cx." err &&
	test_expect_code 2 kgb-agent analyze "zz*" 2>err && test_grep "no run matches" err &&
	test_expect_code 2 kgb-agent analyze story --by sauce 2>err && test_grep "by .sauce.: write one or more of source, " err &&
	kgb-agent analyze --help | tr -s " \n" " " >help &&
	for key in $(sed "s/.*write one or more of //; s/,//g" err); do test_grep "groups of operators: .*$key[,;]" help || return 1; done &&
	test_expect_code 2 kgb-agent analyze story --csv --json 2>err && test_grep "choose one of" err &&
	mkdir -p bad/one && head -c 3000 runs/naive*/results.json >bad/one/results.json &&
	test_expect_code 2 kgb-agent analyze bad 2>err && test_grep "bad/one/results.json: [0-9]*:[0-9]*: " err &&
	mkdir empty && test_expect_code 2 kgb-agent runs --runs-dir empty 2>err && test_grep "there is no run in .*empty. yet" err
'

test_done
