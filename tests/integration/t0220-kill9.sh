#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='kill -9 of kgb-agent at random moments of the main job; KGB_KILL_POINTS moments (default 5)'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude jq

points=${KGB_KILL_POINTS:-5}

# A number in [0, $1) from the kernel.
random() { echo $(($(od -An -N4 -tu4 /dev/urandom) % $1)); }

# Every process of a run has the run's path, or the test's folder, in its command line or environment.
survivors() {
	for entry in /proc/[0-9]*; do
		pid=${entry#/proc/}
		[ "$pid" = $$ ] && continue
		{ tr '\0' ' ' <"$entry/cmdline" | grep -F "$TRASH/run-"; } 2>/dev/null
	done
	true
}

# One run, killed after $2 milliseconds; leaves the kill's moment in kill-$1.
kill_at() {
	kgb-agent add -m normal_cc --runs-dir "$TRASH/run-$1" >"out-$1" 2>"log-$1" &
	pid=$!
	sleep "$(echo "$2" | awk '{ printf "%.3f", $1 / 1000 }')"
	kill -9 "$pid" 2>/dev/null || echo "it had ended already"
	wait "$pid" || true
}
nothing_left() { [ -z "$(survivors)" ]; }

test_expect_success 'how long the job takes when nobody interferes' '
	start=$(date +%s%3N) &&
	test_expect_code 0 kgb-agent add -m normal_cc --runs-dir "$TRASH/whole" &&
	echo $(($(date +%s%3N) - start)) >duration
'
i=0
while [ $i -lt "$points" ]; do
	i=$((i + 1))
	moment=$(random "$(cat duration)")
	export i moment
	test_expect_success "killed after $moment ms: nothing survives and the state is readable" '
		kill_at $i $moment &&
		{ test_wait_for 20 nothing_left || { survivors; false; }; } &&
		for dir in run-$i/*_*; do
			[ -s "$dir/journal.jsonl" ] || continue
			kgb-agent rebuild --runs-dir "$TRASH/run-$i" &&
			jq -e ".operators | type == \"object\"" "$dir/progress.json"
		done
	'
done
# All below a process.
below() {
	for child in $(pgrep -P "$1"); do
		echo "$child"
		below "$child"
	done
}
has_children() { pgrep -P "$1" >/dev/null; }
no_judge() { test_no_process "zygotes --dir=$TRASH/run-w" 2>/dev/null; }
none_of() { for p; do ! kill -0 "$p" 2>/dev/null || return 1; done; }
test_expect_success 'killed while the warm workers load torch: they do not wait for that' '
	{ kgb-agent add -m normal_cc --runs-dir "$TRASH/run-w" >out-w 2>log-w & pid=$!; } &&
	test_wait_for 100 sh -c "pgrep -f \"[z]ygotes --dir=$TRASH/run-w\" >judge" &&
	judge=$(cat judge) && test_wait_for 60 has_children $judge && sleep 0.2 && workers=$(below $judge) && { kill -STOP $workers || true; } &&
	kill -9 $pid && { wait $pid || true; } && code=0 && test_wait_for 60 no_judge || code=1 &&
	kill -CONT $workers 2>/dev/null || true && test_wait_for 60 none_of $workers && [ $code = 0 ]
'
test_expect_success 'the run after the last kill completes in the same place' '
	test_expect_code 0 kgb-agent add -m normal_cc --runs-dir "$TRASH/run-$i" --json >out.json &&
	jq -e ".summary.passed == 1" out.json
'
test_done
