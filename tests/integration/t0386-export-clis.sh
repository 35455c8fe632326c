#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='trajectories of the real CLIs and of a bare model are ATIF, also after a prune'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude codex opencode jq
PIP_IGNORE_REQUIRES_PYTHON=1 test_python_environment exports
export python_environment

check() { "$python_environment/bin/python" "$KGB_TEST_SOURCE_DIR/tests/helpers/check_atif.py" "$@"; }

test_expect_success 'a run of each CLI, of a pipeline and of a bare model' '
	for method in normal_cc normal_codex normal_opencode autokernel; do
		kgb-agent silu -m $method -i 2 -q >log.$method 2>&1 || { cat log.$method; return 1; }
	done &&
	kgb-agent silu -m llm --samples 3 --reflection --max-rounds 3 -q >log.llm 2>&1
'
test_expect_success 'their trajectories are valid, and steps of agents have what they did and what it took' '
	kgb-agent export atif runs -o all.jsonl && check all.jsonl &&
	jq -s -e "map(select(.agent.name != \"kgb-agent\") | [.steps[] | select(.tool_calls)] | length) | length == 4 and all(. >= 4)" all.jsonl &&
	jq -s -e "map(select(.agent.name == \"claude\" or .agent.name == \"opencode\") | . as \$t |
		([.steps[].metrics.completion_tokens // 0] | add) == \$t.final_metrics.total_completion_tokens) | length >= 2 and all" all.jsonl &&
	jq -s -e "[.[] | select(.extra.sample)] | length == 3" all.jsonl
'
test_expect_success 'each failed check makes a pair with the next that passed' '
	kgb-agent export pairs runs -o pairs.jsonl && jq -s -e "map(.kind) | length >= 4 and all(. == \"correction\")" pairs.jsonl
'
test_expect_success 'after a prune the same, but for what the recorded requests had' '
	kgb-agent runs prune runs && kgb-agent export atif runs -o pruned.jsonl && check pruned.jsonl &&
	kgb-agent export pairs runs -o again.jsonl && test_cmp pairs.jsonl again.jsonl &&
	jq -c "del(.steps[].metrics)" all.jsonl >a && jq -c "del(.steps[].metrics)" pruned.jsonl >b && test_cmp a b
'

test_done
