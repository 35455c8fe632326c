# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Test library of tests/integration/tNNNN-topic.sh; prints TAP, runs under ctest, prove and by hand.
#
#     #!/bin/sh
#     test_description='one sentence: what is tested'
#     . "$(dirname "$0")/lib.sh"
#     test_require sandbox torch          # without these the whole file skips
#
#     test_expect_success 'a sentence that is true' '
#             kgb-agent list >out &&
#             test_grep "aten::add" out
#     '
#     test_done
#
# A body runs in a separate subshell with `set -eu`, in the private folder $TRASH: state passes from
# one test to the next by files. Write it as one `&&` chain, or as plain commands one a line: in a mixture
# `set -e` ignores a failing `a && b` or `! a` that is not last. Output appears only when the body fails (with --verbose always).
# The environment has only PATH (our programs, then the system's), HOME, TMPDIR, LC_ALL=C, TZ=UTC, umask 022 and the
# KGB_TEST* variables. Arguments: --verbose; --keep (leave $TRASH in place); --case TEXT runs the cases whose sentence
# holds TEXT, and the cases before the first of them, whose state it may need; --alone leaves these out.
#
# Provided: $KGB_TEST_SOURCE_DIR (root of the project), $KGB_TEST_BIN_DIR (our programs), $TRASH.

set -u

# ---- a clean environment ----

if [ "${KGB_TEST_CLEAN:-}" != 1 ]; then
	KGB_TEST_SOURCE_DIR=${KGB_TEST_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd -P)} || exit 70
	if [ -z "${KGB_TEST_BIN_DIR:-}" ]; then
		for preset in asan dev release; do
			KGB_TEST_BIN_DIR=$KGB_TEST_SOURCE_DIR/build/$preset/bin
			[ -d "$KGB_TEST_BIN_DIR" ] && break
		done
	fi
	exec env -i KGB_TEST_CLEAN=1 \
		KGB_TEST_SOURCE_DIR="$KGB_TEST_SOURCE_DIR" KGB_TEST_BIN_DIR="$KGB_TEST_BIN_DIR" \
		KGB_TESTS_MUST_RUN="${KGB_TESTS_MUST_RUN:-}" KGB_TEST_HARNESS="${HARNESS_ACTIVE:-}" \
		KGB_TEST_TMPDIR="${TMPDIR:-/tmp}" ${KGB_KILL_POINTS:+KGB_KILL_POINTS="$KGB_KILL_POINTS"} \
		${KGB_ZYGOTES:+KGB_ZYGOTES="$KGB_ZYGOTES"} \
		${KGB_TEST_SEED:+KGB_TEST_SEED="$KGB_TEST_SEED"} ${KGB_TEST_ALL:+KGB_TEST_ALL="$KGB_TEST_ALL"} \
		${KGB_PYTHON:+KGB_PYTHON="$KGB_PYTHON"} ${KGB_CLAUDE_BIN:+KGB_CLAUDE_BIN="$KGB_CLAUDE_BIN"} \
		${KGB_OPENCODE_BIN:+KGB_OPENCODE_BIN="$KGB_OPENCODE_BIN"} ${KGB_CODEX_BIN:+KGB_CODEX_BIN="$KGB_CODEX_BIN"} \
		${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} ${UBSAN_OPTIONS:+UBSAN_OPTIONS="$UBSAN_OPTIONS"} \
		PATH="$KGB_TEST_BIN_DIR:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" \
		LC_ALL=C TZ=UTC sh "$0" "$@"
fi

test_usage() {
	printf 'usage: %s [--verbose] [--keep] [--case TEXT [--alone]]\n' "$0" >&2
	exit 2
}

test_verbose=
test_keep=
test_case=
test_alone=
while [ $# -gt 0 ]; do
	case $1 in
	-v | --verbose) test_verbose=1 ;;
	-k | --keep) test_keep=1 ;;
	--alone) test_alone=1 ;;
	--case)
		test_case=${2:-}
		[ -n "$test_case" ] || test_usage
		shift
		;;
	*) test_usage ;;
	esac
	shift
done
test_matched= # a case that --case selects has come

umask 022
test_n=0
test_n_failed=0
test_background= # processes that end with the test
test_is_done=
TRASH=$(mktemp -d "$KGB_TEST_TMPDIR/kgb-${0##*/}-XXXXXX") || exit 70
HOME=$TRASH/home
TMPDIR=$TRASH/tmp
test_log=$TRASH/.log
export TRASH HOME TMPDIR
mkdir "$HOME" "$TMPDIR" || exit 70
cd "$TRASH" || exit 70
[ -z "${test_description:-}" ] || printf '# %s\n' "$test_description"

