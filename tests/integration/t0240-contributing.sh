#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the examples of CONTRIBUTING.md work: the test extracts and uses each'
. "$(dirname "$0")/lib.sh"

data=$TRASH/data
python=${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}
claude=$(test_cli_path claude)

mkdir "$data"
cp -R "$KGB_TEST_SOURCE_DIR/datasets" "$KGB_TEST_SOURCE_DIR/methods" "$data/" && ln -s "$KGB_TEST_SOURCE_DIR/verify" "$data/"

# extract: each fenced block behind a line `<!-- file: PATH -->` becomes that file below $data; prints the paths.
extract() {
	awk -v root="$data/" '
		/^<!-- file: [a-zA-Z0-9_.\/-]+ -->$/ { path = root $3; print $3; next }
		/^```/ && writing { close(path); writing = 0; path = ""; next }
		/^```/ && path != "" {
			writing = 1
			directory = path
			sub(/\/[^\/]*$/, "", directory)
			system("mkdir -p \"" directory "\"")
			printf "" >path
			next
		}
		writing { print >path }
	' "$KGB_TEST_SOURCE_DIR/CONTRIBUTING.md"
}

# agent ARGS...: runs kgb-agent on the copied data.
agent() {
	env KGB_DATA_DIR="$data" KGB_PYTHON="$python" KGB_CLAUDE_BIN="$claude" kgb-agent "$@"
}

test_expect_success 'the text holds the examples' '
	extract | sort >paths
	cat >expected <<-\END
	datasets/kernelgenbench/aten/aten__abs.yaml
	datasets/kernelgenbench/cases/halves.yaml
	datasets/kernelgenbench/cublas/cublas__cublasDscal_v2.yaml
	datasets/kernelgenbench/vllm/reference/halves.py
	datasets/kernelgenbench/vllm/vllm13__silu_and_mul.yaml
	methods/data/terse_cc/instructions.md
	methods/data/terse_cc/method.yaml
	tests/fuzz/fuzz_example.c
	tests/honest/aten__abs/flat.py
	tests/integration/t9999-example.sh
	tests/unit/base/test_example.c
	END
	cmp expected paths
	while read -r path; do
		[ -s "$data/$path" ]
	done <paths
'

test_expect_success 'the tree holds none of the examples, so the test uses those of the text' '
	while read -r path; do
		[ ! -e "$KGB_TEST_SOURCE_DIR/$path" ]
	done <paths
	test_expect_code 2 kgb-agent list abs 2>err
	test_grep "unknown operator" err
'

test_expect_success 'an operator needs only the files that the text names' '
	test 1 = "$(grep -c "^datasets/.*/aten/" paths)" &&
	test 2 = "$(grep -c "^datasets/.*/vllm/" paths)" && test 1 = "$(grep -c "^datasets/.*/cases/" paths)" &&
	test 1 = "$(grep -c "^datasets/.*/cublas/" paths)" &&
	grep -o "X(cublasDscal_v2, [^)]*)" "$KGB_TEST_SOURCE_DIR/CONTRIBUTING.md" >row && test -s row &&
	sed "s/cublasDscal_v2, scal, D,/cublasSscal_v2, scal, S,/" row >like &&
	grep -qF -f like "$KGB_TEST_SOURCE_DIR/verify/cublas/routines.h"
'

test_expect_success 'the operator loads and is listed with its functions' '
	agent list abs -v >out &&
	test_grep "^aten::abs  *2 interfaces" out &&
	test_grep "def abs_out " out
'

test_expect_success 'the message about a mistake in the spec has file, line and column' '
	spec=$data/datasets/kernelgenbench/aten/aten__abs.yaml &&
	cp "$spec" good.yaml &&
	sed "s/^triton: required/trito: required/" good.yaml >"$spec" &&
	test_expect_code 2 agent list abs 2>err
	cp good.yaml "$spec"
	line=$(grep -n "^triton:" good.yaml | cut -d: -f1)
	test_grep "aten__abs.yaml:$line:1: .*did you mean .triton." err
'

test_expect_success 'the honest kernel is the answer of the offline model; without one the operator is refused, with the remedy' '
	agent abs --dry-run &&
	mv "$data/tests/honest/aten__abs" away &&
	test_expect_code 4 agent abs --dry-run 2>err &&
	mv away "$data/tests/honest/aten__abs" &&
	test_grep "ANTHROPIC_API_KEY" err
