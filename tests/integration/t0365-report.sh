#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='runs as one HTML page: its figures, its size, and what it shows and does in a browser'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require chromium jq

helpers=$KGB_TEST_SOURCE_DIR/tests/helpers
fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures
export helpers fixtures

test_expect_success 'runs of four methods, a run on the CPU, a run of a hostile agent' '
	python3 "$helpers/make_runs.py" runs --runs 4 --operators 24 --whole &&
	python3 "$helpers/make_runs.py" cpu --runs 1 --operators 5 --whole &&
	python3 "$helpers/make_runs.py" crowd --runs 1 --operators 210 --whole --at-once 210 &&
	python3 "$helpers/make_runs.py" hostile --runs 1 --operators 6 --whole &&
	python3 - <<-"END"
	import glob, json, os, pathlib
	path = glob.glob("cpu/*/results.json")[0]
	run = json.load(open(path))
	run.update(platform="cpu", gateway="offline")
	for op in run["operators"].values():
	    op.update(speedup=None, speedup_low=None, speedup_high=None, device="cpu", gpu=None)
	    for call in op["verify_calls"]:
	        call["speedup"] = None
	json.dump(run, open(path, "w"))
	path = glob.glob("hostile/*/results.json")[0]
	run, folder = json.load(open(path)), pathlib.Path(path).parent
	kernels = [folder / op["kernel"] for op in run["operators"].values()]
	evil = "</script><script>window.owned = 1</script><!--<script>\u202e\u2028\x1b[2J\x07\u200b"
	kernels[0].write_text(evil + "\n" * 3 + evil)
	kernels[1].write_text("x = 1\n" * 1800000)
	kernels[2].unlink(), os.mkfifo(kernels[2])
	kernels[3].unlink(), kernels[3].symlink_to("/etc/passwd")
	kernels[4].unlink()
	ops = list(run["operators"].values())
	ops[5]["kernel"] = "../../secret.py"
	pathlib.Path("secret.py").write_text("not for a page")
	for op in ops:
	    op.update(status="failed", error_code="<img src=x onerror=\"window.owned = 2\">", category="<b onclick=alert(1)>\x1b[31m\u202e",
	              error="<img src=x onerror=\"window.owned = 2\"> \u001b]0;owned\u0007 \u202e " + 100000 * "A")
	json.dump(run, open(path, "w"))
	END
'

test_expect_success 'a page is one file below 5 MB, and its document is valid' '
	for page in runs cpu crowd hostile; do
		kgb-agent report $page -o $page.html >out && test_grep "^$page.html: [0-9]* runs*, [0-9]* operators, [0-9.]* MB.*; open it in a browser$" out &&
		test "$(wc -c <$page.html)" -lt 5000000 &&
		kgb-agent report $page --json >$page.json &&
		python3 "$helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/report.schema.json" $page.json || return 1
	done &&
	jq -s -c "map(.left_out)" runs.json cpu.json crowd.json hostile.json >left &&
	test_equal "[[],[],[],[]]" "$(cat left)" "left out" &&
	test_equal 5 "$(grep -c "</script>" runs.html)" "ends of scripts" && test_equal 5 "$(grep -c "</script>" hostile.html)" "ends of scripts" &&
	test_no_grep "not for a page" hostile.json && test_no_grep "root:" hostile.json
'

test_expect_success 'its figures are those of analyze and of the runs' '
	kgb-agent analyze runs --by category --json >analyze.json &&
	python3 - <<-"END"
	import json
	report, rows = json.load(open("runs.json")), json.load(open("analyze.json"))["rows"]
	near = lambda a, b: a == b or abs(a - b) <= 1e-4 * abs(b)
	for r, run in enumerate(report["runs"]):
	    whole = next(row for row in rows if row["run"] == run["name"] and row["by"] == "all")
	    rungs = {rung["rung"]: rung for rung in report["ladder"] if rung["run"] == r}
	    assert near(rungs["correct"]["share"], whole["correct"]) and near(rungs["correct"]["low"], whole["correct_low"]), rungs
	    assert near(rungs["core"]["share"], whole["core"]) and near(rungs["compiles"]["share"], whole["compiled"]), rungs
	    points = next(curve["points"] for curve in report["fast_p"] if curve["run"] == r)
	    share = lambda p: [point for point in points if point[0] <= p][-1][1]
	    assert near(share(1), whole["fast_1"]) and near(share(2), whole["fast_2"]), points
	    for row in rows:
	        if row["run"] == run["name"] and row["by"] == "category":
	            group = next(g for g in report["groups"] if g["run"] == r and g["by"] == "category" and g["group"] == row["group"])
	            assert group["operators"] == row["operators"] and group["timed"] == row["timed"], group
	            assert near(group["speedup"], row["speedup_correct"]) if row["timed"] else group["speedup"] is None, group
	            assert group["speedup_low"] is None or group["speedup_low"] <= group["speedup"] <= group["speedup_high"], group
	    for curve in report["anytime"]:
	        if curve["run"] == r:
	            wanted = whole["correct"] if curve["target"] == 0 else share(curve["target"])
	            assert near(len(curve["at"]) / curve["operators"], wanted) and curve["at"] == sorted(curve["at"]), curve
	    failed = sum(f["operators"] for f in report["failures"] if f["run"] == r)
	    assert failed == whole["operators"] - rungs["correct"]["reached"], failed
	    bars = run["timeline"]["bars"]
	    assert len(bars) == 24 * 2 + sum(len(c["steps"]) - 1 for c in report["cells"] if c["run"] == r), len(bars)
	    for row in range(len(run["timeline"]["rows"])):
	        mine = sorted(bar[2:4] for bar in bars if bar[4] == row)
	        assert mine and all(a[1] <= b[0] for a, b in zip(mine, mine[1:])), mine
	END
