#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the main job: the real Claude Code CLI, in its sandbox, with the offline model, to results.json'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude jq git

# The only run directory.
run_dir() { echo runs/*_KernelGenBench_*; }

test_expect_success 'normal_cc writes a kernel, the judge refuses it, and the repaired kernel passes' '
	test_expect_code 0 kgb-agent add -m normal_cc --device-count 1 >table 2>log &&
	test_grep "offline: no API key is set" log &&
	test_grep "aten::add  *passed" table
'
test_expect_success 'results.json: passed, two checks in its history, tokens equal in both meters' '
	jq -e ".summary.passed == 1 and .summary.total == 1 and .summary.gpu_seconds == null" "$(run_dir)/results.json" &&
	jq -e ".operators[\"aten::add\"] | .status == \"passed\" and .passed_tests == .total_tests
		and (.verify_calls | map(.status)) == [\"failed\", \"passed\"]
		and .tokens.agree and .tokens.gateway == .tokens.cli and .tokens.gateway.output_tokens > 0
		and .speedup == null" "$(run_dir)/results.json" &&
	jq -e ".operators[\"aten::add\"] as \$op | .summary | .tiers.core == (\$op.tiers.core + {operators: 1}) and
		.modes == (\$op.modes | map_values(. + {operators: 1}))" "$(run_dir)/results.json" &&
	jq -e ".summary.core == 1 and .summary.core_rate == 1 and (.operators[\"aten::add\"] | .source == \"aten\" and
		.category == \"Math\" and .reached == \"correct\" and .tiers.core.passed + .tiers.edge.passed == .total_tests and
		.modes.outlier.passed > 0 and .interfaces.add_Tensor.reached == \"correct\" and
		(.verify_calls | map(.reached) | .[1] == \"correct\"))" "$(run_dir)/results.json"
'
test_expect_success 'each check has what the attempt had spent by then' '
	jq -e ".operators[\"aten::add\"] | (.verify_calls | map(.spent)) as [\$one, \$two] | 0 < \$one.model_requests and
		\$one.model_requests < \$two.model_requests and \$two.model_requests <= .model_requests and
		0 < \$one.tokens.output_tokens and \$one.tokens.output_tokens < \$two.tokens.output_tokens and
		\$two.tokens.output_tokens <= .tokens.gateway.output_tokens and .attempts[0].model_requests == .model_requests" \
		"$(run_dir)/results.json"
'
test_expect_success 'the kernel kept is the version that passed the second check' '
	cmp "$(run_dir)/kernels/aten__add.py" "$(run_dir)/attempts/aten__add/001/verdicts/002.py"
'
test_expect_success 'progress.json agrees' '
	jq -e ".summary == {total: 1, completed: 1, running: 0, failed: 0, pending: 0, by_status: {passed: 1},
			speedup: {geometric_mean: null, operators: 0}}
		and .operators[\"aten::add\"].code_generated" "$(run_dir)/progress.json"
'
test_expect_success 'the git history holds task, versions and checks with their verdicts as notes' '
	git --git-dir="$(run_dir)/attempts/aten__add/001/git" log --reverse --notes=kgb --format="%s|%N" >history &&
	head -n 1 history | grep "^task: aten::add by normal_cc, attempt 1" &&
	test_equal 2 "$(grep -c "^check [12]|" history)" checks &&
	test_grep "^check 1|.*verify\.mismatch" history &&
	test_grep "^check 2|.*\"status\":\"passed\"" history
'
test_expect_success 'the verdict of record has a seed that no check had' '
	jq -r .seed "$(run_dir)"/verdicts/aten__add/001.json "$(run_dir)"/attempts/aten__add/001/verdicts/*.json | sort -u >seeds &&
	test_equal 3 "$(wc -l <seeds)" seeds &&
	jq -e ".mode == \"final\"" "$(run_dir)/verdicts/aten__add/001.json"
'
test_expect_success 'every exchange is recorded, without the capability token' '
	test_equal 5 "$(find "$(run_dir)/attempts/aten__add/001/traffic" -name "*.request.json" | wc -l)" exchanges &&
	cat "$(run_dir)"/attempts/aten__add/001/traffic/*.request.json >requests &&
	test_grep -i "\"x-api-key\",\"<removed>\"" requests && test_no_grep -iE "\"x-api-key\",\"[0-9a-f]{32}" requests
'
test_expect_success 'nothing of the sandbox is left' '
	jq -e ".survivors == 0 and .end == \"agent.ok\"" "$(run_dir)/attempts/aten__add/001/exit.json" &&
	test_wait_for 30 test_no_process "$TRASH"
'
test_expect_success '--skip-gen verifies that run again and agrees' '
	cp "$(run_dir)/results.json" first.json &&
	test_expect_code 0 kgb-agent --skip-gen --json >second.json &&
	jq -e ".operators[\"aten::add\"].status == \"passed\"" second.json &&
	# Up to four cases with one tensor for two arguments: their number depends on the seed.
	jq -r ".operators[\"aten::add\"] | .kernel_sha256, .total_tests == .passed_tests" first.json >a &&
	jq -r ".operators[\"aten::add\"] | .kernel_sha256, .total_tests == .passed_tests" second.json >b &&
	test_cmp a b &&
	test "$(jq -r ".operators[\"aten::add\"].seed" first.json)" != "$(jq -r ".operators[\"aten::add\"].seed" second.json)"
'
test_expect_success '--kernels verifies kernels from elsewhere in a separate run' '
	mkdir mine && cp "$(run_dir)/kernels/aten__add.py" mine/add.py &&
	test_expect_code 0 kgb-agent --kernels mine --runs-dir other >table 2>log &&
	test_grep "aten::add  *passed" table &&
	jq -e ".method == \"kernels\"" other/*/results.json
'
test_expect_success 'of several at a time the one with the most cases begins' '
	mkdir two && echo "x = 1" >two/_softmax.py && echo "x = 1" >two/add.py &&
	test_expect_code 1 kgb-agent --kernels two --device-count 2 --runs-dir order >table 2>log &&
	sed -n "s/.*verify_started.*\"operator\":\"\([^\"]*\)\".*/\1/p" order/*/journal.jsonl >begun &&
	printf "aten::add\naten::_softmax\n" >expected && test_cmp expected begun
'
test_expect_success 'naive_cc: one answer, no checks, passed' '
	test_expect_code 0 kgb-agent aten__add -m naive_cc --runs-dir naive --json >out.json &&
	jq -e ".operators[\"aten::add\"] | .status == \"passed\" and .verify_calls == [] and .attempts[0].turns == 1
		and .attempts[0].kernel_source == \"message\" and .tokens.agree" out.json
'
test_expect_success '--skip-verify stops after generation' '
	test_expect_code 0 kgb-agent add -m naive_cc --skip-verify --runs-dir skip --json >out.json &&
	jq -e ".operators[\"aten::add\"] | .status == \"generated\" and .kernel != null" out.json
'
test_expect_success 'several operators side by side' '
	test_expect_code 0 kgb-agent add,silu aten::softmax -m naive_cc --device-count 2 --runs-dir three --json >out.json &&
	jq -e ".summary.passed == 3 and .summary.tokens.agree" out.json
'
test_done