'

test_expect_success 'the method is listed' '
	agent list --methods >out &&
	test_grep "^terse_cc  *Claude Code with the verify tool" out
'

if reason=$(test_have sandbox && test_have torch); then
	test_expect_success 'the honest kernel passes, its wrong versions fail with the right code' '
		kernel=$data/tests/honest/aten__abs/flat.py &&
		agent verify "$kernel" --op abs >out || { cat out; false; }
		test_grep "^PASSED " out
		sed "s/ tl.abs(x), / x, /" "$kernel" >unchanged.py
		! cmp -s "$kernel" unchanged.py
		test_expect_code 1 agent verify unchanged.py --op abs >out
		test_grep "^FAILED verify.mismatch" out
		sed "s/, mask=at < n)/)/" "$kernel" >unmasked.py
		! cmp -s "$kernel" unmasked.py
		test_expect_code 1 agent verify unmasked.py --op abs >out
		test_grep "^FAILED verify" out
	'
else
	test_skip 'the honest kernel passes, its wrong versions fail with the right code' "$reason"
fi

if reason=$(test_have sandbox && test_have torch); then
	test_expect_success 'operators of all three sources pass every lint, and those of vLLM and cuBLAS pass with known kernels' '
		sed -n "s/.*formula: .\(cublasDscal_v2 = routine.*)\)..*/\1/p" "$KGB_TEST_SOURCE_DIR/CONTRIBUTING.md" >line &&
		test 1 = "$(wc -l <line)" &&
		cat line >>"$data/datasets/kernelgenbench/cublas/reference/blas.py" &&
		agent dataset lint abs silu_and_mul cublasDscal_v2 --device cpu >out || { cat out; false; }
		test 4 = "$(grep -c "^ok - " out)"
		agent dataset prompt silu_and_mul | sed -n "/^.\{3\}python$/,/^.\{3\}$/p" | sed "1d;\$d" >silu_and_mul.py
		agent verify silu_and_mul.py --op silu_and_mul >out || { cat out; false; }
		sed "s/cublasSscal_v2/cublasDscal_v2/; s/alpha, x_ptr/alpha: tl.float64, x_ptr/" "$KGB_TEST_SOURCE_DIR/tests/honest/cublas__cublasSscal_v2/flat.py" >dscal.py
		agent verify dscal.py --op cublasDscal_v2 >out || { cat out; false; }
	'
else
	test_skip 'operators of all three sources pass every lint, and those of vLLM and cuBLAS pass with known kernels' "$reason"
fi

if reason=$(test_have sandbox && test_have torch && test_have claude); then
	test_expect_success 'the method can be planned, and the offline model drives it' '
		agent add -m terse_cc --dry-run >out &&
		test_grep "add.* with terse_cc\|operator of .* with terse_cc" out &&
		[ ! -e runs ] &&
		agent add -m terse_cc --json >results.json &&
		python3 -c "
import json
r = json.load(open(\"results.json\"))
assert r[\"method\"] == \"terse_cc\", r[\"method\"]
assert r[\"summary\"][\"passed\"] == 1, r[\"summary\"]
" &&
		grep -q "stop at the first .PASSED." runs/*/attempts/aten__add/001/prompt.md
	'
else
	test_skip 'the method can be planned, and the offline model drives it' "$reason"
fi

test_expect_success 'the integration test runs and passes' '
	cp "$KGB_TEST_SOURCE_DIR/tests/integration/lib.sh" "$data/tests/integration/" &&
	env -u KGB_TEST_CLEAN KGB_TEST_TMPDIR="$TMPDIR" TMPDIR="$TMPDIR" sh "$data/tests/integration/t9999-example.sh" >out &&
	test_grep "^ok 1 - an unknown operator" out &&
	test_grep "^1\.\.1$" out
'

compiler=$(command -v cc || command -v gcc || command -v clang)
if [ -n "$compiler" ]; then
	test_expect_success 'the unit test and the fuzz target compile' '
		for file in tests/unit/base/test_example.c tests/fuzz/fuzz_example.c; do
			"$compiler" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wmissing-prototypes -Werror -fsyntax-only \
				-I"$KGB_TEST_SOURCE_DIR" -include "$KGB_TEST_SOURCE_DIR/base/banned.h" "$data/$file"
		done
	'
else
	test_skip 'the unit test and the fuzz target compile' 'no C compiler'
fi

test_done
