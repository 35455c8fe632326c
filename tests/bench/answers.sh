#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures `analyze` over 100 runs of 210 operators that no model made: wall time (median and range), processor time and memory of
# each table. With RUNS, a folder of runs: each command of the table of the papers in docs/answers.md over them; TABLES, a folder,
# keeps what they print. Run it on a quiet machine with a release build: tests/bench/answers.sh [REPEATS [RUNS TABLES]]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd -P)
agent=$root/build/release/bin/kgb-agent
repeats=${1:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runs=${2:-$work/runs}
tables=${3:-$work}
[ -n "${2:-}" ] || python3 "$root/tests/helpers/make_runs.py" "$runs" --runs 100 --operators 210 --checks 3

# measure OPTIONS...: one line; the table in the last run's output.
measure() {
	options="$*"
	table=$tables/analyze$(printf '%s' "$options" | tr -cs 'a-z+' '_')
	i=0
	while [ $i -lt "$repeats" ]; do
		i=$((i + 1))
		/usr/bin/time -a -o "$work/costs" -f '%e %U %S %M' "$agent" analyze "$runs" "$@" >"$table"
	done
	sort -n "$work/costs" | awk -v options="${options:-(figures)}" '{
		wall[NR] = $1; cpu += $2 + $3; if ($4 > rss) rss = $4
	} END {
		printf "%-44s %.2f s (%.2f to %.2f, n = %d), CPU %.2f s, %.1f MiB\n", options, wall[int((NR + 1) / 2)], wall[1],
			wall[NR], NR, cpu / NR, rss / 1024
	}'
	rm "$work/costs"
}

printf '%s, %s CPUs, %s, load %s, %s of runs\n' "$(uname -sr)" "$(nproc)" "$(date -u +%F)" "$(cut -d ' ' -f 1 /proc/loadavg)" \
	"$(du -sh "$runs" | cut -f 1)"
if [ -n "${2:-}" ]; then
	sed -n "/^### Tables and figures/,/^What cannot/s/^|.*| .analyze RUN\([^\`]*\).*/\1/p" "$root/docs/answers.md" | sort -u >"$work/options"
	while read -r words; do
		eval "measure $words"
	done <"$work/options"
	exit
fi
measure
measure --by source
measure --by dtype
for option in --curve --failures --unsolved --rounds --anytime --attribution; do
	measure "$option"
done
