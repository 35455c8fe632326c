#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='how far a kernel got: the ladder, and cases by tier, mode and interface'
. "$(dirname "$0")/lib.sh"

for feature in sandbox torch jq; do
	if ! reason=$(test_have $feature); then
		case ,$KGB_TESTS_MUST_RUN, in
		*,"$feature",* | *,all,*) test_expect_success "$feature is here" 'false' ;;
		*) test_skip 'kernels are judged' "$reason" ;;
		esac
		test_done
	fi
done

spec=$KGB_TEST_SOURCE_DIR/tests/fixtures/judge/aten/aten__add.yaml
honest=$KGB_TEST_SOURCE_DIR/tests/redteam/process/honest.py

# Warm processes for all cases; their stdin stays open as long as this file runs.
mkfifo hold
kgb-judge zygotes --dir zygotes --spares 0 <hold >ready 2>zygotes.log &
exec 9>hold
test_wait_for 120 grep -q ready ready || cat zygotes.log

# reached RUNG SED-SCRIPT [KEY=VALUE...]: the honest kernel, changed by the script, gets to this rung.
reached() {
	reached_rung=$1
	sed "$2" "$honest" >kernel.py
	shift 2
	judge_request "spec=$spec" kernel=kernel.py zygotes=zygotes "$@" | kgb-judge verify >verdict.json &&
		test_equal "$reached_rung" "$(jq -r .reached verdict.json)" reached &&
		test_equal "$reached_rung" "$(jq -r .interfaces.add_Tensor.reached verdict.json)" "reached, of the interface"
}

test_expect_success 'a kernel that is right everywhere is correct; a CPU times no kernel' '
	reached correct "" &&
	jq -e ".status == \"passed\" and .tiers == {core: {total: 3, passed: 3, failed: 0}, edge: {total: 2, passed: 2, failed: 0}} and
		.modes.outlier == {total: 1, passed: 1, failed: 0} and .modes.standard.passed == 4 and
		.interfaces.add_Tensor.tiers == .tiers" verdict.json
'

test_expect_success 'a kernel that is wrong for one edge case reaches core, and says how many cases passed' '
	reached core "s/\\.contiguous()//g" &&
	jq -e ".status == \"failed\" and .code == \"verify.mismatch\" and .not_run_tests == 0 and
		.tiers == {core: {total: 3, passed: 3, failed: 0}, edge: {total: 2, passed: 1, failed: 1}}" verdict.json
'

test_expect_success 'a kernel that is wrong for a core case runs' '
	reached runs "s/i < n$/i < n - (n == 1000)/" &&
	jq -e ".code == \"verify.mismatch\" and .tiers.core.failed == 1 and .tiers.edge.failed == 0" verdict.json
'

test_expect_success 'a kernel whose result has the wrong shape compiles' '
	reached compiles "s/return out$/return out.unsqueeze(0)/" && jq -e ".code == \"verify.shape\"" verdict.json
'

test_expect_success 'a kernel that the compiler refuses reaches nothing, and so does one that launches none' '
	reached nothing "s/tl.arange(0, BLOCK)/tl.arange(0, 3)/" &&
	jq -e ".code == \"verify.exception\" and (.message | contains(\"CompilationError\"))" verdict.json &&
	reached nothing "s/    if out.numel():/    if out.dim() > 9:/" && jq -e ".code == \"verify.mismatch\"" verdict.json
'

test_expect_success 'a file that is refused for its text is refused' '
	reached refused "s/return out$/return torch.add(self, other)/" && jq -e ".stage == \"l1\"" verdict.json &&
	reached refused "s/^def add_Tensor/def add_tensor/" && jq -e ".stage == \"contract\"" verdict.json
'

test_expect_success 'failed cases do not hide the others, but a kernel that does not return is tried once' '
	spec=$KGB_TEST_SOURCE_DIR/datasets/kernelgenbench/aten/aten__silu.yaml &&
	honest=$KGB_TEST_SOURCE_DIR/tests/honest/aten__silu/flat.py &&
	sed "s/tl.store(\([^,]*\),/tl.store(\1, 3 +/" "$honest" >kernel.py && ! cmp -s kernel.py "$honest" &&
	judge_request "spec=$spec" kernel=kernel.py zygotes=zygotes | kgb-judge verify >verdict.json &&
	jq -e ".reached == \"runs\" and .not_run_tests == 0 and .failed_tests > 20 and .tiers.core.failed > .tiers.core.passed" verdict.json &&
	judge_request "spec=$spec" kernel=kernel.py zygotes=zygotes purpose=agent max_failures=20 lanes=1 | kgb-judge verify >verdict.json &&
	jq -e ".failed_tests == 20 and .not_run_tests > 0" verdict.json
'

exec 9>&-
wait
test_done