test_cleanup() {
	test_status=$?
	# shellcheck disable=SC2086 # a list
	[ -z "$test_background" ] || kill $test_background
	cd / || exit 70
	if [ -n "$test_keep" ]; then
		printf '# kept %s\n' "$TRASH"
	else
		chmod -R u+rwX "$TRASH" 2>/dev/null
		rm -rf "$TRASH"
	fi
	if [ -z "$test_is_done" ]; then
		printf 'Bail out! %s ended without test_done\n' "${0##*/}"
		[ "$test_status" -ne 0 ] || test_status=1
	fi
	exit "$test_status"
}
trap test_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# test_start_api: a model's API (fake_api.py), until the test ends. Its address is $api/BEHAVIOUR.
test_start_api() {
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/fake_api.py" "$TRASH/port" &
	test_background="$test_background $!"
	test_wait_for 100 test -s "$TRASH/port"
	api=http://127.0.0.1:$(cat "$TRASH/port")
	export api
}

# test_python_environment NAME: a Python environment with the packages of deps/NAME.txt, in the folder $python_environment. It
# stays while that file stays. The whole file skips when the packages cannot be installed.
test_python_environment() {
	test_require flock
	test_pins=$KGB_TEST_SOURCE_DIR/deps/$1.txt
	python_environment=$(readlink -f "$KGB_TEST_SOURCE_DIR/.deps")/$1
	(flock 9 && test_install_python) >install.log 2>&1 9>"$python_environment.lock" && return
	tail -n 5 install.log | sed 's/^/# /'
	test_skip_all "the packages of deps/$1.txt cannot be installed"
}
test_install_python() {
	cmp -s "$test_pins" "$python_environment/pins.txt" && return 0
	rm -rf "$python_environment" && python3 -m venv "$python_environment" &&
		"$python_environment/bin/python" -m pip --disable-pip-version-check install --no-input --retries 2 --progress-bar off \
			--only-binary ':all:' --no-deps -r "$test_pins" &&
		cp "$test_pins" "$python_environment/pins.txt" # last: an interrupted installation starts afresh
}
# test_free_port: prints a port of 127.0.0.1 that nothing listens on.
test_free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# test_is_up PORT PATH: whether a server on 127.0.0.1 answers the question.
test_is_up() { python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$1$2')" 2>/dev/null; }

# shellcheck source=tests/sample.sh
. "$KGB_TEST_SOURCE_DIR/tests/sample.sh"

# ---- tests ----

# Prints the output of commands in files of the folder since the test began, which may explain the failure.
test_show_files() {
	find . -maxdepth 1 -type f -newer "$TRASH/.began" -size -2000k \
		\( -name 'log*' -o -name 'err*' -o -name 'out*' -o -name '[!.]*.log' -o -name table \) | sort |
		while read -r test_file; do
			printf '# end of %s:\n' "$test_file"
			tail -n 20 "$test_file" | cut -c 1-500 | sed 's/^/#   > /'
			printf '\n'
		done
}

# test_is_wanted SENTENCE: whether --case selects the test, or may need it.
test_is_wanted() {
	case $1 in
	*"$test_case"*)
		test_matched=1
		return 0
		;;
	esac
	[ -z "$test_alone$test_matched" ]
}

