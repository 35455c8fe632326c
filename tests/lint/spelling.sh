#!/bin/sh
# SPDX-License-Identifier: MIT
# Common misspellings. Unit and integration tests misspell on purpose.
. "$(dirname "$0")/files.sh"

lint_need codespell
files=$(lint_files '*.c' '*.h' '*.py' '*.sh' '*.cmake' '*.txt' '*.md' '*.yaml' bootstrap | grep -vE '^tests/(unit|integration)/')
# shellcheck disable=SC2086 # names of ours have no blanks
codespell --ignore-words tests/lint/spelling.txt $files >"$lint_findings"
lint_done "$(echo "$files" | wc -w) files"
