#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='what export writes is accepted by readers of others: the validator of ATIF, a parser of JUnit'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
PIP_IGNORE_REQUIRES_PYTHON=1 test_python_environment exports # harbor asks for Python 3.12, its validator works with 3.11
export python_environment

test_expect_success 'the trajectories of every recorded stream of the CLIs are ATIF' '
	for stream in "$KGB_TEST_SOURCE_DIR"/tests/fixtures/claude/*.jsonl "$KGB_TEST_SOURCE_DIR"/tests/fixtures/codex/*.jsonl \
		"$KGB_TEST_SOURCE_DIR"/tests/fixtures/opencode/*.jsonl; do
		cli=$(basename "$(dirname "$stream")")
		python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/make_record.py" "runs/$cli-$(basename "$stream" .jsonl)" --stream "$stream" || return 1
	done &&
	kgb-agent export atif runs -o all.jsonl &&
	"$python_environment/bin/python" "$KGB_TEST_SOURCE_DIR/tests/helpers/check_atif.py" all.jsonl --steps claude-ok=4 codex-ok=5 opencode-ok_chat=4
'

test_expect_success 'the validator refuses what is not ATIF' '
	head -n 1 all.jsonl | sed "s/\"step_id\":1/\"step_id\":7/" >bad.jsonl &&
	test_expect_code 1 "$python_environment/bin/python" "$KGB_TEST_SOURCE_DIR/tests/helpers/check_atif.py" bad.jsonl >out && test_grep "expected 1 .sequential from 1., got 7" out
'

test_expect_success 'junitparser reads the suites' '
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/make_record.py" runs/hostile --hostile &&
	kgb-agent export junit runs/hostile runs/claude-ok -o junit.xml &&
	"$python_environment/bin/python" -c "
import junitparser
suites = list(junitparser.JUnitXml.fromfile(\"junit.xml\"))
assert [(s.name, s.tests, s.failures, s.errors, s.skipped) for s in suites] == [(\"hostile\", 4, 2, 0, 1), (\"claude-ok\", 4, 2, 0, 1)], suites
cases = {c.name: c for c in suites[0]}
assert cases[\"aten::add\"].is_passed and cases[\"aten::sum\"].is_skipped and cases[\"aten::mm\"].is_failure
assert cases[\"aten::mm\"].result[0].type and cases[\"aten::mm\"].result[0].message
"
'

test_done
