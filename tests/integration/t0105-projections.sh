#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='progress.json and results.json: rebuilt from the journal, valid against their schemas'
. "$(dirname "$0")/lib.sh"

fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures/agent
schemas=$KGB_TEST_SOURCE_DIR/docs/schemas
export fixtures schemas

# valid SCHEMA [--lines] FILE...
valid() {
	schema=$1
	shift
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$schemas/$schema.schema.json" "$@"
}

test_expect_success 'rebuild writes both files, byte for byte as recorded' '
	mkdir runs &&
	cp -r "$fixtures/run" runs/story &&
	kgb-agent rebuild >out &&
	test_grep "runs/story/results.json" out &&
	cmp runs/story/progress.json "$fixtures/progress.json" &&
	cmp runs/story/results.json "$fixtures/results.json"
'

test_expect_success 'the journal itself is not touched' '
	cmp runs/story/journal.jsonl "$fixtures/run/journal.jsonl"
'

test_expect_success 'all three are valid against their schemas' '
	valid progress runs/story/progress.json &&
	valid results runs/story/results.json &&
	valid journal --lines runs/story/journal.jsonl
'

test_expect_success 'docs/results.md names each field of results.json' '
	python3 -c "
import json, re, sys
schema, words = json.load(open(sys.argv[1])), set(re.findall(r\"\w+\", open(sys.argv[2]).read()))
parts = [schema, schema[\"properties\"][\"summary\"]]
parts += [schema[\"\$defs\"][name] for name in (\"operator\", \"attempt\", \"verify_call\", \"case_rates\", \"side_rates\", \"tokens\", \"usage\")]
missing = [name for part in parts for name in part[\"properties\"] if name not in words]
sys.exit(\"not in docs/results.md: %s\" % missing if missing else 0)
" "$schemas/results.schema.json" "$KGB_TEST_SOURCE_DIR/docs/results.md"
'

test_expect_success 'the schemas refuse wrong documents' '
	sed "s/\"passed\": 1/\"passed\": \"1\"/" runs/story/results.json >bad.json &&
	test_expect_code 1 valid results bad.json &&
	sed "s/\"status\": \"cheated\"/\"status\": \"cheater\"/" runs/story/progress.json >bad.json &&
	test_expect_code 1 valid progress bad.json &&
	sed "s/\"failed\"/\"flawed\"/" runs/story/progress.json >bad.json &&
	test_expect_code 1 valid progress bad.json &&
	sed "s/\"retry\"/\"retri\"/" runs/story/journal.jsonl >bad.jsonl &&
	test_expect_code 1 valid journal --lines bad.jsonl
'

test_expect_success 'a torn end is left out, reported, and left in place' '
	cp -r "$fixtures/run" runs/torn &&
	printf "{\"seq\":99,\"ti" >>runs/torn/journal.jsonl &&
	cp runs/torn/journal.jsonl before &&
	kgb-agent rebuild torn 2>err &&
	test_grep "13 bytes of an unfinished record" err &&
	cmp before runs/torn/journal.jsonl &&
	cmp runs/torn/results.json "$fixtures/results.json"
'

test_expect_success 'a changed line is refused with its number and nothing is written' '
	cp -r "$fixtures/run" runs/changed &&
	sed -i "5s/300/301/" runs/changed/journal.jsonl &&
	test_must_fail kgb-agent rebuild changed 2>err &&
	test_grep "journal.jsonl:5: .*checksum" err &&
	[ ! -e runs/changed/results.json ]
'

test_expect_success 'a run that another process holds is left alone, status 75' '
	python3 -c "
import fcntl, subprocess, sys
with open(\"runs/story/lock\", \"w\") as lock:
	fcntl.lockf(lock, fcntl.LOCK_EX)
	lock.write(\"process 4711 on elsewhere since yesterday\\n\")
	lock.flush()
	sys.exit(subprocess.run([\"kgb-agent\", \"rebuild\", \"story\"]).returncode)
" 2>err || [ $? -eq 75 ]
	test_grep "held by process 4711 on elsewhere since yesterday" err
'

test_expect_success 'names are looked up, typos get an answer' '
	test_expect_code 2 kgb-agent rebuild stor 2>err &&
	test_grep "did you mean .story." err &&
	kgb-agent rebuild runs/story --json | python3 -m json.tool >/dev/null &&
	test_expect_code 2 kgb-agent rebuild --runs-dir elsewhere 2>err &&
	test_grep "no run in" err &&
	[ ! -e elsewhere ]
'

test_done
