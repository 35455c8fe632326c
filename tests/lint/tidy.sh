#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-tidy with the checks of .clang-tidy, one file per process (several in one call give false findings
# in version 14).
#
#     tidy.sh BUILD [ROOT]
#
# BUILD is a build tree with compile_commands.json; of the files that it compiles those are checked that sample_files prints.
lint_self=$(cd "$(dirname "$0")" && pwd -P)/tidy.sh
build=$(cd "${1:?usage: tidy.sh BUILD [ROOT]}" && pwd -P) || exit 2
shift
. "$(dirname "$0")/files.sh"

lint_need clang-tidy
lint_need jq
work=$build/tidy
clean=${XDG_CACHE_HOME:-$HOME/.cache}/kgb-agent/tidy
mkdir -p "$work" "$clean"
# Nodes of the analyzer's graph for each function. The analyzer visits new code first; clang's own 225,000 nodes are mostly
# further paths through the same code, and take eight times as long.
nodes=15000

# The commands are gcc's. Flags that clang 14 does not support are left out, and so are warnings, because the compiler gives them.
jq '[.[] | .command |= gsub(" (-W[^l][^ ]*|-fanalyzer|--coverage|-ftrivial-auto-var-init=[^ ]*|-fsanitize[^ ]*)"; "")]' \
	"$build/compile_commands.json" >"$work/compile_commands.json" || exit 1

# A file without findings is not checked again, in any tree, as long as the file, all that it includes, the checks and
# clang-tidy are the same: an empty file in $clean has their hash as its name. Those that were of no use for 30 days are removed.
find "$clean" -type f -mtime +30 -delete
{ clang-tidy --version && cat .clang-tidy "$lint_self"; } >"$work/checks"
export work clean nodes
lint_choose_commands "$work/compile_commands.json" "$work/chosen.json"
jq -r 'unique_by(.file)[] | .directory, .file,
	(.command | sub("^[^ ]+ "; "clang -E -CC -dD -P ") | sub(" -o [^ ]+"; "") | sub(" -c "; " "))' \
	"$work/chosen.json" >"$work/files"
# shellcheck disable=SC2016 # expanded by the inner shell
xargs -r -d '\n' -P "$(lint_jobs)" -n 3 sh -c '
	text=$work/$$.i
	hash=
	if (cd "$1" && eval "$3") >"$text" 2>/dev/null; then
		hash=$(cat "$work/checks" "$2" "$text" | sha256sum | cut -c 1-64)
	fi
	rm -f "$text"
	if [ -n "$hash" ] && [ -e "$clean/$hash" ]; then
		touch "$clean/$hash"
	elif out=$(clang-tidy -p "$work" --quiet --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang \
		--extra-arg=max-nodes="$nodes" "$2" 2>/dev/null); then
		[ -z "$hash" ] || : >"$clean/$hash"
	else
		printf "%s\n" "$out" | grep -E ": (error|warning): " || echo "$2:1: clang-tidy could not run on this file"
	fi
' sh <"$work/files" | sed "s|^$PWD/||" | sort -u >"$lint_findings"
lint_done "$(($(wc -l <"$work/files") / 3)) files"
