#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='each lint finds its faults'
. "$(dirname "$0")/lib.sh"

lints=$KGB_TEST_SOURCE_DIR/tests/lint
licence='/* SPDX-License-Identifier: MIT */'
KGB_TESTS_MUST_RUN=
export KGB_TESTS_MUST_RUN

# lint_says NAME PATTERN: the lint finds a fault in the tree and reports it.
lint_says() {
	got=0
	"$lints/$1.sh" "$TRASH/tree" >out 2>&1 || got=$?
	if [ "$got" -eq 77 ]; then
		return 0
	fi
	test_equal 1 "$got" status && test_grep "$2" out
}

# lint_silent NAME: the lint finds no fault in the tree.
lint_silent() {
	got=0
	"$lints/$1.sh" "$TRASH/tree" >out 2>&1 || got=$?
	[ "$got" -eq 0 ] || [ "$got" -eq 77 ] || {
		cat out
		return 1
	}
}

# fresh: makes a small tree without a fault.
fresh() {
	rm -rf tree
	mkdir -p tree/base tree/sandbox/isolation tree/sandbox/gateway tree/verify/process tree/methods tree/agent \
		tree/tests/lint
	cp "$KGB_TEST_SOURCE_DIR/.clang-format" "$KGB_TEST_SOURCE_DIR/.clang-tidy" tree
	cp "$lints/spelling.txt" tree/tests/lint
	cat >tree/tests/lint/rooms.txt <<-"EOF"
		base:
		sandbox/isolation:
		sandbox/gateway:
		verify:
		verify/process:
		methods:
		agent:
	EOF
	printf '%s\n#ifndef A_H\n#define A_H\n\nint kgb_a(int n);\n\n#endif\n' "$licence" >tree/base/a.h
	for header in sandbox/isolation/i sandbox/gateway/g verify/v methods/m agent/x; do
		cp tree/base/a.h "tree/$header.h"
	done
	printf '%s\n#include "base/a.h"\n\nint kgb_a(int n)\n{\n\treturn n + 1;\n}\n' "$licence" >tree/base/a.c
	printf '# SPDX-License-Identifier: MIT\nx = 1\n' >tree/tests/t.py
	printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\necho x\n' >tree/tests/t.sh
	printf '{"a": 1}\n' >tree/tests/t.json
	printf '[{"directory": "%s", "file": "%s", "command": "gcc -std=gnu11 -Wall -I. -c base/a.c"}]\n' \
		"$TRASH/tree" "$TRASH/tree/base/a.c" >compile_commands.json
}

test_expect_success 'a good tree has no findings' '
	fresh
	for lint in includes paths headers sizes spdx words format shell spelling python json; do
		lint_silent $lint || return 1
	done
	"$lints/tidy.sh" . tree || test $? -eq 77
	"$lints/cppcheck.sh" . tree || test $? -eq 77
'

test_expect_success 'cppcheck: a folder whose name ends like that of a header' '
	fresh
	mkdir folder.h && mv tree compile_commands.json folder.h/ && cd folder.h
	sed -i "s,$TRASH/tree,$TRASH/folder.h/tree,g" compile_commands.json
	"$lints/cppcheck.sh" . tree || test $? -eq 77
	cd .. && rm -rf folder.h
'

test_expect_success 'includes: against the one way' '
	fresh
	for pair in base:sandbox/gateway/g.h sandbox:verify/v.h verify:methods/m.h methods:agent/x.h \
		verify/process:sandbox/gateway/g.h; do
		printf "#include \"%s\"\n" "${pair#*:}" >tree/${pair%%:*}/bad.c
		lint_says includes "${pair%%:*}/bad.c:1: .*${pair#*:}" || return 1
		rm tree/${pair%%:*}/bad.c
	done
	printf "#include \"sandbox/isolation/i.h\"\n" >tree/verify/process/good.c
	sed -i "s,^verify/process:,& sandbox/isolation," tree/tests/lint/rooms.txt
	lint_silent includes
'

test_expect_success 'includes: an edge that is not used, a folder that is no room, a list that goes upward' '
	fresh
	sed -i "s,^verify/process:,& base," tree/tests/lint/rooms.txt
	lint_says includes "verify/process does not include base" &&
	fresh && mkdir tree/verify/other && cp tree/base/a.h tree/verify/other &&
	lint_says includes "verify/other is no room" &&
	fresh && sed -i "s,^base:,& agent," tree/tests/lint/rooms.txt &&
	lint_says includes "rooms.txt:1: base may not include agent"
'

