#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a page of more runs than fit: it leaves out histories and says so'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require chromium jq

helpers=$KGB_TEST_SOURCE_DIR/tests/helpers
export helpers

test_expect_success '18 runs of 210 operators are a page below 5 MB without histories' '
	python3 "$helpers/make_runs.py" many --runs 18 --operators 210 --whole &&
	kgb-agent report many -o many.html && size=$(wc -c <many.html) && test "$size" -lt 5000000 && test "$size" -gt 4000000 &&
	kgb-agent report many --json >many.json &&
	python3 "$helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/report.schema.json" many.json &&
	test_equal "[\"histories\"]" "$(jq -c .left_out many.json)" "left out"
'
test_expect_success 'in a browser: the page says what it lacks, and names of many runs can be read' '
	mkdir browser && python3 "$helpers/check_report.py" browser --many many.html
'

test_done
