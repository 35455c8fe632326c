/* SPDX-License-Identifier: MIT */
#include "methods/code_blocks.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/unit/base/support.h"

/* Each block as its flags and its text: P named, u unnamed, ! unclosed. */
static void note_block(void *payload, const struct kgb_code_block *block)
{
	KGB_AUTO(free) char *text = kgb_code_block_text(block);
	kgb_buf_addf(payload, "%s%s[%s]", block->is_named ? "P" : "u", block->is_closed ? "" : "!",
		     text);
}

static void test_the_blocks_of_a_text_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *text, *blocks;
	} cases[] = {
		{"", ""},
		{"no code", ""},
		{"```python\na = 1\n```", "P[a = 1\n]"},
		{"x\n```python\na\n```\ny\n```py\nb\n```\nz", "P[a\n]P[b\n]"},
		{"```Python3\na\n```\n```json\n{}\n```", "P[a\n]"},
		{"```\nplain\n```", "u[plain\n]"},
		{"```python\nunclosed\n", "P![unclosed\n]"},
		{"```python\nunclosed", "P![unclosed]"},
		{"```python", ""},
		{"```python\n```", ""},
		{"```python\n\n```", "P[\n]"},
		/* info strings */
		{"```pythonic\na\n```", ""},
		{"```triton\na\n```", "P[a\n]"},
		{"```python title=x\na\n```", "P[a\n]"},
		{"```python{1,3}\na\n```", "P[a\n]"},
		{"```python:kernel.py\na\n```", "P[a\n]"},
		{"```py,ignore\na\n```", "P[a\n]"},
		{"```{.python .numberLines}\na\n```", "P[a\n]"},
		{"``` PYTHON  \na\n```", "P[a\n]"},
		{"```pycon\n>>> a\n```", ""},
		{"```c++\na\n```", ""},
		{"use ```python``` here\n```python\na\n```", "P[a\n]"},
		{"```python```\n```python\na\n```", "P[a\n]"},
		/* ends of lines */
		{"```python\r\na\r\n```\r\n", "P[a\r\n]"},
		{"```python  \na\n```  \nb", "P[a\n]"},
		/* marks and lengths */
		{"~~~python\na\n```\nb\n~~~\n", "P[a\n```\nb\n]"},
		{"```python\na\n~~~\n```\n", "P[a\n~~~\n]"},
		{"~~python\na\n~~\n", ""},
		{"```python\na\n`````\nb", "P[a\n]"},
		{"````python\n```python\nx\n```\n````", "P[```python\nx\n```\n]"},
		{"````python\na\n```\nb", "P![a\n```\nb]"},
		/* indented fences */
		{"1. So:\n   ```python\n   a\n     b\n   ```\n", "P[a\n  b\n]"},
		{"- x\n    ```python\n    a\n\n    b\n    ```\n", "P[a\n\nb\n]"},
		{"\t```python\n\ta\n\t```\n", "P[a\n]"},
		{"    ```python\n    a\n```\n", "P[a\n]"},
		{"   ```python\n a\n   b\n   ```\n", "P[a\nb\n]"},
		{"```python\na\n    ```\nb\n```\n", "P[a\n    ```\nb\n]"},
		{"```python\na\n   ```\nb", "P[a\n]"},
		/* within other languages */
		{"````markdown\n# K\n```python\na\n```\n````\n", "P[a\n]"},
		{"```markdown\n# K\n```python\na\n```\n```\nb", "P[a\n]u![b]"},
		{"```md\n```python\na\n```\n```\n\n```python\nc\n```", "P[a\n]u[\n]P[c\n]"},
		{"````md\n```python\na\n```\n````\nb\n```python\nc\n```", "P[a\n]u[b\n]P[c\n]"},
		{"```\n```python\na\n```\n```\n", "P[a\n]"},
		{"```bash\npip\n```python\na\n```", "P[a\n]"},
		{"````text\n```\na\n```\n````\n", ""},
		/* ends that were forgotten */
		{"```python\na\n\n```python\nb\n```", "P[a\n\n]P[b\n]"},
		{"```python\na\n```bash\nb\n```", "P[a\n```bash\nb\n]"},
		/* strings with fences */
		{"```python\n\"\"\"\n```\nx\n```\n\"\"\"\na\n```\nb",
		 "P[\"\"\"\n```\nx\n```\n\"\"\"\na\n]"},
		{"```python\n'''Do.\n```python\nx\n```\n'''\na\n```\nb",
		 "P['''Do.\n```python\nx\n```\n'''\na\n]"},
		{"```python\ndef f():\n    r\"\"\"F.\n\n    ```\n    x\n    ```\n    \"\"\"\n```\nb",
		 "P[def f():\n    r\"\"\"F.\n\n    ```\n    x\n    ```\n    \"\"\"\n]"},
		{"```python\na = '\"\"\"' # \"\"\"\n```\n```\nb\n```",
		 "P[a = '\"\"\"' # \"\"\"\n]u[b\n]"},
		{"```python\n\"\"\"one\"\"\" + '''two'''\n```\n```\nb\n```",
		 "P[\"\"\"one\"\"\" + '''two'''\n]u[b\n]"},
		{"```python\n\"\"\"never ends\n```\nSorry:\n```python\n\"\"\"b\"\"\"\n```",
		 "P[\"\"\"never ends\n]P[\"\"\"b\"\"\"\n]"},
		{"```python\n\"\"\"never ends\n```\n", "P[\"\"\"never ends\n]"},
		{"```python\n\"\"\"a\\\"\"\"\n```\nx\n```\n\"\"\"\n```\n",
		 "P[\"\"\"a\\\"\"\"\n```\nx\n```\n\"\"\"\n]"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf blocks = KGB_BUF_INIT(0);
		kgb_each_code_block(cases[i].text, note_block, &blocks);
		if (!kgb_str_eq(blocks.ptr, cases[i].blocks))
			fail_msg("case %zu, '%s': '%s'", i, cases[i].text, blocks.ptr);
	}
}

static void test_the_last_block_that_says_python_is_found(void **state)
{
	(void)state;
	static const struct {
		const char *text, *block;
	} cases[] = {
		{"no code", NULL},
		{"```\nplain\n```", NULL},
		{"```py\na\n```\n```\nplain\n```", "a\n"},
		{"```py\na\n```\n  ```python\n  b\n  ```", "b\n"},
		{"```py\na\n```\n```python\nb", "b"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(free) char *block = kgb_last_python_block(cases[i].text);
		if (!kgb_str_eq(block, cases[i].block))
			fail_msg("case %zu: '%s'", i, block ? block : "(none)");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_blocks_of_a_text_are_found),
		cmocka_unit_test(test_the_last_block_that_says_python_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
