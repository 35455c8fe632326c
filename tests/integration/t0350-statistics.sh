#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the statistics: scipy and statsmodels give what is recorded, and simulated runs what docs/statistics.md has'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require flock

pins=$KGB_TEST_SOURCE_DIR/deps/oracles.txt
oracles=$(readlink -f "$KGB_TEST_SOURCE_DIR/.deps")/oracles
install_oracles() {
	cmp -s "$pins" "$oracles/pins.txt" && return 0
	rm -rf "$oracles" && python3 -m venv "$oracles" &&
		"$oracles/bin/python" -m pip --disable-pip-version-check install --no-input --retries 2 --progress-bar off \
			--only-binary ':all:' -r "$pins" &&
		cp "$pins" "$oracles/pins.txt" # last: an interrupted installation starts afresh
}

test_expect_success 'the packages of deps/oracles.txt are installed' '
	(flock 9 && install_oracles) >install.log 2>&1 9>"$oracles.lock" || { tail -n 5 install.log; false; }
'

test_expect_success 'they give the recorded results, which the unit test compares with ours' '
	"$oracles/bin/python" "$KGB_TEST_SOURCE_DIR/tests/oracles/statistics_oracle.py" \
		--check "$KGB_TEST_SOURCE_DIR/tests/fixtures/statistics.json"
'

test_expect_success 'intervals hold, tests and verdicts alarm as often as they claim, and as docs/statistics.md has it' '
	for name in statistics compare; do
		"$KGB_TEST_BIN_DIR/../tests/simulate_$name" >>simulated || return 1
	done &&
	sed -n "/^| simulated/,/^$/p" "$KGB_TEST_SOURCE_DIR/docs/statistics.md" | sed "/^$/d" >documented &&
	diff -u documented simulated
'

test_done
