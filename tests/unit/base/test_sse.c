/* SPDX-License-Identifier: MIT */
#include "base/formats/sse.h"

#include "tests/unit/base/support.h"

static void collect(void *payload, const char *event, const char *data, size_t len)
{
	struct kgb_buf *out = payload;

	assert_int_equal(data[len], '\0');
	kgb_buf_addf(out, "[%s|", event);
	kgb_buf_add(out, data, len);
	kgb_buf_addc(out, ']');
}

/* "\n" in `text` is replaced by each kind of line end. */
static const struct {
	const char *text;
	const char *expected;
	int64_t n_events, n_dropped;
} cases[] = {
	{"", "", 0, 0},
	{"data: x\n\n", "[message|x]", 1, 0},
	{"data:x\n\n", "[message|x]", 1, 0},
	{"data:  x\n\n", "[message| x]", 1, 0},
	{"data: a\ndata: b\n\n", "[message|a\nb]", 1, 0},
	{"data\n\n", "[message|]", 1, 0},
	{"data\ndata\n\n", "[message|\n]", 1, 0},
	{"event: e\ndata: x\n\ndata: y\n\n", "[e|x][message|y]", 2, 0},
	{"event: e\n\ndata: x\n\n", "[message|x]", 1, 0},
	{"event: a\nevent: b\ndata: x\n\n", "[b|x]", 1, 0},
	{": comment\ndata: x\n:\n\n", "[message|x]", 1, 0},
	{"id: 7\nretry: 10\nother: y\ndata: x\n\n", "[message|x]", 1, 0},
	{"\n\n\ndata: x\n\n\n", "[message|x]", 1, 0},
	{"data: a:b\n\n", "[message|a:b]", 1, 0},
	{"Data: x\n\n", "", 0, 0},
	{" data: x\n\n", "", 0, 0},
	{"dataa: x\n\n", "", 0, 0},
	{"\xef\xbb\xbf"
	 "data: x\n\n",
	 "[message|x]", 1, 0},
	{"\xef\xbb\xbf\xef\xbb\xbf"
	 "data: x\n\n",
	 "", 0, 0},
	{"data: a\n\n\xef\xbb\xbf"
	 "data: b\n\n",
	 "[message|a]", 1, 0},
	{"data: unfinished\n", "", 0, 0},
	{"data: unfinished", "", 0, 0},
	/* The cap of these tests is 32 bytes for a line and for an event's data. */
	{"data: 12345678901234567890123456\n\n", "[message|12345678901234567890123456]", 1, 0},
	{"data: 123456789012345678901234567\n\ndata: ok\n\n", "[message|ok]", 1, 1},
	{"data: 123456789012345\ndata: 1234567890123456\n\ndata: ok\n\n", "[message|ok]", 1, 1},
	{"data: 123456789012345\ndata: 123456789012345\n\n",
	 "[message|123456789012345\n123456789012345]", 1, 0},
	{": 12345678901234567890123456789012345678901234567890\ndata: x\n\ndata: y\n\n",
	 "[message|y]", 1, 1},
};

static void replace_line_ends(const char *text, const char *line_end, struct kgb_buf *out)
{
	for (; *text; text++) {
		if (*text == '\n')
			kgb_buf_adds(out, line_end);
		else
			kgb_buf_addc(out, *text);
	}
}

static void feed_case(size_t i, const char *line_end, size_t first, size_t chunk)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	struct kgb_sse sse;

	replace_line_ends(cases[i].text, line_end, &text);
	kgb_sse_init(&sse, 32);
	for (size_t at = 0; at < text.len;) {
		size_t n = at == 0 && first ? first : chunk;
		n = n < text.len - at ? n : text.len - at;
		kgb_sse_feed(&sse, text.ptr + at, n, collect, &got);
		at += n;
	}
	if (strcmp(got.ptr, cases[i].expected) != 0)
		fail_msg("case %zu: got '%s'", i, got.ptr);
	assert_true(sse.n_events == cases[i].n_events);
	assert_true(sse.n_dropped == cases[i].n_dropped);
	kgb_sse_release(&sse);
}

static void test_all_line_ends_split_at_every_byte(void **state)
{
	static const char *const line_ends[] = {"\n", "\r", "\r\n"};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		for (size_t e = 0; e < KGB_ARRAY_LEN(line_ends); e++) {
			feed_case(i, line_ends[e], 0, 1);
			for (size_t first = 1; first <= 2 * strlen(cases[i].text); first++)
				feed_case(i, line_ends[e], first, SIZE_MAX);
		}
	}
}

static void test_line_ends_may_be_mixed(void **state)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	const char *text = "data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r";
	struct kgb_sse sse;

	(void)state;
	kgb_sse_init(&sse, 100);
	kgb_sse_feed(&sse, text, strlen(text), collect, &got);
	assert_string_equal(got.ptr, "[message|a\nb\nc][message|d]");
	kgb_sse_release(&sse);
}

static void test_data_may_hold_nul_bytes(void **state)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	struct kgb_sse sse;

	(void)state;
	kgb_sse_init(&sse, 100);
	kgb_sse_feed(&sse, "data: a\0b\n\n", 11, collect, &got);
	assert_int_equal(got.len, 13);
	assert_memory_equal(got.ptr, "[message|a\0b]", 13);
	kgb_sse_release(&sse);
}

static void test_an_event_name_with_a_nul_byte_is_ignored(void **state)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	struct kgb_sse sse;

	(void)state;
	kgb_sse_init(&sse, 100);
	kgb_sse_feed(&sse, "event: \0x\ndata: y\n\n", 19, collect, &got);
	assert_string_equal(got.ptr, "[message|y]");
	kgb_sse_release(&sse);
}

static void test_memory_is_bounded(void **state)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	struct kgb_sse sse;

	(void)state;
	kgb_sse_init(&sse, 1000);
	for (int i = 0; i < 10000; i++)
		kgb_sse_feed(&sse, "data: 0123456789", 16, collect, &got);
	for (int i = 0; i < 10000; i++)
		kgb_sse_feed(&sse, "\ndata: 0123456789\nevent: e", 26, collect, &got);
	kgb_sse_feed(&sse, "\n\n", 2, collect, &got);
	assert_true(sse.line.cap <= 1001 && sse.data.cap <= 1001 && sse.event.cap <= 1001);
	assert_true(sse.n_dropped == 1 && sse.n_events == 0);
	kgb_sse_release(&sse);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_line_ends_split_at_every_byte),
		cmocka_unit_test(test_line_ends_may_be_mixed),
		cmocka_unit_test(test_data_may_hold_nul_bytes),
		cmocka_unit_test(test_an_event_name_with_a_nul_byte_is_ignored),
		cmocka_unit_test(test_memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
