#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='tests/summary.py counts test cases over all suites'
. "$(dirname "$0")/lib.sh"
test_require python3

# closing LINE STATUS: the output of summary.py on report.xml (its further options in $options).
closing() {
	got=0
	# shellcheck disable=SC2086 # options are words
	python3 "$KGB_TEST_SOURCE_DIR/tests/summary.py" ${options:-} report.xml >out || got=$?
	cat out
	test_equal "$1" "$(tail -n 1 out)" "closing line" && test_equal "$2" "$got" status
}

# report PROGRAM...: writes report.xml; each PROGRAM is NAME:STATUS:OUTPUT.
report() {
	{
		echo "<testsuite>"
		for program; do
			rest=${program#*:}
			printf "<testcase name=\"%s\" status=\"%s\" time=\"1.5\"><system-out>%b</system-out></testcase>\n" \
				"${program%%:*}" "${rest%%:*}" "${rest#*:}"
		done
		echo "</testsuite>"
	} >report.xml
}

test_expect_success 'TAP cases are counted one by one, other programs as one' '
	report "a:run:1..2\nok 1 - x\nok 2 - y" "b:run:hello" "c:run:ok 1 - late plan\n1..1" &&
	closing "4 passed, 0 failed" 0
'

test_expect_success 'failed cases are named' '
	report "a:fail:1..2\nok 1 - x\nnot ok 2 - the tail is masked" &&
	closing "1 passed, 1 failed" 1 &&
	test_grep "FAILED a: the tail is masked" out
'

test_expect_success 'a failed program whose cases all passed is one failure' '
	report "a:fail:1..2\nok 1 - x\nok 2 - y\nLeakSanitizer" "b:fail:no tap" &&
	closing "2 passed, 2 failed" 1
'

test_expect_success 'planned cases that did not report are failures, also when ctest reports passed' '
	report "a:run:1..3\nok 1 - x" &&
	closing "1 passed, 2 failed" 1
'

test_expect_success 'skips are counted and do not fail' '
	report "a:run:1..2\nok 1 - x\nok 2 - y # SKIP no gpu" &&
	closing "1 passed, 0 failed, 1 skipped" 0
'

test_expect_success 'skipped programs count as skipped, programs that could not start as failed' '
	cat >report.xml <<-EOF &&
	<testsuite>
	<testcase name="a" status="run"><system-out>x</system-out></testcase>
	<testcase name="b" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
	<testcase name="c" status="notrun"><skipped message="Unable to find executable"/></testcase>
	</testsuite>
	EOF
	closing "1 passed, 1 failed, 1 skipped" 1
'

test_expect_success 'nothing run is a failure' '
	report &&
	closing "0 passed, 0 failed" 1
'

test_expect_success 'a failing ctest is never a success' '
	report "a:run:1..1\nok 1 - x" &&
	options="--ctest-status 8" && closing "1 passed, 1 failed" 1
'

test_expect_success 'a broken report is a failure' '
	echo "<testsuite>" >report.xml && closing "0 passed, 1 failed" 2 &&
	rm report.xml && closing "0 passed, 1 failed" 2
'

test_done
