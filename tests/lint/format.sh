#!/bin/sh
# SPDX-License-Identifier: MIT
# C sources have the format of .clang-format; `format.sh --fix` rewrites them.
fix=
if [ "${1:-}" = --fix ]; then
	fix=1
	shift
fi
. "$(dirname "$0")/files.sh"

lint_need clang-format
files=$(lint_files '*.c' '*.h')
[ -n "$files" ] || lint_done 'no files'
if [ -n "$fix" ]; then
	echo "$files" | xargs -P "$(lint_jobs)" -n 16 clang-format -i --style=file
	exit
fi
echo "$files" | xargs -P "$(lint_jobs)" -n 16 clang-format --style=file --dry-run --Werror 2>&1 |
	grep 'error:' >"$lint_findings"
lint_done "$(echo "$files" | wc -w) files"
