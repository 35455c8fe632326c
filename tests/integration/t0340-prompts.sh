#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='prompts name the requirements, and the files that they show pass the judge'
# t0240 judges the file that vLLM's prompts show.
. "$(dirname "$0")/lib.sh"
test_require sandbox torch

fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures/prompts
export KGB_PYTHON="${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}"

# shown OPERATOR: the Python file in its prompt.
shown() {
	kgb-agent dataset prompt "$1" | sed -n '/^```python$/,/^```$/p' | sed '1d;$d'
}

test_expect_success 'the specs of the operators that are shown pass every lint' '
	kgb-judge lint --dataset KernelGenBench --dataset-dir "$fixtures" aten::relu cublas::cublasSrot_v2 >out || { cat out; false; }
'

while read -r named operator path; do
	test_expect_success "the file in the prompt of $named passes" "
		shown $named >kernel.py && test -s kernel.py &&
		judge_request spec=$fixtures/datasets/kernelgenbench/$path kernel=kernel.py device=cpu timing=false |
			kgb-judge verify >verdict &&
		test_grep '\"operator\": *\"$operator\"' verdict && test_grep '\"status\": *\"passed\"' verdict || { cat verdict; false; }
	"
done <<-\END
	add aten::relu aten/aten__relu.yaml
	cublasSaxpy_v2 cublas::cublasSrot_v2 cublas/cublas__cublasSrot_v2.yaml
END

test_expect_success 'no operator of the dataset is shown as an example' '
	for operator in aten::relu vllm13::silu_and_mul cublas::cublasSrot_v2; do
		test_no_grep "$operator" "$KGB_TEST_SOURCE_DIR/datasets/kernelgenbench/operators.yaml" || return 1
	done
'

test_expect_success 'a prompt names the calls: signature, schema, types, cases, rules and how to verify' '
	kgb-agent dataset prompt cublasDgemmBatched -m normal_cc >prompt &&
	test_grep "def cublasDgemmBatched(transa, transb, m, n, k, alpha, Aarray, lda" prompt &&
	test_grep "cublasDgemmBatched(int transa, .*Tensor(a!) Carray" prompt &&
	test_grep "checked for instance with .transa=" prompt && test_no_grep "timed with" prompt &&
	test_grep "Carray=int64.2. (addresses of rows of float64.2, [0-9]*., in place), ldc" prompt && test_no_grep "B=float64" prompt &&
	test_grep "Types: .float64." prompt && test_grep "accumulate in float64" prompt && test_grep "All tensors are contiguous" prompt &&
	test_grep "^## Rules" prompt && test_grep "kgb-verify" prompt && test_grep "There is no GPU" prompt && test_no_grep "speed" prompt &&
	kgb-agent dataset prompt silu --device cuda >prompt && test_grep "NVIDIA GPU" prompt && test_no_grep "There is no GPU" prompt &&
	test_grep "timed with .self=.*, with .self=" prompt && test_grep "the baseline (torch)" prompt
'

test_expect_success 'a prompt names the versions that run kernels, and the limits of the settings' '
	"$KGB_PYTHON" -c "import platform, torch, triton; print(platform.python_version(), torch.__version__, triton.__version__)" >versions &&
	read -r python torch triton <versions &&
	kgb-agent dataset prompt silu --set limits.call_timeout=7s --set limits.verify_timeout=4m --set limits.verify_calls=9 >prompt &&
	test_grep "^Python $python, torch $torch, Triton $triton. A call may take 7s, all cases of one verification together 4m" prompt &&
	test_grep "You have 9 such checks" prompt &&
	KGB_PYTHON=/nonexistent kgb-agent dataset prompt silu >prompt && test_grep "^A call may take 1m, " prompt
'

test_expect_success 'on the CPU a prompt names the target that Triton compiles for there' '
	runner=$KGB_TEST_SOURCE_DIR/verify/python/runner &&
	kgb-agent dataset prompt silu >prompt &&
	capability=$(sed -n "s/^TARGET = GPUTarget(.cuda., \([0-9]*\), .*/\1/p" "$runner/ttir_image.py") &&
	name=$(sed -n "s/.*name=\"\(NVIDIA [^\"]*\)\", major.*/\1/p" "$runner/machine_driver.py") &&
	test -n "$capability" && test -n "$name" && test_grep "an $name (.sm_$capability.)" prompt
'

test_expect_success 'a prompt names where the domain ends' '
	kgb-agent dataset prompt add_ >prompt && test_grep "^- Shapes: arguments of at most 8 dimensions;" prompt &&
	test_grep "no argument has more than 8 dimensions" prompt && test_grep "no tensor has a lazy negative or conjugate bit" prompt &&
	test_grep "the byte of a bool is 0 or 1" prompt
'

test_expect_success 'an argument that is returned as it is is not called modified' '
	kgb-agent dataset prompt scaled_int8_quant >prompt && test_no_grep "modifies .scale" prompt && test_no_grep "in place)" prompt &&
	test_grep "returns a given .scale. as it is" prompt && test_grep "scale=float32.1. (returned as it is)" prompt
'

test_expect_success 'an operator without kernels is not told about them' '
	kgb-agent dataset prompt item >prompt && test_no_grep "triton.jit" prompt && test_no_grep "with Triton" prompt &&
	test_grep "no kernel is needed" prompt
'
test_done
