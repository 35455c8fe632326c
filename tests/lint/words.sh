#!/bin/sh
# SPDX-License-Identifier: MIT
# Words that must not reach the tree: notes to oneself, paths of one machine, trailing blanks.
. "$(dirname "$0")/files.sh"

files=$(lint_files '*.c' '*.h' '*.py' '*.sh' '*.cmake' '*.txt' '*.md' '*.yaml' '*.yml' '*.json' bootstrap run .clang-tidy \
	.clang-format .editorconfig .gitignore | grep -v '^tests/lint/words\.sh$')
{
	# shellcheck disable=SC2086 # names of ours have no blanks
	grep -nE '\b(TODO|FIXME|XXX|HACK)\b' $files /dev/null
	# The home of a user, and work folders, as a beginning of an absolute path.
	# shellcheck disable=SC2086
	grep -nE '(^|[^A-Za-z0-9_.~/}$-])/(work|tmp/inst|tmp/kgb|root/\.|home/[a-z]+/(src|git|work))(/|$)' $files /dev/null
	# Documents that are not in the tree.
	# shellcheck disable=SC2086
	grep -nE '\b(DESIGN\b|STYLE\.md\b)' $files /dev/null
	# shellcheck disable=SC2086
	grep -nE '[[:blank:]]+$' $files /dev/null | sed 's/$/  <- trailing blanks/'
} >"$lint_findings"
lint_done "$(echo "$files" | wc -w) files"
