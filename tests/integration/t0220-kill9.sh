#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='kill -9 of kgb-agent all along the main job, and at KGB_KILL_POINTS random moments more (default 0)'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude jq

# Every process of run $1 was below kgb-agent at the kill, or has the run's path in its command line or in its mounts.
survivors() {
	grep -lzF "$TRASH/run-$1/" /proc/[0-9]*/cmdline 2>/dev/null
	grep -lF "${TRASH##*/}/run-$1/" /proc/[0-9]*/mountinfo 2>/dev/null
	while read -r process; do
		test_ended "$process" || ps -o pid= -o args= -p "$process"
	done <"tree-$1"
}
nothing_left() { [ -z "$(survivors "$1")" ]; }

# come_to RUN STATE: whether the journal has such a record or, for `check`, whether the judge has a kernel.
come_to() {
	case $2 in
	check) test -e "$(echo "run-$1"/*/attempts/aten__add/001/verdicts/001.py)" ;;
	*) grep -q "\"type\":\"$2\"" "run-$1"/*/journal.jsonl 2>/dev/null ;;
	esac
}
come_to_or_ended() { come_to "$1" "$2" || test_ended "$pid"; }

start_run() {
	rm -rf "run-$1"
	kgb-agent add -m normal_cc --runs-dir "$TRASH/run-$1" >"out-$1" 2>"log-$1" &
	pid=$!
}
# False when the run had ended by itself.
kill_run() {
	test_below "$pid" >"tree-$1"
	code=0
	kill -9 "$pid"
	wait "$pid" || code=$?
	[ "$code" -eq 137 ] || {
		echo "it had ended already, with status $code"
		cat "log-$1"
		return 1
	}
}
# Runs kgb-agent and kills it in that state; once more when the run ended before the kill.
kill_in_state() {
	for _ in 1 2 3; do
		start_run "$1"
		test_wait_for 600 come_to_or_ended "$1" "$2" || true
		! kill_run "$1" || { come_to "$1" "$2" && return 0; }
	done
	return 1
}
clean_and_readable() {
	test_wait_for 60 nothing_left "$1" || { survivors "$1"; return 1; }
	for dir in "run-$1"/*_*; do
		[ -s "$dir/journal.jsonl" ] || continue
		kgb-agent rebuild --runs-dir "$TRASH/run-$1" && jq -e '.operators | type == "object"' "$dir/progress.json" || return 1
	done
}

for state in run_started attempt_started usage check verify_started; do
	export state
	test_expect_success "killed after $state: nothing survives and the state is readable" '
		case $state in check) unset KGB_ZYGOTES ;; esac # the run has workers of its own
		kill_in_state $state $state && clean_and_readable $state
	'
done
i=0
while [ $i -lt "${KGB_KILL_POINTS:-0}" ]; do
	i=$((i + 1))
	moment=$(($(od -An -N4 -tu4 /dev/urandom) % 20000))
	export i moment
	test_expect_success "killed after $moment ms: nothing survives and the state is readable" '
		start_run $i
		sleep "$(echo $moment | awk "{ printf \"%.3f\", \$1 / 1000 }")"
		kill_run $i || true
		clean_and_readable $i
	'
done

# Stopped workers are as slow as possible.
judge_starts() { pgrep -o -f "[z]ygotes --dir=$TRASH/run-w" >judge; }
loading() { test_below "$(cat judge)" >workers && ps -o args= -p "$(paste -s -d , workers)" | grep -q "zygote[.]py"; }
no_judge() { test_no_process "zygotes --dir=$TRASH/run-w" 2>/dev/null; }
test_expect_success 'killed while the warm workers load torch: the judge does not wait for that' '
	unset KGB_ZYGOTES
	start_run w
	test_wait_for 600 judge_starts
	test_wait_for 600 loading
	workers=$(cat workers)
	kill -STOP $workers || true
	kill -9 $pid
	wait $pid || true
	code=0
	test_wait_for 60 no_judge || code=1
	kill -CONT $workers || true
	test_wait_for 60 test_ended $workers
	test_equal 0 $code "the judge ended"
'
# After a kill between the judge's start and its first check, kgb-agent is no longer the judge's parent.
test_expect_success 'a judge whose parent ended before its first check ends at once' '
	test_expect_code 4 timeout 100 kgb-judge zygotes --dir "$TRASH/late" --die-with-parent 1 >late &&
	test ! -s late
'
# kgb-agent makes the folder of an attempt before the journal has the attempt.
test_expect_success 'after a kill during the setup of an attempt, resume makes the attempt anew' '
	kill_in_state setup run_started &&
	run=$(echo run-setup/*_*) &&
	next=$(($(grep -c "\"type\":\"attempt_started\"" "$run/journal.jsonl" || true) + 1)) &&
	mkdir -p "$run/attempts/aten__add/00$next/ws" && echo >"$run/attempts/aten__add/00$next/ws/left" &&
	test_expect_code 0 kgb-agent resume --runs-dir "$TRASH/run-setup" --json >out.json &&
	jq -e ".summary.passed == 1" out.json &&
	test ! -e "$run/attempts/aten__add/00$next/ws/left"
'
test_expect_success 'the run after the last kill completes in the same place' '
	test_expect_code 0 kgb-agent add -m normal_cc --runs-dir "$TRASH/run-verify_started" --json >out.json &&
	jq -e ".summary.passed == 1" out.json
'
test_done
