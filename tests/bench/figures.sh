#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures the figures that a release states: warm bootstrap, main job, one verification cold and warm, memory of kgb-agent,
# lines of code. Run it on a quiet machine after `./bootstrap setup`: tests/bench/figures.sh [REPEATS]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd -P)
bin=$root/build/release/bin
repeats=${1:-5}
work=$(mktemp -d)
trap 'kill "$zygotes" 2>/dev/null; rm -rf "$work"' EXIT
zygotes=
cd "$work"

# seconds REPEATS COMMAND...: median and range of its wall time
seconds() {
	n=$1
	shift
	i=0
	while [ $i -lt "$n" ]; do
		i=$((i + 1))
		start=$(date +%s%N)
		"$@" >out 2>err || { cat out err >&2; exit 1; }
		echo $(($(date +%s%N) - start))
	done | sort -n | awk '{ t[NR] = $1 / 1e9 } END { printf "%.2f s (%.2f to %.2f, n = %d)", t[int((NR + 1) / 2)], t[1], t[NR], NR }'
}

main_job() { "$bin/kgb-agent" add -m normal_cc --runs-dir "$work/runs"; }
verify_cold() { "$bin/kgb-agent" verify "$kernel" --op aten::add; }
verify_warm() {
	printf '{"spec":"%s","kernel":"%s","python":"%s","zygotes":"%s"}' "$root/datasets/kernelgenbench/aten/aten__add.yaml" \
		"$kernel" "$root/.deps/venv/bin/python" "$work/zygotes" | "$bin/kgb-judge" verify
}

printf 'machine         %s, %s CPUs, %s\n' "$(uname -sr)" "$(nproc)" "$(date -u +%F)"
printf 'bootstrap warm  %s\n' "$(seconds "$repeats" "$root/bootstrap" run --version)"
printf 'main job        %s\n' "$(seconds "$repeats" main_job)"
kernel=$(find "$work/runs" -path '*/kernels/aten__add.py' | head -n 1)
printf 'verify cold     %s\n' "$(seconds "$repeats" verify_cold)"
mkdir zygotes
mkfifo hold
"$bin/kgb-judge" zygotes --dir "$work/zygotes" --python "$root/.deps/venv/bin/python" <hold >ready &
zygotes=$!
exec 9>hold
until grep -q ready ready; do sleep 0.1; done
printf 'verify warm     %s\n' "$(seconds "$repeats" verify_warm)"
"$bin/kgb-agent" add -m normal_cc --runs-dir "$work/runs" >out 2>err &
agent=$!
rss=0
while kill -0 $agent 2>/dev/null; do
	now=$(awk '/^VmHWM/ { print $2 }' /proc/$agent/status 2>/dev/null || true)
	[ "${now:-0}" -le "$rss" ] || rss=$now
	sleep 0.05
done
printf 'kgb-agent RSS   %s KiB at most during the main job\n' "$rss"
for folder in base sandbox verify methods agent; do
	printf 'lines %-9s %s C, %s Python\n' "$folder" \
		"$(find "$root/$folder" -name '*.[ch]' -exec cat {} + | wc -l)" \
		"$(find "$root/$folder" -name '*.py' -exec cat {} + | wc -l)"
done
printf 'lines tests     %s C, %s sh, %s Python (without corpora)\n' \
	"$(find "$root/tests" -name '*.[ch]' -exec cat {} + | wc -l)" \
	"$(find "$root/tests" -name '*.sh' -exec cat {} + | wc -l)" \
	"$(find "$root/tests" -name '*.py' -not -path '*/honest/*' -not -path '*/redteam/*' -exec cat {} + | wc -l)"
