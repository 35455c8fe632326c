# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of kgb-agent for bash: the program itself knows its commands, options, operators, methods and runs.
_kgb_agent() {
	local IFS=$'\n'
	mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _kgb_agent kgb-agent
