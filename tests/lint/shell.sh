#!/bin/sh
# SPDX-License-Identifier: MIT
# Every shell script, by shellcheck; its settings are in .shellcheckrc.
. "$(dirname "$0")/files.sh"

lint_need shellcheck
scripts=$(lint_files '*.sh' '*.bash' bootstrap kgb-setup)
echo "$scripts" | xargs -P "$(lint_jobs)" -n 4 shellcheck -f gcc >"$lint_findings"
lint_done "$(echo "$scripts" | wc -w) scripts"
