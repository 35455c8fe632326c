#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='./bootstrap, with stubs for the package managers and the build tools'
. "$(dirname "$0")/lib.sh"

# The stubs keep their state in $state: missing (Debian packages), offline (a flag), *.log (calls).
state=$TRASH/state
stubs=$TRASH/stubs
export state
mkdir "$state" "$stubs"
touch "$state/missing"

stub() {
	{
		echo '#!/bin/sh'
		cat
	} >"$stubs/$1"
	chmod +x "$stubs/$1"
}

stub dpkg-query <<'EOF'
shift 3 # -W -f FORMAT
for name; do
	grep -qx "$name" "$state/missing" || echo "$name installed"
done
EOF
stub apt-get <<'EOF'
echo "$*" >>"$state/apt.log"
[ ! -e "$state/offline" ] || exit 100
case "$*" in *install*) : >"$state/missing" ;; esac
EOF
stub sudo <<'EOF'
echo "$*" >>"$state/sudo.log"
exit 1
EOF
stub python <<'EOF'
echo "$*" >>"$state/python.log"
case "$1 $2" in
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && echo "home = $3" >"$3/pyvenv.cfg" ;;
"-m pip")
	[ ! -e "$state/offline" ] || { echo "no network"; exit 1; }
	[ ! -e "$state/hang" ] || { touch "$state/hanging"; sleep 300; }
	case $* in *pins-cpu.txt) [ ! -e "$state/no-cpu-build" ] || exit 1 ;; esac
	;;
-V*) echo Python 3.11.2 ;;
*print*) printf 'numpy 1 torch 2 triton 3\ncpu\n' ;;
esac
EOF
stub npm <<'EOF'
echo "$*" >>"$state/npm.log"
[ ! -e "$state/offline" ] || { echo "no network"; exit 1; }
case $(pwd) in
*/claude.new) binaries="@anthropic-ai/claude-code-linux-x64/claude @anthropic-ai/claude-code-linux-arm64/claude" ;;
*/codex.new)
	binaries="@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex
		@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex"
	;;
*/opencode.new) binaries=opencode-linux-x64/bin/opencode ;;
*/page.new) binaries="d3/dist/d3.min.js @observablehq/plot/dist/plot.umd.min.js d3/LICENSE" ;;
esac
for binary in $binaries; do
	mkdir -p "node_modules/${binary%/*}" && printf '#!/bin/sh\ntouch "$state/ran"\n' >"node_modules/$binary"
	chmod +x "node_modules/$binary"
done
EOF
stub cmake <<'EOF'
echo "$*" >>"$state/cmake.log"
if [ "$1" = -S ]; then
	mkdir -p "$2/build/$4" && touch "$2/build/$4/build.ninja" "$2/build/$4/CMakeCache.txt"
else
	mkdir -p "$2/bin"
	printf '#!/bin/sh\nprintf "[%%s]" "$@"\nexit "$(cat "$state/agent-status" 2>/dev/null || echo 0)"\n' >"$2/bin/kgb-agent"
	chmod +x "$2/bin/kgb-agent" && touch "$2/built"
fi
EOF
stub ninja <<'EOF'
[ ! -e "$2/built" ] || echo 'ninja: no work to do.'
EOF
stub ctest <<'EOF'
echo "$*" >>"$state/ctest.log"
while [ "$1" != --output-junit ]; do shift; done
printf '<testsuite><testcase name="a" status="run"><system-out>1..2\nok 1 - x\nok 2 - y</system-out></testcase></testsuite>' >"$2"
EOF

PATH=$stubs:$PATH
KGB_BOOTSTRAP_PYTHON=$stubs/python
export PATH KGB_BOOTSTRAP_PYTHON

