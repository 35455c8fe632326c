#!/bin/sh
# SPDX-License-Identifier: MIT
# No file has more than 1,000 lines, no header more than 300 (the aim is 150; longer headers are named, not refused).
# clang-tidy measures functions (tidy.sh).
. "$(dirname "$0")/files.sh"

files=$(lint_files '*.c' '*.h' '*.py' '*.sh' bootstrap)
# shellcheck disable=SC2086 # names of ours have no blanks
wc -l $files | awk -v note="$lint_findings.note" '
	$2 == "total" { next }
	$1 > 1000 { printf "%s:%d: over 1,000 lines\n", $2, $1; next }
	$2 ~ /\.h$/ && $1 > 300 { printf "%s:%d: header over 300 lines\n", $2, $1; next }
	$2 ~ /\.h$/ && $1 > 150 { printf "note: %s has %d lines, aim at 150\n", $2, $1 >note }
	$2 !~ /\.h$/ && $1 > 600 { printf "note: %s has %d lines, aim at 600\n", $2, $1 >note }
' >"$lint_findings"
if [ -f "$lint_findings.note" ]; then
	cat "$lint_findings.note"
	rm -f "$lint_findings.note"
fi
lint_done "$(echo "$files" | wc -w) files"
