#!/bin/sh
# SPDX-License-Identifier: MIT
# The shell scripts that sample_files prints, by shellcheck; its settings are in .shellcheckrc.
. "$(dirname "$0")/files.sh"

lint_need shellcheck
scripts=$(lint_files '*.sh' '*.bash' bootstrap kgb-setup | sample_files)
echo "$scripts" | xargs -P "$(lint_jobs)" -n 4 shellcheck -f gcc >"$lint_findings"
lint_done "$(echo "$scripts" | wc -w) scripts"