# tree NAME: copies the files that bootstrap needs.
tree() {
	mkdir "$1" "$1/tests" && cp -R "$KGB_TEST_SOURCE_DIR/bootstrap" "$KGB_TEST_SOURCE_DIR/deps" "$KGB_TEST_SOURCE_DIR/methods" \
		"$KGB_TEST_SOURCE_DIR/CMakePresets.json" "$1" && cp "$KGB_TEST_SOURCE_DIR/tests/summary.py" "$1/tests"
}
forget_calls() { rm -f "$state"/*.log; }

test_expect_success 'help, no command, an unknown one, an unknown suite: nothing is created' '
	tree usage && cd usage &&
	./bootstrap --help >out && test_grep "run ARGS" out &&
	test_expect_code 2 ./bootstrap 2>err && test_grep "^Usage" err &&
	test_expect_code 2 ./bootstrap rnu add 2>err && test_grep "run, test, setup" err &&
	test_expect_code 2 ./bootstrap test unti 2>err && test_grep "unit fuzz integration corpus lint" err &&
	test_expect_code 2 ./bootstrap setup now 2>err && test_grep "no CLI .now.; there are: claude codex opencode all" err &&
	test ! -e .deps && test ! -e build
'

test_expect_success 'the first run sets up everything; standard output is only that of kgb-agent' '
	tree main &&
	main/bootstrap run add "a b" "" >out 2>err &&
	test_equal "[add][a b][]" "$(cat out)" "arguments" &&
	for step in python cuda cublas page claude configure build; do
		test_grep "^bootstrap: $step: done in [0-9.]* s" err || return 1
	done &&
	test_grep "^ci --ignore-scripts --no-audit --no-fund" "$state/npm.log" &&
	test -x main/.deps/venv/bin/python && test ! -e main/.deps/venv.new &&
	test_grep "home = .*/main/.deps/venv$" main/.deps/venv/pyvenv.cfg &&
	test -s main/.deps/page/d3.min.js && test -s main/.deps/page/plot.umd.min.js && test -s main/.deps/page/LICENSES &&
	test ! -e main/.deps/page/node_modules
'

test_expect_success 'the second run calls nothing' '
	forget_calls &&
	main/bootstrap run list >out 2>err &&
	test_equal "[list]" "$(cat out)" output &&
	test_grep "up to date" err &&
	test ! -e "$state/npm.log" && test ! -e "$state/cmake.log" && test ! -e "$state/apt.log" &&
	test_no_grep "^-m" "$state/python.log"
'

test_expect_success 'a method brings its CLI with it, and no other; nothing of a CLI is run' '
	test -x main/.deps/cli/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude &&
	test ! -e main/.deps/cli/codex && test ! -e main/.deps/cli/opencode &&
	forget_calls &&
	main/bootstrap run add -m normal_codex 2>err && test_grep "^bootstrap: codex: done" err &&
	test -d main/.deps/cli/codex && test ! -e main/.deps/cli/opencode &&
	test_equal 1 "$(wc -l <"$state/npm.log")" "installations" &&
	main/bootstrap run add --method=command 2>err && test_grep "no CLI" err &&
	main/bootstrap setup 2>err && test_grep "opencode: not installed; ./bootstrap setup opencode does it" err &&
	if [ "$(uname -m)" = x86_64 ]; then
		main/bootstrap setup all 2>err && test_grep "^bootstrap: opencode: done" err
	fi &&
	test ! -e "$state/ran"
'

test_expect_success 'the exit status is that of kgb-agent' '
	echo 3 >"$state/agent-status" &&
	test_expect_code 3 main/bootstrap run && rm "$state/agent-status"
'

test_expect_success 'a changed pin installs that part again, and only that' '
	forget_calls && echo "# changed" >>main/deps/python.txt &&
	main/bootstrap setup &&
	test_grep "^-m venv" "$state/python.log" && test ! -e "$state/npm.log" && test ! -e "$state/cmake.log"
'

test_expect_success 'a CPU build of torch is asked for first, any build after that' '
	test ! -e /dev/nvidia0 || return 0
	test_grep "^torch==2.13.0+cpu$" main/.deps/venv/pins-cpu.txt &&
	test_no_grep "pins.txt" "$state/python.log" &&
	forget_calls && touch "$state/no-cpu-build" && echo "# changed" >>main/deps/python.txt &&
	main/bootstrap setup && rm "$state/no-cpu-build" &&
	test_grep "pins.txt" "$state/python.log"
'

test_expect_success 'a tree that was moved is configured afresh' '
	mv main moved && forget_calls && moved/bootstrap setup &&
	test_grep -e "-S .*/moved --preset release --fresh" "$state/cmake.log" &&
	mv moved main && main/bootstrap setup
'

# as_nobody COMMAND...: runs the command without root.
as_nobody() {
	if [ "$(id -u)" -ne 0 ]; then
		"$@"
		return
	fi
	chmod 755 "$TRASH" && chown -R 65534:65534 "$state" nobody &&
		setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

test_expect_success 'without root the exact package command is printed, nothing is called, exit 4' '
	tree nobody && { as_nobody test -w "$TRASH/nobody" || return 0; } && # others cannot reach it here
	forget_calls && printf "libuv1-dev\nbubblewrap\n" >"$state/missing" &&
	test_expect_code 4 as_nobody nobody/bootstrap run list >out 2>err &&
	test_grep -Fx "    sudo apt-get update && sudo apt-get install -y --no-install-recommends bubblewrap libuv1-dev" err &&
	test ! -s out && test ! -e "$state/apt.log" && test ! -e "$state/sudo.log" && test ! -e "$state/npm.log"
'

if [ "$(id -u)" -eq 0 ]; then
	test_expect_success 'root installs exactly the missing packages' '
		forget_calls && printf "libuv1-dev\n" >"$state/missing" &&
		main/bootstrap setup &&
		test_grep "install -y --no-install-recommends libuv1-dev$" "$state/apt.log"
	'
	test_expect_success 'packages without network: the command is printed, exit 4' '
		printf "libuv1-dev\n" >"$state/missing" && touch "$state/offline" &&
		test_expect_code 4 main/bootstrap setup 2>err &&
		test_grep -Fx "    apt-get install -y --no-install-recommends libuv1-dev" err &&
		rm "$state/offline" && : >"$state/missing"
	'
	test_expect_success 'without network bootstrap reports missing test packages and goes on' '
		printf "strace\n" >"$state/missing" && touch "$state/offline" &&
		main/bootstrap test unit >out 2>err &&
		test_grep "NOT FETCHED: Debian packages for tests" err &&
		test_equal "2 passed, 0 failed" "$(tail -n 1 out)" "closing line" &&
		rm "$state/offline" && : >"$state/missing"
	'
fi

test_expect_success 'without network bootstrap reports missing and working parts, and still runs kgb-agent' '
	: >"$state/missing" && touch "$state/offline" && tree offline &&
	offline/bootstrap run list >out 2>err &&
	test_equal "[list]" "$(cat out)" output &&
	test_grep "NOT FETCHED: Python packages" err && test_grep "NOT FETCHED: coding CLIs" err &&
	test_grep "NOT FETCHED: headers of CUDA" err && test_grep "NOT FETCHED: headers of cuBLAS" err && test_grep "NOT FETCHED: Observable Plot" err &&
	test_grep "no network" err &&
	test ! -e offline/.deps/venv && test ! -e offline/.deps/cli/claude &&
	test_expect_code 4 offline/bootstrap setup
'

test_expect_success 'missing parts are fetched when the network is back' '
	rm "$state/offline" && forget_calls && offline/bootstrap setup &&
	test_grep "^ci" "$state/npm.log" && test -x offline/.deps/venv/bin/python &&
	test -d offline/.deps/cuda/include && test -d offline/.deps/cublas/include && test -s offline/.deps/page/LICENSES && test_grep -e "--preset release --fresh" "$state/cmake.log" &&
	forget_calls && offline/bootstrap setup && test ! -e "$state/cmake.log"
'

test_expect_success 'an interrupted installation is not taken as complete' '
	tree broken && touch "$state/hang" &&
	{ setsid broken/bootstrap setup >out 2>&1 & } && pid=$! &&
	test_wait_for 100 test -e "$state/hanging" &&
	kill -TERM -"$pid" && { wait "$pid" || : ; } &&
	rm "$state/hang" "$state/hanging" &&
	test ! -e broken/.deps/venv && test ! -e broken/.deps/stamp/python &&
	broken/bootstrap setup &&
	test -x broken/.deps/venv/bin/python && test ! -e broken/.deps/venv.new
'

test_expect_success 'two at once: the second waits and finds the work done' '
	tree twice && touch "$state/hang" && rm -f "$state/hanging" &&
	{ setsid twice/bootstrap setup >one 2>&1 & } && pid=$! &&
	test_wait_for 100 test -e "$state/hanging" && rm "$state/hang" &&
	{ twice/bootstrap setup >two 2>&1 & } && pid2=$! &&
	test_wait_for 100 grep -q "waiting for it" two &&
	test_wait_for 100 pkill -s "$pid" sleep && wait "$pid2" && wait "$pid" &&
	test_grep "up to date" two
'

test_expect_success 'test: suites become labels, the closing line comes last' '
	forget_calls && main/bootstrap test unit lint >out 2>err &&
	test_grep -e "-L ^(unit|lint)\\$" "$state/ctest.log" &&
	test_equal "2 passed, 0 failed" "$(tail -n 1 out)" "closing line"
'

test_done