'

test_expect_success 'in a browser: silent, each plot has marks, cells open, a search filters, hostile text does nothing' '
	mkdir browser &&
	python3 "$helpers/check_report.py" browser --whole runs.html --cpu cpu.html --crowd crowd.html --hostile hostile.html \
		--structure "$fixtures/answers/report.json"
'

test_expect_success 'what cannot be compared is said first; a run that has only a journal has a page too' '
	kgb-agent report runs cpu --json >mixed.json && cp -r "$fixtures/agent/run" story && kgb-agent report ./story --json >story.json &&
	python3 - <<-"END"
	import json
	runs, mixed, story = [json.load(open(name + ".json")) for name in ("runs", "mixed", "story")]
	assert runs["warnings"] == [] and len(runs["summary"]) > 5, runs["summary"]
	words = " ".join(mixed["warnings"])
	assert "is OFFLINE" in words and "one run is offline" in words and "judged on " in words, words
	assert "1 have not ended and count as not passed" in story["summary"][0], story["summary"]
	assert [cell["finished"] for cell in story["cells"]].count(False) == 1 and story["warnings"], story["cells"]
	END
'

test_expect_success 'differences are in the words of compare: repeats joined, p values adjusted, samples as attempts' '
	python3 "$helpers/make_mixture.py" bare llm=0 --samples 5 && python3 "$helpers/make_mixture.py" bare normal_cc=0.2 --seed 7 &&
	python3 "$helpers/make_mixture.py" repeats naive_cc=0 normal_cc=0.2 loop_cc=0 --repeat 3 &&
	for words in runs bare repeats "repeats/naive_cc_*"; do
		kgb-agent compare "$words" --json >compare.json && kgb-agent report "$words" --json >report.json &&
		python3 - <<-"END" || return 1
	import json, re
	compare, report = json.load(open("compare.json")), json.load(open("report.json"))
	labels = {row["side"]: row["label"] for row in compare["measures"]}
	first = compare["measures"][0]["a_label"]
	verdicts = [note for note in compare["notes"] if re.match("[B-Z], (operators passed|common speedup): ", note)]
	wanted = [labels[note[0]] + re.sub(r"(than|difference from) A ", r"\1 %s " % first, note[1:]) for note in verdicts]
	at = next(i for i, words in enumerate(report["summary"]) if words.startswith("Compared with %s on " % first))
	assert report["summary"][at + 1:] == [words for words in wanted if "nothing to compare" not in words], (report["summary"], wanted)
	assert len(verdicts) == 2 * len(labels) and len(wanted) > 0, verdicts
	assert ("several" in report["summary"][at]) == (len(labels) > 1), report["summary"]
	END
	done
'

test_expect_success 'many large kernels are cut alike, and the page says so' '
	python3 - <<-"END"
	import glob, pathlib
	for i, path in enumerate(sorted(glob.glob("runs/*/kernels/*.py"))):
	    pathlib.Path(path).write_text("".join("x = %d + %d  # <\n" % (i, line) for line in range(4500)))
	END
	kgb-agent report runs -o large.html && size=$(wc -c <large.html) && test "$size" -lt 5000000 && test "$size" -gt 4500000 &&
	kgb-agent report runs --json | python3 -c "
import json, sys
kernels = json.load(sys.stdin)[\"kernels\"]
assert len(kernels) == 96 and all(len(k[\"text\"]) < k[\"bytes\"] and k[\"text\"].endswith(\"\\n\") for k in kernels)
"
'

test_expect_success 'a page goes where it is asked to, and what cannot be written or read is named' '
	kgb-agent report cpu -o - | head -n 1 | grep -qx "<!doctype html>" &&
	(cd cpu && kgb-agent report ./naive* >out && test -s report.html) &&
	test_must_fail kgb-agent report cpu -o none/x.html 2>err && test_grep "none/x.html" err &&
	test_expect_code 2 kgb-agent report nowhere 2>err && test_grep "there is no run" err
'

test_done
