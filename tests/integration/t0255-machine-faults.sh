#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='helper processes are killed in the middle of runs: no operator fails by it (tests/faults/inject.py has more kinds)'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude jq

for kind in "agent's bwrap" "kgb-judge verify" "kgb-judge zygotes"; do
	export kind
	test_expect_success "$kind is killed: the run passes, and the agent hears nothing of it" '
		python3 "$KGB_TEST_SOURCE_DIR/tests/faults/inject.py" --runs 1 --kind "$kind" --json out.json &&
		jq -e ".runs | all(.hit and .outcome == \"passed\" and .heard == [])" out.json
	'
done
test_done
