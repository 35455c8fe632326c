#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the test library itself'
. "$(dirname "$0")/lib.sh"

# run_suite NAME BODY: a separate test file, its output in NAME.out and its status in NAME.status.
run_suite() {
	{
		printf '#!/bin/sh\n. "%s/tests/integration/lib.sh"\n' "$KGB_TEST_SOURCE_DIR"
		printf '%s\n' "$2"
	} >"$1.sh"
	status=0
	env -u KGB_TEST_CLEAN TMPDIR="$TMPDIR" KGB_TESTS_MUST_RUN="${3:-}" HARNESS_ACTIVE="${4:-}" \
		sh "$1.sh" >"$1.out" 2>&1 || status=$?
	echo "$status" >"$1.status"
}

test_expect_success 'a body with a failing command in its middle fails' '
	run_suite middle "test_expect_success one \"false
	true\"
	test_done"
	test_equal 1 "$(cat middle.status)" status &&
	test_grep "^not ok 1 - one" middle.out &&
	test_grep "^1\.\.1" middle.out
'

test_expect_success 'a failure comes with the end of files that commands wrote' '
	run_suite said "echo old >err; touch -d yesterday err
	test_expect_success one \"echo the reason >log; false\"
	test_done"
	test_equal 1 "$(cat said.status)" status &&
	test_grep "^# end of ./log:" said.out && test_grep "^#   > the reason" said.out && test_no_grep old said.out
'

test_expect_success 'an unset variable fails' '
	run_suite unset "test_expect_success one \": \\\$NO_SUCH\"
	test_done"
	test_equal 1 "$(cat unset.status)" status
'

test_expect_success 'all good is status 0, and variables do not leak from test to test' '
	run_suite good "test_expect_success one \"x=1; echo state >file\"
	test_expect_success two \"test -z \\\"\\\${x:-}\\\" && test_grep state file\"
	test_done"
	test_equal 0 "$(cat good.status)" status &&
	test_grep "^ok 2 - two" good.out
'

test_expect_success 'a file that ends early is a failure' '
	run_suite early "test_expect_success one true"
	test_equal 1 "$(cat early.status)" status &&
	test_grep "^Bail out" early.out
'

test_expect_success 'a file without a test is a failure' '
	run_suite none "test_done"
	test_equal 1 "$(cat none.status)" status
'

test_expect_success 'a missing feature skips the file: 77 for ctest, 0 for prove' '
	run_suite skip "test_require no-such-command
	test_expect_success one false
	test_done"
	test_equal 77 "$(cat skip.status)" status &&
	test_grep "^1\.\.0 # SKIP no command no-such-command" skip.out &&
	run_suite skip2 "test_require no-such-command; test_done" "" 1
	test_equal 0 "$(cat skip2.status)" "status under prove"
'

test_expect_success 'KGB_TESTS_MUST_RUN turns the skip into a failure' '
	run_suite must "test_require no-such-command
	test_done" sandbox,no-such-command
	test_equal 1 "$(cat must.status)" status &&
	test_grep "^not ok 1 - no-such-command is here" must.out
'

test_expect_success 'test_expect_code wants exactly that status' '
	test_expect_code 3 sh -c "exit 3" &&
	! test_expect_code 3 sh -c "exit 4" &&
	! test_expect_code 3 true
'

test_expect_success 'test_must_fail accepts neither success nor a signal nor a missing program' '
	test_must_fail sh -c "exit 1" &&
	! test_must_fail true &&
	! test_must_fail sh -c "kill -SEGV \$\$" &&
	! test_must_fail ./no-such-program
'

test_expect_success 'one case runs by name, after the cases that it may need, or alone' '
	printf "#!/bin/sh\n. \"%s/lib.sh\"\ntest_expect_success first true\ntest_expect_success second true\ntest_expect_success third false\ntest_done\n" \
		"$KGB_TEST_SOURCE_DIR/tests/integration" >three.sh
	KGB_TEST_CLEAN= sh three.sh --case second >out 2>&1 &&
	test_grep "^ok 1 - first$" out && test_grep "^ok 2 - second$" out && test_grep "^ok 3 - third # SKIP" out &&
	KGB_TEST_CLEAN= sh three.sh --case second --alone >out 2>&1 &&
	test_grep "^ok 1 - first # SKIP" out && test_grep "^ok 2 - second$" out &&
	test_expect_code 1 env KGB_TEST_CLEAN= sh three.sh --case third --alone >out 2>&1 &&
	test_expect_code 2 env KGB_TEST_CLEAN= sh three.sh --case fourth --alone >out 2>&1 &&
	test_grep "no case .fourth." out
'

test_expect_success 'test_grep and test_no_grep' '
	echo world >file &&
	test_grep world file &&
	! test_grep WORLD file &&
	test_grep -i WORLD file &&
	test_no_grep WORLD file &&
	! test_no_grep world file &&
	! test_no_grep world no-such-file
'

test_expect_success 'test_wait_for polls, and gives up' '
	(sleep 0.3; touch there) &
	test_wait_for 60 test -e there &&
	! test_wait_for 1 test -e never
'

test_expect_success 'a process has ended when its number is that of a later one' '
	sleep 100 &
	pid=$!
	test_below $$ >below && test_grep -x $pid below &&
	! test_ended $pid &&
	sed -i "s/^$pid .*/$pid 1/" "$TRASH/.started" && test_ended $pid &&
	kill $pid && test_wait_for 60 test_ended $pid
'

test_expect_success 'the environment is clean' '
	env | cut -d= -f1 | sort >names &&
	test_no_grep -vE "^(ASAN_OPTIONS|UBSAN_OPTIONS|HOME|KGB_.*|LC_ALL|OLDPWD|PATH|PWD|TMPDIR|TRASH|TZ|_)$" names &&
	test_equal "$TRASH/home" "$HOME" HOME &&
	test_equal "$TRASH" "$PWD" PWD
'

test_expect_success 'the private folder is removed, read-only parts too' '
	run_suite trash "test_expect_success one \"mkdir ro && touch ro/x && chmod a-w ro && pwd >$TRASH/where\"
	test_done"
	test_equal 0 "$(cat trash.status)" status &&
	test_path=$(cat where) && test ! -e "$test_path"
'

test_done
