/* SPDX-License-Identifier: MIT */
#include "agent/llm/reply.h"

#include <time.h>

#include "base/str.h"
#include "tests/unit/base/support.h"

#define ADD "def add(a, b):\n    return a\n"
#define ADD_OUT "def add_out(a, b, *, out):\n    return out\n"

static const struct {
	const char *name, *reply, *kernel, *source;
} cases[] = {
	{"nothing", "", NULL, NULL},
	{"no code", "I cannot do that.", NULL, NULL},
	{"a block", "Here:\n```python\n" ADD "```\nDone.", ADD, "block"},
	{"a block of CRLF lines", "```python\r\ndef add(a, b):\r\n    return a\r\n```\r\n",
	 "def add(a, b):\r\n    return a\r\n", "block"},
	{"the last of several", "```python\n" ADD "```\n```python\n" ADD_OUT "```\n", ADD_OUT,
	 "block"},
	{"the entry is in an earlier block",
	 "```python\n" ADD "```\nUse it:\n```python\nprint(add(1, 2))\n```\n", ADD, "block"},
	{"blocks of other languages", "```python\n" ADD "```\n```bash\npython add.py\n```\n", ADD,
	 "block"},
	{"no block has the entry", "```python\nx = 1\n```\n```python\ny = 2\n```\n", "y = 2\n",
	 "block"},
	{"an indented entry is a method",
	 "```python\n" ADD "```\n```python\nclass A:\n    def add(a, b): pass\n```\n", ADD,
	 "block"},
	{"a longer name is another function",
	 "```python\n" ADD "```\n```python\ndef addition(a, b): pass\n```\n", ADD, "block"},
	{"a call is no entry", "```python\n" ADD "```\n```python\nx = add(1, 2) # def add(\n```\n",
	 ADD, "block"},
	{"blanks before the parameters",
	 "```python\ndef add (a, b): pass\n```\n```python\nx = 1\n```\n", "def add (a, b): pass\n",
	 "block"},
	{"blanks after def", "```python\ndef  add(a, b): pass\n```\n```python\nx = 1\n```\n",
	 "def  add(a, b): pass\n", "block"},
	{"fences of tildes", "~~~python\n" ADD "~~~\n", ADD, "block"},
	{"a fence within one of another kind", "~~~python\n" ADD "x = '''\n```\n'''\n~~~\n",
	 ADD "x = '''\n```\n'''\n", "block"},
	{"a longer fence around a shorter one", "````python\n" ADD "# ```\n```\n````\n",
	 ADD "# ```\n```\n", "block"},
	{"a reply that is fenced as Markdown",
	 "````markdown\n# Kernel\n```python\n" ADD "```\nDone.\n````\n", ADD, "block"},
	{"a reply that is fenced as Markdown, with fences of one length",
	 "```markdown\n```python\n" ADD "```\nDone.\n```\n", ADD, "block"},
	{"a fence in a list",
	 "1. This:\n\n    ```python\n    def add(a, b):\n        return a\n    ```\n", ADD,
	 "block"},
	{"a docstring with an example",
	 "```python\ndef add(a, b):\n    \"\"\"\n```python\nadd(1, 2)\n```\n    \"\"\"\n    return a\n```\nDone.\n",
	 "def add(a, b):\n    \"\"\"\n```python\nadd(1, 2)\n```\n    \"\"\"\n    return a\n",
	 "block"},
	{"a block whose end was forgotten", "```python\n" ADD "\nAnd:\n```python\nx = 1\n```\n",
	 ADD "\nAnd:\n", "block"},
	{"attributes of a fence", "```py title=\"kernel.py\"\n" ADD "```\n", ADD, "block"},
	{"a fence that says Triton", "```triton\n" ADD "```\n", ADD, "block"},
	/* The half with the entry: nothing says that the halves belong together. */
	{"two halves", "```python\nimport torch\n```\nand\n```python\n" ADD "```\n", ADD, "block"},
	{"an unclosed block", "```python\n" ADD, ADD, "block"},
	{"an unclosed block after a complete one",
	 "```python\n" ADD "```\nBetter:\n```python\ndef add(a, b):\n    ret", ADD, "block"},
	{"an unclosed block with the entry after a complete one without",
	 "```python\nx = 1\n```\n```python\n" ADD, ADD, "block"},
	{"a plain fence with the entry", "```\n" ADD "```\n", ADD, "block"},
	{"a plain fence without the entry", "```\nx = 1\n```\n", NULL, NULL},
	{"a plain fence without the entry after Python", "```python\ny = 2\n```\n```\nx = 1\n```\n",
	 "y = 2\n", "block"},
	{"no fence", "import torch\n" ADD, "import torch\n" ADD, "reply"},
	{"no fence and no entry", "import torch\n", NULL, NULL},
	{"words before and no fence", "Here it is:\n\n" ADD, "Here it is:\n\n" ADD, "reply"},
	{"upper case", "```Python\n" ADD "```", ADD, "block"},
	{"an empty block", "```python\n```\n", NULL, NULL},
	{"an empty block after the kernel", "```python\n" ADD "```\n```python\n```\n", ADD,
	 "block"},
};

static void test_the_kernel_of_a_reply_is_found(void **state)
{
	(void)state;
	struct kgb_interface interfaces[] = {{.entry = "add"}, {.entry = "add_out"}};
	const struct kgb_spec spec = {.interfaces = interfaces,
				      .n_interfaces = KGB_ARRAY_LEN(interfaces)};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const char *source = "not set";
		KGB_AUTO(free) char *kernel = kgb_reply_kernel(cases[i].reply, &spec, &source);
		if (!kgb_str_eq(kernel, cases[i].kernel) || !kgb_str_eq(source, cases[i].source))
			fail_msg("%s: '%s' from %s", cases[i].name, kernel ? kernel : "(none)",
				 source ? source : "nothing");
	}
}

/* A reply of 4 MiB is searched in a moment, whatever it holds. */
static void test_long_replies_are_searched_in_a_moment(void **state)
{
	(void)state;
	static const char *const lines[] = {"def add",  "```python\n", "def add(\n",
					    "````````", "\n",          "~~~py\nx\n~~~\n"};
	struct kgb_interface interfaces[] = {{.entry = "add"}};
	const struct kgb_spec spec = {.interfaces = interfaces, .n_interfaces = 1};
	for (size_t i = 0; i < KGB_ARRAY_LEN(lines); i++) {
		KGB_AUTO(buf) struct kgb_buf reply = KGB_BUF_INIT(0);
		const char *source = NULL;
		while (reply.len < (size_t)4 << 20)
			kgb_buf_adds(&reply, lines[i]);
		const clock_t start = clock();
		KGB_AUTO(free) char *kernel = kgb_reply_kernel(reply.ptr, &spec, &source);
		assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_kernel_of_a_reply_is_found),
		cmocka_unit_test(test_long_replies_are_searched_in_a_moment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
