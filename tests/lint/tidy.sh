#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-tidy with the checks of .clang-tidy, one file per process (several in one call give false findings
# in version 14).
#
#     tidy.sh BUILD [ROOT]
#
# BUILD is a build tree with compile_commands.json; only files that it compiles are checked.
build=$(cd "${1:?usage: tidy.sh BUILD [ROOT]}" && pwd -P) || exit 2
shift
. "$(dirname "$0")/files.sh"

lint_need clang-tidy
lint_need jq
work=$build/tidy
mkdir -p "$work"
# Nodes of the analyzer's graph for each function. The analyzer visits new code first; clang's own 225,000 nodes are mostly
# further paths through the same code, and take eight times as long.
nodes=15000

# The commands are gcc's. Flags that clang 14 does not support are left out, and so are warnings, because the compiler gives them.
jq '[.[] | .command |= gsub(" (-W[^l][^ ]*|-fanalyzer|--coverage|-ftrivial-auto-var-init=[^ ]*|-fsanitize[^ ]*)"; "")]' \
	"$build/compile_commands.json" >"$work/compile_commands.json" || exit 1

# A file that was clean stays so until it, a header or .clang-tidy changes.
newest=$(lint_files '*.h' .clang-tidy | xargs ls -t | head -n 1)
export work newest nodes
jq -r '.[].file' "$work/compile_commands.json" | sort -u |
	awk -v root="$PWD/" 'index($0, root) == 1 { print substr($0, length(root) + 1) }' >"$work/files"
# shellcheck disable=SC2016 # expanded by the inner shell
xargs -r -P "$(lint_jobs)" -n 1 sh -c '
	clean=$work/$(echo "$1" | tr / +).clean
	[ -e "$clean" ] && [ "$clean" -nt "$1" ] && [ "$clean" -nt "$newest" ] && exit 0
	rm -f "$clean"
	if out=$(clang-tidy -p "$work" --quiet --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang \
		--extra-arg=max-nodes="$nodes" "$1" 2>/dev/null); then
		: >"$clean"
	else
		printf "%s\n" "$out" | grep -E ": (error|warning): " || echo "$1:1: clang-tidy could not run on this file"
	fi
' sh <"$work/files" | sed "s|^$PWD/||" | sort -u >"$lint_findings"
lint_done "$(wc -l <"$work/files") files"
