/* SPDX-License-Identifier: MIT */
/* t0148-same-kernel.sh compares normalized texts with the parser of Python. */
#include "agent/llm/same_kernel.h"

#include "base/mem.h"
#include "tests/unit/base/support.h"

#define DEF "def f(a):\n    return a\n"

static const struct {
	const char *name, *a, *b;
	bool same;
} pairs[] = {
	{"nothing", DEF, DEF, true},
	{"comments", DEF, "# x\ndef f(a):  # y\n    # z\n    return a # \"\n", true},
	{"blank lines", DEF, "\n\ndef f(a):\n\n  \n    return a", true},
	{"blanks", DEF, "def  f(a):   \n    return\ta  \n", true},
	{"a docstring", DEF, "'''m'''\ndef f(a):\n    r\"\"\"x\n# y\n\"\"\"\n    return a\n", true},
	{"an escape in a docstring", DEF, "def f(a):\n    'b\\n\\\\u'\n    return a\n", true},
	{"an escape without an end", DEF, "def f(a):\n    'b\\u'\n    return a\n", false},
	{"line breaks in brackets", "x = f(a, [b, c])\n", "x = f(\n  a,  # 1\n  [b,\nc]\n)\n",
	 true},
	{"a backslash", "x = 1 + 2\n", "x = 1 \\\n    + 2\n", true},
	{"a name", DEF, "def f(b):\n    return b\n", false},
	{"a number", "x = 1\n", "x = 2\n", false},
	{"a string", "x = '#a'\n", "x = '#b'\n", false},
	{"blanks in a string", "x = 'a  b'\n", "x = 'a b'\n", false},
	{"a line of a string", "x = '''\n# a\n'''\n", "x = '''\n# b\n'''\n", false},
	{"a quote behind a backslash", "x = 'a\\'#'\n", "x = 'a\\'#b'\n", false},
	{"a format string", "x = f'{a!r}#1'\n", "x = f'{a!r}#2'\n", false},
	{"quotes within a field (PEP 701)", "x = f'{a['#1']}'\n", "x = f'{a['#2']}'\n", false},
	{"the indentation", "if a:\n    b\n    c\n", "if a:\n    b\nc\n", false},
	{"a number and its exponent", "x = 1e-5\n", "x = 1e -5\n", false},
	{"an operator in two parts", "x += 1\n", "x + = 1\n", false},
	{"a prefix that is a name", "x = f'a'\n", "x = f 'a'\n", false},
	{"the only statement of a block", "def f():\n    'a'\n", "def f():\n", false},
	{"a string before else", "if a:\n    b\n's'\nelse:\n    c\n",
	 "if a:\n    b\nelse:\n    c\n", false},
	{"a string behind a decorator", "@d\n's'\ndef f():\n    pass\n", "@d\ndef f():\n    pass\n",
	 false},
	{"a backslash at the end", "x = 1 \\\n", "x = 1\n", false},
	{"a blank behind a backslash", "x = 1 \\ \n + 2\n", "x = 1 \\\n + 2\n", false},
	{"an encoding", "# coding: latin-1\nx = 1\n", "x = 1\n", false},
	{"carriage returns", "x = 1\n", "x = 1\r\n", false},
	{"an open bracket", "x = (1\n", "x = (1 # a\n", false},
	{"an open string", "x = '''a\n", "x = '''a\n# b\n", false},
};

static void test_kernels_share_a_hash_when_they_are_the_same_program(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(pairs); i++) {
		char a[KGB_SHA256_HEX_LEN], b[KGB_SHA256_HEX_LEN];
		kgb_kernel_tree_sha256(pairs[i].a, a);
		kgb_kernel_tree_sha256(pairs[i].b, b);
		if ((strcmp(a, b) == 0) != pairs[i].same)
			fail_msg("%s", pairs[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_share_a_hash_when_they_are_the_same_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