# test_expect_success SENTENCE BODY
test_expect_success() {
	test_n=$((test_n + 1))
	if [ $# -ne 2 ]; then
		printf 'not ok %d - test_expect_success wants a sentence and a body, got %d arguments\n' "$test_n" $#
		test_n_failed=$((test_n_failed + 1))
		return 0
	fi
	if ! test_is_wanted "$1"; then
		printf 'ok %d - %s # SKIP not selected\n' "$test_n" "$1"
		return 0
	fi
	touch -d '1 second ago' "$TRASH/.began" # times of files are coarse
	# Not in a condition, which would switch `set -e` off inside.
	(
		set -e
		eval "$2"
	) >"$test_log" 2>&1 </dev/null
	test_body_status=$?
	if [ "$test_body_status" -eq 0 ]; then
		printf 'ok %d - %s\n' "$test_n" "$1"
		[ -z "$test_verbose" ] || sed 's/^/# /' "$test_log"
	else
		printf 'not ok %d - %s\n' "$test_n" "$1"
		test_n_failed=$((test_n_failed + 1))
		printf '%s\n' "$2" | sed 's/^/#   | /'
		printf '# exit status %d, output:\n' "$test_body_status"
		tail -n 200 "$test_log" | sed 's/^/# /'
		printf '\n'
		test_show_files
	fi
}

# test_done: prints the plan and ends with the exit status; the last line of each test file.
test_done() {
	test_is_done=1
	printf '1..%d\n' "$test_n"
	if [ -z "$test_matched" ] && [ -n "$test_case" ]; then
		printf "%s: no case '%s'; the sentences are above\n" "${0##*/}" "$test_case" >&2
		exit 2
	fi
	[ "$test_n" -gt 0 ] && [ "$test_n_failed" -eq 0 ]
	exit
}

# test_skip_all REASON: skips the whole file. CTest expects exit status 77; prove reads the plan and expects 0.
test_skip_all() {
	test_is_done=1
	printf '1..0 # SKIP %s\n' "$1"
	[ -z "$KGB_TEST_HARNESS" ] || exit 0
	exit 77
}

# test_skip SENTENCE REASON: skips one case that cannot run here.
test_skip() {
	test_n=$((test_n + 1))
	printf 'ok %d - %s # SKIP %s\n' "$test_n" "$1" "$2"
}

# ---- what this machine can do ----

# test_cli_path NAME: prints the path of a coding CLI's executable.
test_cli_path() {
	case $1 in
	claude) test_path=${KGB_CLAUDE_BIN:-} ;;
	opencode) test_path=${KGB_OPENCODE_BIN:-} ;;
	codex) test_path=${KGB_CODEX_BIN:-} ;;
	esac
	if [ -z "$test_path" ]; then
		test_path=$(sed -n "s/^  $(uname -m): *//p" "$KGB_TEST_SOURCE_DIR/methods/data/program/$1.yaml")
		test_path=$KGB_TEST_SOURCE_DIR/.deps/cli/$1/$test_path
	fi
	printf '%s\n' "$test_path"
}

# test_have FEATURE: true when this machine has it; prints the reason otherwise.
test_have() {
	case $1 in
	sandbox)
		# One success is enough: the probe fails when something on the machine is unmounted meanwhile.
		for _ in 1 2 3; do
			! bwrap --unshare-all --die-with-parent --ro-bind / / true 2>/dev/null || return 0
			sleep 1
		done
		echo 'bubblewrap cannot make namespaces here'
		return 1
		;;
	torch)
		test_python=${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}
		[ -x "$test_python" ] || {
			echo "no Python with torch and triton at $test_python"
			return 1
		}
		;;
	claude | opencode | codex)
		test_cli=$(test_cli_path "$1")
		[ -x "$test_cli" ] || {
			echo "no $1 at $test_cli"
			return 1
		}
		;;
	gpu)
		[ -e /dev/nvidia0 ] || [ -e /dev/kfd ] || {
			echo 'no GPU'
			return 1
		}
		;;
	root)
		[ "$(id -u)" -eq 0 ] || {
			echo 'not root'
			return 1
		}
		;;
	*)
		command -v "$1" >/dev/null || {
			echo "no command $1"
			return 1
		}
		;;
	esac
}

# test_require FEATURE...: skips the whole file unless the machine has all: sandbox, torch, claude, opencode, codex, gpu, root, or
# the name of a command. The file fails instead when KGB_TESTS_MUST_RUN (comma-separated) names the missing feature.
test_require() {
	for test_feature; do
		test_reason=$(test_have "$test_feature") && continue
		case ,$KGB_TESTS_MUST_RUN, in
		*,"$test_feature",* | *,all,*)
			test_is_done=1
			printf 'not ok 1 - %s is here (KGB_TESTS_MUST_RUN)\n# %s\n1..1\n' "$test_feature" "$test_reason"
			exit 1
			;;
		esac
		test_skip_all "$test_reason"
	done
}

# ---- helpers for bodies ----

# test_expect_code CODE COMMAND...: the command ends with exactly this status.
test_expect_code() {
	test_want=$1
	shift
	test_got=0
	"$@" || test_got=$?
	[ "$test_got" -eq "$test_want" ] && return 0
	printf 'test_expect_code: %s, wanted %s: %s\n' "$test_got" "$test_want" "$*" >&2
	return 1
}