test_expect_success 'includes: circles of files, but within one noun, and rooms that are too large' '
	fresh
	printf "#include \"base/two.h\"\n" >tree/base/one.h && printf "#include \"base/one.h\"\n" >tree/base/two.h
	lint_says includes "a circle of files: base/one base/two" &&
	fresh &&
	printf "#include \"base/one_b.h\"\n" >tree/base/one_a.h && printf "#include \"base/one_a.h\"\n" >tree/base/one_b.h &&
	lint_silent includes &&
	for i in $(seq 30); do cp tree/base/a.c tree/base/b$i.c; done &&
	lint_says includes "base:1: a room of 34 files"
'

test_expect_success 'includes: a name that means two things' '
	fresh
	printf "struct kgb_two {\n\tint a;\n};\nint kgb_two(void);\n" >tree/base/two.h && cp tree/base/two.h tree/methods/two.h
	lint_says includes "methods/two.h:1: struct kgb_two is already defined in base/two.h:1" &&
	fresh &&
	printf "int kgb_two(void)\n{\n\treturn kgb_one();\n}\n" >tree/base/two.c && cp tree/base/two.c tree/methods/two.c &&
	lint_says includes "methods/two.c:1: kgb_two() is already defined in base/two.c:1" &&
	fresh && printf "int kgb_two(void);\n" >tree/base/two.h && cp tree/base/two.h tree/methods/two.h && lint_silent includes
'

test_expect_success 'paths: a page or a comment names a file that is not there' '
	fresh
	printf "see [this](nowhere.md) and \`base/a.c\`\n" >tree/page.md
	lint_says paths "page.md:1: nowhere.md does not exist" &&
	printf "/* as base/gone.c does */\n" >>tree/base/a.c && rm tree/page.md &&
	lint_says paths "base/a.c:.*base/gone.c does not exist"
'

test_expect_success 'includes: not by path from the root, or missing' '
	fresh
	printf "#include \"a.h\"\n" >tree/base/bad.c
	lint_says includes "not a path from the root" &&
	printf "#include \"base/nowhere.h\"\n" >tree/base/bad.c &&
	lint_says includes "does not exist"
'

test_expect_success 'headers: not self-sufficient, or without a guard' '
	fresh
	printf "size_t kgb_b(void);\n" >tree/base/bad.h
	lint_says headers "unknown type name" &&
	printf "struct kgb_b {\n\tint x;\n};\n" >tree/base/bad.h &&
	lint_says headers "redefinition"
'

test_expect_success 'sizes: file and header' '
	fresh
	{ echo "$licence" && yes "" | head -n 1000; } >tree/base/bad.c
	lint_says sizes "base/bad.c:1001" &&
	{ echo "$licence" && yes "" | head -n 300; } >tree/base/bad.h &&
	lint_says sizes "base/bad.h:301: header"
'

test_expect_success 'spdx: no licence line' '
	fresh
	echo "int x;" >tree/base/bad.c
	lint_says spdx "base/bad.c:1"
'

test_expect_success 'words: notes to oneself, paths of one machine, trailing blanks' '
	fresh
	for line in "/* TO""DO: later */" "\"/wo""rk/main/x\"" "open(/tmp/kg""b/x)" "int x; "; do
		printf "%s\n" "$line" >tree/base/bad.c
		lint_says words "base/bad.c:1" || return 1
	done
	printf "%s\n" "./work/x a/work/b \"todos\" \$HOME/work/" >tree/base/bad.c
	lint_silent words
'

test_expect_success 'format: not as .clang-format wants' '
	fresh
	printf "%s\nint  x;\n" "$licence" >tree/base/bad.c
	lint_says format "base/bad.c:2"
'

test_expect_success 'shell, spelling, python, json' '
	fresh
	printf "#!/bin/sh\necho \$1 | read -r x y z; [ \$a == b ]\n" >tree/tests/bad.sh
	lint_says shell "tests/bad.sh:2" &&
	echo "/* it is t""eh word */" >tree/base/bad.c &&
	lint_says spelling "base/bad.c:1: t""eh" &&
	echo "def f(:" >tree/tests/bad.py &&
	lint_says python "tests/bad.py:1" &&
	echo "{\"a\": 1, \"a\": 2}" >tree/tests/bad.json &&
	lint_says json "keys given twice"
'

test_expect_success 'tidy: names, sizes; a file that becomes good is looked at again' '
	fresh
	if ! command -v clang-tidy >/dev/null || ! command -v jq >/dev/null; then return 0; fi
	printf "#include \"base/a.h\"\n\nint kgb_a(int badName)\n{\n\treturn badName + 1;\n}\n" >tree/base/a.c
	test_expect_code 1 "$lints/tidy.sh" . tree >out
	test_grep "invalid case style for parameter" out
	{ echo "#include \"base/a.h\"" && echo "int kgb_a(int n) {" && yes "n++;" | head -n 100 && echo "return n; }"; } >tree/base/a.c
	test_expect_code 1 "$lints/tidy.sh" . tree >out
	test_grep "exceeds recommended size" out
	fresh
	"$lints/tidy.sh" . tree
