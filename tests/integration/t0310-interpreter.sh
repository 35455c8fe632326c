#!/bin/sh
# SPDX-License-Identifier: MIT
test_description="Triton's interpreter, as the judge corrects it, agrees with PyTorch"
. "$(dirname "$0")/lib.sh"
test_require torch

test_expect_success 'bfloat16 arithmetic, comparisons, conversions, reductions, tl.dot, autotuning' '
	"${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}" -I -B \
		"$KGB_TEST_SOURCE_DIR/tests/helpers/check_interpreter.py" "$KGB_TEST_SOURCE_DIR/verify/python/runner"
'
test_done
