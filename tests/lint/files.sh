# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Library of the lints. Each lint is a program `NAME.sh [ROOT]` that checks the tree ROOT (default: this
# tree), prints each finding as `file:line: fault`, and ends with `lint_done` (0 clean, 1 findings).

set -u
lint_root=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
. "$(dirname "$0")/../sample.sh"
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

# lint_choose_commands FROM TO: a compile_commands.json with the files of another one that sample_files prints; those outside of this
# tree are left out.
lint_choose_commands() {
	jq -r --arg root "$PWD/" '.[].file | select(startswith($root))[($root | length):]' "$1" | sort -u | sample_files |
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
