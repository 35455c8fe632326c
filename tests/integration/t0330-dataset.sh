#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='specs of vLLM operators: references agree with a second formulation, cases accept what is right and nothing else'
. "$(dirname "$0")/lib.sh"
test_require sandbox torch

vllm=$KGB_TEST_SOURCE_DIR/datasets/kernelgenbench/vllm
cases=$KGB_TEST_SOURCE_DIR/datasets/kernelgenbench/cases

test_expect_success 'references agree with plain loops over numbers' '
	"${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}" -I -B \
		"$KGB_TEST_SOURCE_DIR/tests/helpers/check_vllm_references.py" "$vllm/reference"
'

test_expect_success 'every case of every operator is feasible, and zeros, ones, inputs and untouched buffers are refused' '
	kgb-judge lint --dataset KernelGenBench-vllm >out &&
	test 50 = "$(grep -c "^ok - vllm13::" out)" && ! grep "^not ok" out
'

# A copy of the dataset in which one operator can be changed.
copy() {
	rm -rf copy && mkdir -p copy/datasets/kernelgenbench/vllm &&
	cp -r "$cases" copy/datasets/kernelgenbench/ &&
	cp -r "$vllm/reference" copy/datasets/kernelgenbench/vllm/ &&
	cp "$vllm/vllm13__$1.yaml" copy/datasets/kernelgenbench/vllm/
}
lint_copy() {
	test_expect_code 1 kgb-judge lint --dataset-dir "$PWD/copy" >out
}

test_expect_success 'no adapter enabled: nothing is ever written, which the lint notices' '
	copy moe_lora_align_block_size &&
	sed -i "s/enabled_fill: ones/enabled_fill: \"int(0,0)\"/; s/enabled_fill: \"int(0,1)\"/enabled_fill: \"int(0,0)\"/" \
		copy/datasets/kernelgenbench/cases/moe_lora_align.yaml &&
	lint_copy && test_grep "no case changes anything" out
'

test_expect_success 'a block table that leads outside is noticed' '
	copy cp_gather_cache &&
	sed -i "s/table_fill: \"int(0,4)\"/table_fill: \"int(0,5)\"/" copy/datasets/kernelgenbench/cases/gather_cache.yaml &&
	lint_copy && test_grep "the reference failed" out
'

test_expect_success 'a reference that is wrong in its own precision is noticed' '
	copy rms_norm &&
	sed -i "s/return (wide \* scale).to(input.dtype) \* weight/return (wide * scale).to(input.dtype) * weight * (1 if wide is input else 1.1)/" \
		copy/datasets/kernelgenbench/vllm/reference/rms_norm.py &&
	lint_copy && test_grep "of the reference is imprecise" out
'

test_expect_success 'a benchmark among the cases that a CPU times is refused' '
	copy moe_sum &&
	sed -i "s|moe_sum/bfloat16/launch_bound/standard|moe_sum/bfloat16/bench_2/benchmark|" \
		copy/datasets/kernelgenbench/vllm/vllm13__moe_sum.yaml &&
	lint_copy && test_grep "is a benchmark" out
'
test_done
