/* SPDX-License-Identifier: MIT */
#include "sandbox/client/thinking.h"

#include "base/mem.h"
#include "base/str.h"
#include "tests/unit/base/support.h"

static void test_thinking_is_moved_out_of_the_text(void **state)
{
	(void)state;
	static const struct {
		const char *text, *kept, *thinking;
	} cases[] = {
		{"", "", ""},
		{"a", "a", ""},
		{"<think>\nhm\n</think>\n\na", "a", "hm"},
		{"<think>\r\nhm\r\n</think>\r\n\r\na\r\n", "a\r\n", "hm"},
		{"<thinking>hm</thinking>a", "a", "hm"},
		{"<thought>hm</thought>a", "a", "hm"},
		{"<reasoning>hm</reasoning>a", "a", "hm"},
		{"[THINK]hm[/THINK]a", "a", "hm"},
		{"<seed:think>hm</seed:think>a", "a", "hm"},
		{"◁think▷hm◁/think▷a", "a", "hm"},
		{"  <think>hm</think>a", "  a", "hm"},
		{"<think></think>\n\na", "a", ""},
		{"<think>\n\n</think>\n\na", "a", ""},
		/* text before */
		{"Sure.\n<think>hm</think>\na", "Sure.\n\na", "hm"},
		{"Sure. <think>hm</think> a", "Sure.  a", "hm"},
		{"Put it in a <think> tag.", "Put it in a <think> tag.", ""},
		/* several */
		{"<think>h</think>a\n<think>m</think>\nb", "a\n\nb", "h\nm"},
		{"<think>h</think><thinking>m</thinking>a", "a", "h\nm"},
		{"<think>h <thinking> m</think>a</thinking>", "a</thinking>", "h <thinking> m"},
		/* unclosed: the answer was cut */
		{"<think>\nhm ```python\ndef add", "", "hm ```python\ndef add"},
		{"a\n<think>hm", "a\n", "hm"},
		{"<think>", "", ""},
		{"a <thin", "a <thin", ""},
		/* opened by the prompt */
		{"hm\n</think>\n\na", "a", "hm"},
		{"</think>a", "a", ""},
		{"hm\n</think>\na\n<think>mh</think>\nb", "a\n\nb", "hm\nmh"},
		{"Close it with </think>.", "Close it with </think>.", ""},
		{"a = '</think>'\nb", "a = '</think>'\nb", ""},
		/* other tags */
		{"<thinker>hm</thinker>", "<thinker>hm</thinker>", ""},
		{"<Think>hm</Think>", "<Think>hm</Think>", ""},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0), thinking = KGB_BUF_INIT(0);
		kgb_buf_adds(&text, cases[i].text);
		kgb_thinking_split(&text, &thinking);
		if (!kgb_str_eq(text.ptr, cases[i].kept) ||
		    !kgb_str_eq(thinking.ptr, cases[i].thinking))
			fail_msg("'%s': '%s', thinking '%s'", cases[i].text, text.ptr,
				 thinking.ptr);
		assert_int_equal(strlen(text.ptr), text.len);
	}
}

static void test_thinking_follows_that_of_the_server_and_is_cut_at_the_cap(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0), thinking = KGB_BUF_INIT(8);
	kgb_buf_adds(&text, "<think>abc</think>x\n<think>\xc3\xa9\xc3\xa9</think>y");
	kgb_buf_adds(&thinking, "12");
	kgb_thinking_split(&text, &thinking);
	assert_string_equal(text.ptr, "x\ny");
	assert_string_equal(thinking.ptr, "12\nabc\n"); /* no half of a character */
}

/* 4 MiB take a moment, whatever they hold. */
/** Letters that are no part of a tag. */
static size_t count(const struct kgb_buf *buf)
{
	size_t n = 0;
	for (size_t i = 0; i < buf->len; i++)
		n += buf->ptr[i] == 'x';
	return n;
}

static void test_long_texts_lose_nothing_but_tags(void **state)
{
	(void)state;
	static const char *const pieces[] = {"<think>",    "</think>",
					     "x <think>",  "\n<think>x</think>",
					     "\n</think>", " <think> </thinking>",
					     "   "};
	for (size_t i = 0; i < KGB_ARRAY_LEN(pieces); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0), thinking = KGB_BUF_INIT(0);
		while (text.len < (size_t)256 << 10)
			kgb_buf_adds(&text, pieces[i]);
		const size_t len = text.len, n_letters = count(&text);
		kgb_thinking_split(&text, &thinking);
		assert_true(text.len + thinking.len <= len);
		assert_int_equal(count(&text) + count(&thinking), n_letters);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thinking_is_moved_out_of_the_text),
		cmocka_unit_test(test_thinking_follows_that_of_the_server_and_is_cut_at_the_cap),
		cmocka_unit_test(test_long_texts_lose_nothing_but_tags),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
