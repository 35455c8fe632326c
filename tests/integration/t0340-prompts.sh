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
	test_grep "checked for instance with .transa=" prompt && test_grep "timed for instance with .transa=" prompt &&
	test_grep "Carray=int64.2. (addresses of rows of float64.2, 40., in place), ldc" prompt && test_no_grep "B=float64" prompt &&
	test_grep "Element types in use: .float64." prompt && test_grep "^## Rules" prompt && test_grep "kgb-verify" prompt &&
	test_grep "There is no GPU" prompt &&
	kgb-agent dataset prompt silu --device cuda >prompt && test_grep "NVIDIA GPU" prompt && test_no_grep "There is no GPU" prompt
'
test_done
