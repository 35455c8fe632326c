#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='faults of agents and machines: each attempt ends in its class, no kernel is lost, no process is left'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

# shellcheck source=tests/integration/fake_cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/fake_cli.sh"

# A script that writes an honest kernel.
{
	echo "cat >/ws/kernel.py <<\KGB_EOF"
	find "$KGB_TEST_SOURCE_DIR/tests/honest/aten__add" -name '*.py' | sort | head -n 1 | xargs cat
	echo KGB_EOF
} >write_kernel
cat >message <<\EOF
result 'text\n```python\nx = 1\n```'
EOF
cat >noise <<\EOF
printf '\377\376 not utf-8\n'
head -c 9000000 /dev/zero | tr '\0' x
echo
echo not json
say '{"type":"telepathy"}'
result done
printf '{"half":'
EOF

# Runs the fake CLI with short limits and without the table.
run_fake() {
	rm -rf runs
	KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m normal_cc --json "$@" >out.json 2>log
}

test_expect_success 'exits 0 without a kernel: failed, agent.no_kernel' '
	printf "result done\n" | fake_cli &&
	test_expect_code 1 run_fake &&
	operator ".status == \"failed\" and .error_code == \"agent.no_kernel\"" &&
	attempt ".end == \"agent.ok\" and .code_generated == false"
'
test_expect_success 'exits 1 with a kernel in place: crashed, but the kernel is judged' '
	{ cat write_kernel; echo "exit 1"; } | fake_cli &&
	test_expect_code 0 run_fake &&
	operator ".status == \"passed\"" &&
	attempt ".end == \"agent.crashed\" and .kernel_source == \"file\""
'
test_expect_success 'hangs after its last event: ended, and its output counts' '
	{ cat write_kernel; echo "result done; sleep 1000.$$"; } | fake_cli &&
	test_expect_code 0 run_fake &&
	attempt ".end == \"agent.ok\"" &&
	test_no_process "sleep 1000.$$"
'
test_expect_success 'never ends: timeout, tree gone, file harvested and judged' '
	printf "trap \"\" INT TERM; setsid sleep 1001.$$ & echo broken >/ws/kernel.py; sleep 1001.$$\n" | fake_cli &&
	for limit in 10s 200s; do # 200 s when 10 s are over before the CLI has written its kernel
		test_expect_code 1 run_fake --timeout $limit && attempt ".end == \"agent.timeout\"" || return 1
		[ ! -e runs/*/attempts/aten__add/001/ws/kernel.py ] || break
	done &&
	attempt ".kernel_source == \"file\"" &&
	operator ".status == \"refused\"" &&
	test_no_process "sleep 1001.$$"
'
test_expect_success 'leaves children behind: none survives' '
	printf "setsid sleep 1002.$$ & sleep 1002.$$ & result done\n" | fake_cli &&
	test_expect_code 1 run_fake &&
	test_no_process "sleep 1002.$$" &&
	jq -e ".survivors == 0" runs/*/attempts/aten__add/001/exit.json
'
for kind in symlink fifo directory huge hardlink; do
	export kind
	# shellcheck disable=SC2016
	test_expect_success "kernel.py is a $kind: refused with a code of its own" '
		case $kind in
		symlink) echo "ln -s /etc/passwd /ws/kernel.py; result done" ;;
		fifo) echo "mkfifo /ws/kernel.py; result done" ;;
		directory) echo "mkdir /ws/kernel.py; result done" ;;
		huge) echo "head -c 100000000 /dev/zero >/ws/kernel.py; result done" ;;
		hardlink) echo "echo x >/ws/other; ln /ws/other /ws/kernel.py; result done" ;;
		esac | fake_cli &&
		test_expect_code 1 run_fake &&
		operator ".status == \"failed\" and (.error_code | test(\"^agent.kernel_\"))"
	'
done
test_expect_success 'a last message with a python block is taken when there is no file' '
	fake_cli <message &&
	test_expect_code 1 run_fake &&
	attempt ".kernel_source == \"message\""
'
test_expect_success 'noise on stdout is counted and never fatal' '
	fake_cli <noise &&
	test_expect_code 1 run_fake &&
	attempt ".end == \"agent.ok\" and .bad_lines == 4 and .unknown_events == 1"
