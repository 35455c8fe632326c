#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures `analyze` over 100 runs of 210 operators that no model made: wall time (median and range), processor time and memory of
# each table. Run it on a quiet machine with a release build: tests/bench/answers.sh [REPEATS]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd -P)
agent=$root/build/release/bin/kgb-agent
repeats=${1:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$root/tests/helpers/make_runs.py" "$work/runs" --runs 100 --operators 210 --checks 3

printf '%s, %s CPUs, %s, load %s, %s of results\n' "$(uname -sr)" "$(nproc)" "$(date -u +%F)" "$(cut -d ' ' -f 1 /proc/loadavg)" \
	"$(du -sh "$work/runs" | cut -f 1)"
for options in '' '--by source' '--by dtype' --curve --failures --unsolved --rounds --anytime --attribution; do
	i=0
	while [ $i -lt "$repeats" ]; do
		i=$((i + 1))
		# shellcheck disable=SC2086 # the options are words
		/usr/bin/time -f '%e %U %S %M' "$agent" analyze "$work/runs" $options --json 2>&1 >"$work/out"
	done | sort -n | awk -v options="${options:-(figures)}" '{
		wall[NR] = $1; cpu += $2 + $3; if ($4 > rss) rss = $4
	} END {
		printf "%-14s %.2f s (%.2f to %.2f, n = %d), CPU %.2f s, %.1f MiB\n", options, wall[int((NR + 1) / 2)], wall[1], wall[NR],
			NR, cpu / NR, rss / 1024
	}'
done
