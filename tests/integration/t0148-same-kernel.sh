#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='which kernels of a bare model are the same program, compared with the parser of Python'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2034 # used in the body
program=$KGB_TEST_BIN_DIR/../tests/helpers/normalize_python
# shellcheck disable=SC2034 # used in the body
src=$KGB_TEST_SOURCE_DIR

test_expect_success 'the normalized text of kernels, and of what random edits make of them, has the tree of the text' '
	find "$src/tests/honest" "$src/tests/redteam" -name "*.py" | sort | sample_lines 4 >files
	test "$(wc -l <files)" -ge 300
	xargs python3 "$src/tests/helpers/check_same_kernel.py" "$program" "${KGB_TEST_SEED:-$(date +%s)}" 500 <files
'

test_done
