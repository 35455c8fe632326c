#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='mutants of the IR of an honest kernel, which the cases of its operator detect'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch

score() {
	"${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}" -B "$KGB_TEST_SOURCE_DIR/tests/mutation/ir/ir_score.py" \
		--judge "$KGB_TEST_BIN_DIR/kgb-judge-mutants" "$@"
}

test_expect_success 'the cases detect all mutants of a kernel that have an effect' '
	score --seed 00000000000000000000000000000001 --only "aten__silu/(where_free|persistent).py" --left left >out &&
	test_grep "silu/where_free.py: \([0-9]*\) of \1, 0 equivalent" out &&
	test_grep "silu/persistent.py: \([0-9]*\) of \1, 1 equivalent" out && test ! -s left
'

test_done