# test_must_fail COMMAND...: the command itself fails; a signal, a sanitizer or a missing command is no such failure.
test_must_fail() {
	test_got=0
	"$@" || test_got=$?
	if [ "$test_got" -eq 0 ]; then
		printf 'test_must_fail: it succeeded: %s\n' "$*" >&2
	elif [ "$test_got" -gt 128 ]; then
		printf 'test_must_fail: ended by signal %d: %s\n' $((test_got - 128)) "$*" >&2
	elif [ "$test_got" -eq 126 ] || [ "$test_got" -eq 127 ]; then
		printf 'test_must_fail: could not be run: %s\n' "$*" >&2
	else
		return 0
	fi
	return 1
}

# test_grep [GREP_OPTIONS] PATTERN FILE: like grep, but shows the file when there is no match.
test_grep() {
	grep -q "$@" && return 0
	printf 'test_grep: no match for: %s\n' "$*" >&2
	eval "cat -- \"\${$#}\"" >&2
	return 1
}

# test_no_grep [GREP_OPTIONS] PATTERN FILE: the file exists and has no match.
test_no_grep() {
	test_got=0
	grep -n "$@" >&2 || test_got=$?
	[ "$test_got" -eq 1 ] && return 0
	printf 'test_no_grep: matched, or the file cannot be read: %s\n' "$*" >&2
	return 1
}

# test_cmp EXPECTED ACTUAL: the files have the same bytes; shows the difference.
test_cmp() { diff -u "$1" "$2"; }

# test_equal EXPECTED ACTUAL [NAME]: the strings are equal.
test_equal() {
	[ "$1" = "$2" ] && return 0
	printf "test_equal: %s: wanted '%s', got '%s'\n" "${3:-values}" "$1" "$2" >&2
	return 1
}

# test_wait_for SECONDS COMMAND...: repeats the command until it succeeds.
test_wait_for() {
	test_ticks=$(($1 * 10))
	shift
	while [ "$test_ticks" -gt 0 ]; do
		"$@" && return 0
		sleep 0.1
		test_ticks=$((test_ticks - 1))
	done
	printf 'test_wait_for: it never came true: %s\n' "$*" >&2
	return 1
}

# test_no_process PATTERN: no command line of a process matches (the pattern names $TRASH or a token of the test).
test_no_process() {
	test_found=$(pgrep -af -- "$1" | grep -v pgrep) || return 0
	printf 'test_no_process: still running:\n%s\n' "$test_found" >&2
	return 1
}

# test_started: prints each process on standard input with its start time, because numbers are reused.
test_started() {
	while read -r test_pid; do
		{ read -r test_stat <"/proc/$test_pid/stat"; } 2>/dev/null || continue
		# shellcheck disable=SC2086 # fields 3 to 52, see proc(5)
		set -- ${test_stat##*) }
		printf '%s %s\n' "$test_pid" "${20}"
	done
}

# test_below PID: prints all processes below it, by number.
test_below() {
	ps -e -o pid= -o ppid= | awk -v root="$1" '
		{ parent[$1] = $2 }
		END { for (p in parent) for (q = p; q in parent; q = parent[q]) if (parent[q] == root) { print p; break } }' |
		sort -n >"$TRASH/.below"
	test_started <"$TRASH/.below" >>"$TRASH/.started"
	cat "$TRASH/.below"
}

# test_ended PID...: whether all have ended. A zombie that is not reaped yet has an empty command line; a process has also ended
# when a later process has its number.
test_ended() {
	for test_pid; do
		grep -q . "/proc/$test_pid/cmdline" 2>/dev/null || continue
		grep -q "^$test_pid " "$TRASH/.started" 2>/dev/null || return 1
		! grep -qx "$(echo "$test_pid" | test_started)" "$TRASH/.started" || return 1
	done
}

# attempt FILTER, operator FILTER: whether the filter is true of the last attempt, of the operator, of the results in out.json.
attempt() { jq -e ".operators[\"aten::add\"].attempts[-1] | $1" out.json; }
operator() { jq -e ".operators[\"aten::add\"] | $1" out.json; }

# judge_request KEY=VALUE...: prints the request to kgb-judge with these keys.
judge_request() {
	judge_keys=
	for judge_pair; do
		judge_keys="$judge_keys${judge_keys:+,}\"${judge_pair%%=*}\":\"${judge_pair#*=}\""
	done
	printf '{%s}\n' "$judge_keys"
}
