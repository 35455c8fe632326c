# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Library of the lints. Each lint is a program `NAME.sh [ROOT]` that checks the tree ROOT (default: this
# tree), prints each finding as `file:line: fault`, and ends with `lint_done` (0 clean, 1 findings).

set -u
lint_root=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
cd "$lint_root" || exit 70
LC_ALL=C
export LC_ALL

lint_findings=$(mktemp) || exit 70
trap 'rm -f "$lint_findings"' EXIT

# lint_files PATTERN...: names of the project's files (no fixtures, corpora, test kernels) that match one of the patterns, sorted.
lint_files() {
	lint_expr=
	for lint_pattern; do
		lint_expr="$lint_expr${lint_expr:+ -o }-name '$lint_pattern'"
	done
	eval "find . -type d \( -name .git -o -path ./.deps -o -path ./build -o -path ./runs -o -path ./.cache \
		-o -name __pycache__ -o -path ./tests/fuzz/corpus -o -path ./tests/fixtures -o -path ./tests/honest -o -path ./tests/redteam \) -prune -o -type f \( $lint_expr \) -print" |
		sed 's|^\./||' | sort
}

# lint_need COMMAND: skip (77) when the tool is missing, or fail when KGB_TESTS_MUST_RUN names lint.
lint_need() {
	command -v "$1" >/dev/null && return 0
	echo "lint: no command $1"
	case ,${KGB_TESTS_MUST_RUN:-}, in
	*,lint,* | *,all,*) exit 1 ;;
	esac
	exit 77
}

# lint_choose: of the names of files on stdin those that the default suite checks with slow tools. In a Git checkout these are the
# files that the last 50 commits changed, and a quarter of the others, drawn by KGB_TEST_SEED (default: by the tree). Elsewhere, and
# with KGB_LINT_ALL=1, they are all.
lint_choose() {
	if [ -n "${KGB_LINT_ALL:-}" ] || [ "$(git rev-parse --show-toplevel 2>/dev/null)" != "$PWD" ]; then
		cat
		return
	fi
	lint_work=$(mktemp -d) || exit 70
	sort >"$lint_work/all"
	{ git log -n 50 --name-only --format= && git diff --name-only HEAD; } | sort -u >"$lint_work/changed"
	yes "${KGB_TEST_SEED:-$(git rev-parse 'HEAD^{tree}')}" | head -c 1000000 >"$lint_work/seed"
	comm -23 "$lint_work/all" "$lint_work/changed" >"$lint_work/others"
	comm -12 "$lint_work/all" "$lint_work/changed"
	shuf -n "$(($(wc -l <"$lint_work/others") / 4))" --random-source="$lint_work/seed" "$lint_work/others"
	rm -r "$lint_work"
}

# lint_choose_commands FROM TO: a compile_commands.json with the files of another one that lint_choose prints; those outside of this
# tree are left out.
lint_choose_commands() {
	jq -r --arg root "$PWD/" '.[].file | select(startswith($root))[($root | length):]' "$1" | sort -u | lint_choose |
		jq -R . | jq -s . >"$2.chosen"
	jq --arg root "$PWD/" --slurpfile chosen "$2.chosen" '[.[] | select(.file | ltrimstr($root) | IN($chosen[0][]))]' "$1" >"$2"
}

lint_jobs() { nproc 2>/dev/null || echo 2; }

# $lint_findings is the file with the findings.
lint_done() {
	if [ -s "$lint_findings" ]; then
		cat "$lint_findings"
		echo "lint: $(wc -l <"$lint_findings") lines of findings"
		exit 1
	fi
	echo "lint: clean ($1)"
	exit 0
}
