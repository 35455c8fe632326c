# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What the default suite takes of a long list: a part that KGB_TEST_SEED draws (default: the seed is the tree). With KGB_TEST_ALL=1,
# as the label `full` sets it, and outside of a Git checkout it takes all.

# sample_is_whole: whether all is taken.
sample_is_whole() {
	[ -n "${KGB_TEST_ALL:-}" ] || ! git -C "${KGB_TEST_SOURCE_DIR:-.}" rev-parse 2>/dev/null
}

# sample_lines N: of the lines on stdin one in N, in their order.
sample_lines() {
	if sample_is_whole; then
		cat
		return
	fi
	sample_work=$(mktemp -d) || exit 70
	cat -n >"$sample_work/all"
	yes "${KGB_TEST_SEED:-$(git -C "${KGB_TEST_SOURCE_DIR:-.}" rev-parse 'HEAD^{tree}')}" | head -c 1000000 >"$sample_work/seed"
	shuf -n "$((($(wc -l <"$sample_work/all") + $1 - 1) / $1))" --random-source="$sample_work/seed" "$sample_work/all" | sort -n |
		sed 's/^ *[0-9]*	//'
	rm -r "$sample_work"
}

# sample_files: of the names of files on stdin, relative to the working directory, which is the root of the checkout: the files that
# the last 50 commits changed, and one in eight of the others.
sample_files() {
	if sample_is_whole || [ "$(git rev-parse --show-toplevel)" != "$PWD" ]; then
		cat
		return
	fi
	sample_names=$(mktemp -d) || exit 70
	sort >"$sample_names/all"
	{ git log -n 50 --name-only --format= && git diff --name-only HEAD; } | sort -u >"$sample_names/changed"
	comm -12 "$sample_names/all" "$sample_names/changed"
	comm -23 "$sample_names/all" "$sample_names/changed" | sample_lines 8
	rm -r "$sample_names"
}
