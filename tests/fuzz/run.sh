#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the fuzz preset and runs each fuzz target on N inputs; prints a table and names the findings.
#
#     tests/fuzz/run.sh [N] [TARGET...]      N: inputs a target (default 10,000,000); TARGET: as in fuzz_TARGET.c
#
# Targets run side by side, one for each CPU. A finding is kept in build/fuzz/findings/TARGET/: fix the bug, then move
# the file to tests/fuzz/corpus/TARGET/, which the suite `fuzz` replays. Exit status: 0 no finding, 1 findings.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 70
build=$root/build/fuzz

runs=10000000
case ${1:-} in
'' | *[!0-9]*) ;;
*)
	runs=$1
	shift
	;;
esac

mkdir -p "$build"
(cd "$root" && cmake --preset fuzz >"$build/configure.log" 2>&1) || {
	tail -n 20 "$build/configure.log"
	exit 4
}
cmake --build "$build" --target fuzzers >"$build/build.log" 2>&1 || {
	tail -n 30 "$build/build.log"
	exit 70
}

known=$(cat "$build/fuzz-targets.txt")
targets=${*:-$known}
for target in $targets; do
	echo "$known" | grep -qx "$target" || {
		echo "run.sh: no fuzz target '$target'; there are: $(echo "$known" | tr '\n' ' ')" >&2
		exit 2
	}
done

# New inputs go to a scratch copy of the corpus, so that the tree stays unchanged.
export root build runs
# shellcheck disable=SC2086 # targets are words
printf '%s\n' $targets | xargs -P "$(nproc)" -n 1 sh -c '
	target=$1
	work=$build/fuzz/work/$target
	findings=$build/findings/$target
	mkdir -p "$work" "$findings"
	dict=$root/tests/fuzz/corpus/$target.dict
	start=$(date +%s)
	status=0
	ASAN_OPTIONS=detect_leaks=1 "$build/fuzz/fuzz_$target" -runs="$runs" -max_len=1024 -timeout=25 -rss_limit_mb=2048 \
		$([ -f "$dict" ] && echo "-dict=$dict") -print_final_stats=1 -artifact_prefix="$findings/" \
		"$work" "$root/tests/fuzz/corpus/$target" >"$build/fuzz/$target.log" 2>&1 || status=$?
	done_runs=$(sed -n "s/^stat::number_of_executed_units: *//p" "$build/fuzz/$target.log")
	n_findings=$(find "$findings" -type f | wc -l)
	[ "$status" -eq 0 ] || [ "$n_findings" -gt 0 ] || n_findings=1
	printf "%s %s %s %s\n" "$target" "${done_runs:-0}" $(($(date +%s) - start)) "$n_findings"
' sh >"$build/fuzz/table"

printf '%-20s %12s %9s %9s\n' target runs seconds findings
sort "$build/fuzz/table" | awk '{ printf "%-20s %12d %9d %9d\n", $1, $2, $3, $4; n += $2; f += $4 }
	END { printf "%-20s %12d %9s %9d\n", "total", n, "", f; exit f > 0 }'
status=$?
if [ "$status" -ne 0 ]; then
	echo "findings are in $build/findings, logs in $build/fuzz/*.log"
fi
exit "$status"