'

test_expect_success 'tidy: a file without findings is checked again when it, a header, a comment or the checks change, and else in no tree' '
	fresh
	if ! command -v clang-tidy >/dev/null || ! command -v jq >/dev/null || ! command -v clang >/dev/null; then return 0; fi
	"$lints/tidy.sh" . tree
	rm -rf tidy bin && mkdir bin
	printf "#!/bin/sh\n[ \"\$1\" = --version ] && exec %s --version\nexit 1\n" "$(command -v clang-tidy)" >bin/clang-tidy
	chmod +x bin/clang-tidy
	PATH=$PWD/bin:$PATH
	cp -R tree other && sed "s,/tree,/other,g" compile_commands.json >kept && cp kept compile_commands.json
	"$lints/tidy.sh" . other
	for change in "echo int more\; >>base/a.c" "echo // NOLINT >>base/a.h" "echo \# x >>.clang-tidy"; do
		rm -rf other && cp -R tree other
		(cd other && eval "$change")
		test_expect_code 1 "$lints/tidy.sh" . other >out
		test_grep "base/a.c:1: clang-tidy could not run" out
	done
'

test_expect_success 'tidy and cppcheck: a null pointer' '
	fresh
	if ! command -v clang-tidy >/dev/null || ! command -v jq >/dev/null || ! command -v cppcheck >/dev/null; then return 0; fi
	printf "#include \"base/a.h\"\n\nint kgb_a(int n)\n{\n\tconst int *p = 0;\n\treturn *p + n;\n}\n" >tree/base/a.c
	test_expect_code 1 "$lints/tidy.sh" . tree >out
	test_grep "NullDereference" out
	test_expect_code 1 "$lints/cppcheck.sh" . tree >out
	test_grep "nullPointer" out
'

test_expect_success 'defects: a test, a file, a lint that is not there' '
	mkdir -p defects/docs && for folder in tests datasets; do
		ln -s "$KGB_TEST_SOURCE_DIR/$folder" defects/ || return 1
	done &&
	ln -s "$KGB_TEST_SOURCE_DIR/docs/timing.md" "$KGB_TEST_SOURCE_DIR/docs/operators.md" defects/docs/ &&
	cp "$KGB_TEST_SOURCE_DIR/docs/upstream-defects.md" defects/docs/ &&
	"$lints/defects.sh" defects &&
	sed "s/lint: swapped/lint: exchanged/; s/test_triangles_can_be_solved/test_circles_can_be_solved/; s/test_timer.c: /test_clock.c: /" \
		"$KGB_TEST_SOURCE_DIR/docs/upstream-defects.md" >defects/docs/upstream-defects.md &&
	test_expect_code 1 "$lints/defects.sh" defects >out &&
	test_grep "no broken spec for the lint .exchanged." out && test_grep "has no .test_circles_can_be_solved." out &&
	test_grep "there is no .tests/unit/verify/test_clock.c." out
'

test_expect_success 'redteam: a cheat without a kernel, a kernel that is gone, a stale page' '
	mkdir -p red/tests red/docs &&
	for folder in corpus redteam honest; do
		cp -R "$KGB_TEST_SOURCE_DIR/tests/$folder" red/tests/ || return 1
	done &&
	mkdir -p red/verify/policy red/base && cp "$KGB_TEST_SOURCE_DIR/verify/policy/l1.yaml" red/verify/policy/ &&
	cp "$KGB_TEST_SOURCE_DIR/base/codes.h" red/base/ &&
	cp "$KGB_TEST_SOURCE_DIR/docs/redteam.md" "$KGB_TEST_SOURCE_DIR/docs/rules.md" red/docs/ &&
	python3 red/tests/corpus/run_corpus.py --check-table &&
	rm red/tests/redteam/aten__sgn/captured_graph.py &&
	test_expect_code 1 python3 red/tests/corpus/run_corpus.py --check-table 2>err &&
	test_grep "^cheat 26 .* neither a kernel nor a reason" err &&
	test_grep "bypasses.tsv: 33: no such attack" err &&
	test_grep "docs/redteam.md is stale" err
'

test_expect_success 'a missing tool skips the lint, or fails it where lints must run' '
	fresh
	mkdir none && for tool in dirname find sed sort mktemp rm grep cat wc sh pwd; do
		ln -s "$(command -v $tool)" none/ || true
	done
	test_expect_code 77 env PATH="$PWD/none" "$lints/shell.sh" tree
	test_expect_code 1 env PATH="$PWD/none" KGB_TESTS_MUST_RUN=sandbox,lint "$lints/shell.sh" tree
'

test_done
