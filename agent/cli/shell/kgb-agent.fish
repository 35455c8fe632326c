# SPDX-License-Identifier: MIT
# Completion of kgb-agent for fish.
function __kgb_agent_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c kgb-agent -a '(__kgb_agent_complete)'