'
test_expect_success 'an agent cannot see the host, the network or our files' '
	{
		echo "{ ls /root /work /home /runs \"$TRASH\" 2>&1; env | sort; cat /proc/net/route | wc -l; id -u; ls /proc/self/fd | wc -l; } >/ws/seen 2>&1"
		echo "result done"
	} | fake_cli &&
	ANTHROPIC_API_KEY= run_fake || true
	cp runs/*/attempts/aten__add/001/ws/seen seen
	test_no_grep "results.json" seen
	test_no_grep "KGB_TEST" seen
	test_grep "^ANTHROPIC_API_KEY=[0-9a-f]\{32\}$" seen
'
test_start_api
test_expect_success 'a real key never enters the sandbox and is written nowhere' '
	echo "{ env; cat /proc/*/environ; } >/ws/seen 2>/dev/null; result done" | fake_cli &&
	rm -rf runs &&
	ANTHROPIC_API_KEY=sk-real-0123456789 KGB_CLAUDE_BIN=$TRASH/cli test_expect_code 1 \
		kgb-agent add -m normal_cc --set gateway.upstream_url="$api/ok" >out 2>log &&
	test_no_grep "offline" log &&
	test -f runs/*/attempts/aten__add/001/ws/seen &&
	test_expect_code 1 grep -r "sk-real-0123456789" runs
'
test_expect_success 'Ctrl-C: exit 130, tree gone, state readable' '
	printf "sleep 1003.$$\n" | fake_cli && rm -rf runs &&
	{
		KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m normal_cc --runs-dir stopped >out 2>log &
		pid=$!
	} &&
	test_wait_for 100 sh -c "pgrep -f \"[s]leep 1003.$$\" >/dev/null" &&
	kill -INT $pid && code=0 && { wait $pid || code=$?; } &&
	test_equal 130 $code "exit status" &&
	test_no_process "sleep 1003.$$" &&
	jq -e ".operators[\"aten::add\"].status == \"cancelled\"" stopped/*/progress.json &&
	run=$(sed -n "s/.*kgb-agent --skip-gen --run .\(.*\).$/\1/p" log) && test_grep "kgb-agent resume .$run.," log &&
	test -e "$run/progress.json"
'
test_expect_success 'a run that another process holds: exit 75 with its owner' '
	printf "sleep 1005.$$\n" | fake_cli && rm -rf runs &&
	{
		KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m normal_cc >out 2>log &
		pid=$!
	} &&
	test_wait_for 100 sh -c "pgrep -f \"[s]leep 1005.$$\" >/dev/null" &&
	test_expect_code 75 kgb-agent --skip-gen 2>err && test_grep "$pid" err &&
	kill -INT $pid && { wait $pid || true; }
'
test_expect_success 'missing parts: exit 4 with the command that fixes it, nothing created' '
	rm -rf runs &&
	test_expect_code 4 env KGB_CLAUDE_BIN=/nonexistent kgb-agent add 2>err && test_grep "kgb-agent setup" err &&
	test_expect_code 4 env KGB_PYTHON=/nonexistent KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add 2>err && test_grep "kgb-agent setup" err &&
	test_expect_code 4 env KGB_PYTHON=/usr/bin/python3 KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add 2>err && test_grep "has no torch" err &&
	test_expect_code 4 env KGB_BWRAP=/nonexistent KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add 2>err && test_grep -i "bubblewrap" err &&
	test ! -e runs
'
test_expect_success 'typos: exit 2 with the nearest names, nothing created' '
	test_expect_code 2 kgb-agent ad 2>err && test_grep "did you mean .add." err &&
	test_expect_code 2 kgb-agent add -m normal_c 2>err && test_grep "normal_cc" err &&
	test_expect_code 2 kgb-agent add --dataset KernelGenBench-atn 2>err && test_grep "KernelGenBench-aten" err &&
	test ! -e runs
'
if [ "$(id -u)" -eq 0 ]; then
	test_expect_success 'a full disk: the run stops cleanly and reports it, and its files are readable' '
		mkdir disk && mount -t tmpfs -o size=256k none disk &&
		printf "head -c 4000000 /dev/zero >/ws/big; sleep 1; result done\n" | fake_cli &&
		code=0 && { KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m normal_cc --runs-dir disk/runs >out 2>err || code=$?; } &&
		cp -r disk copy; umount disk; cat err
		test_equal 4 "$code" "exit status"
		test_grep -i "no space left" err
		test_grep "continue with: kgb-agent resume .$TRASH/disk/runs/normal_cc_" err
		kgb-agent rebuild --runs-dir copy/runs
	'
	# Free pages of the disk: none, for the lock, for lock and settings; with one more the run begins.
	test_expect_success 'on a full disk place and remedy are reported, and no folder stays that looks like a run' '
		mkdir full
		mount -t tmpfs -o size=1m none full
		trap "umount full" EXIT
		printf "echo x >/ws/kernel.py\nresult done\n" | fake_cli
		export KGB_CLAUDE_BIN="$TRASH/cli"
		kgb-agent add -m naive_cc --skip-verify --runs-dir full/runs 2>err
		run=$(ls full/runs)
		head -c 2m /dev/zero >full/filler || true
		for pages in 0 1 2; do
			truncate -s -$((pages * $(getconf PAGE_SIZE))) full/filler
			test_expect_code 4 kgb-agent add -m naive_cc --skip-verify --runs-dir full/runs 2>"err.$pages"
			test_grep "$TRASH/full/runs.: .*No space left on device; free some space there, or name another with --runs-dir" "err.$pages"
			test_equal "$run" "$(ls full/runs)" runs
			test_expect_code 4 kgb-agent replay --runs-dir full/runs 2>"err.$pages"
			test_grep "$TRASH/full/runs/$run/replays.: .*No space left on device; free some space there" "err.$pages"
			test_equal "" "$(ls "full/runs/$run/replays")" replays
			head -c 2m /dev/zero >>full/filler || true
		done
		rm full/filler
		kgb-agent resume --runs-dir full/runs 2>err
		test_grep "$run is complete already" err
	'
fi
test_done
