#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='what a run shows on a terminal'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch

printf '#!/bin/sh\nsleep 600\n' >sleeps && chmod +x sleeps

# on_terminal ARGUMENT...: the arguments of terminal.py.
on_terminal() {
	KGB_COMMAND_BIN=$TRASH/sleeps python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/terminal.py" "$@"
}
# run_of_five RESIZE: a run of five operators in 80 columns and 24 rows, and the screen after RESIZE.
run_of_five() {
	on_terminal --resize "sum      running      0:0=$1" 80x24 \
		kgb-agent add,mm,silu,softmax,sum -m command --skip-verify --device-count 5 >out || true
	sed '1d; /^== end/,$d' out >screen
}

test_expect_success 'messages break between words, and each word stays whole' '
	on_terminal 40x24 kgb-agent nosuch >out || true
	test_grep "^kgb-agent: error: unknown operator" out &&
	test_grep "^    " out &&
	sed 1d out | awk "length > 40 { exit 1 }" &&
	tr -s "\n " " " <out | grep -F "(\`kgb-agent --help\` lists the commands); \`kgb-agent list\` lists the operators"
'
test_expect_success 'a terminal that becomes narrow keeps one block of live operators' '
	run_of_five 26x23 &&
	test "$(grep -c "^ aten::.* runn" screen)" -eq 5 &&
	test "$(grep -c "^> 5 running$" screen)" -eq 1 && test "$(grep -c "^running 0:0" screen)" -eq 1
'
test_expect_success 'operators without a row on a low terminal are counted' '
	run_of_five 80x8 &&
	test_grep "^ +3 more running$" screen &&
	test "$(grep -c "^ aten::.* running" screen)" -eq 2
'
test_done
