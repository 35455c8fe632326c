/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include "sandbox/request/http.h"
#include "sandbox/request/scrub.h"

static void test_errors_have_the_form_of_the_protocol(void **state)
{
	(void)state;
	static const struct {
		enum kgb_protocol protocol;
		int status;
		const char *body;
	} cases[] = {
		{KGB_PROTOCOL_ANTHROPIC, 401,
		 "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"say \\\"who\\\"\"}}"},
		{KGB_PROTOCOL_CHAT, 402,
		 "{\"error\":{\"type\":\"insufficient_quota\",\"message\":\"say \\\"who\\\"\",\"param\":null,\"code\":null}}"},
		{KGB_PROTOCOL_RESPONSES, 502,
		 "{\"error\":{\"type\":\"server_error\",\"message\":\"say \\\"who\\\"\",\"param\":null,\"code\":null}}"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_http_error_body(&out, cases[i].protocol, cases[i].status, "say \"who\"");
		assert_string_equal(out.ptr, cases[i].body);
	}
}

/* ---- scrub ---- */

static char *scrub(const char *a, const char *b, const char *text, size_t piece)
{
	struct kgb_scrub scrub;
	struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_scrub_init(&scrub);
	kgb_scrub_add(&scrub, a);
	kgb_scrub_add(&scrub, b);
	size_t len = strlen(text);
	for (size_t at = 0; at < len; at += piece)
		kgb_scrub_feed(&scrub, text + at, len - at < piece ? len - at : piece, &out);
	kgb_scrub_finish(&scrub, &out);
	kgb_scrub_release(&scrub);
	return kgb_buf_take(&out);
}

static void test_secrets_are_taken_out_however_the_stream_is_cut(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b, *text, *want;
	} cases[] = {
		{"secret-one", "tok-second", "x secret-one y tok-second z",
		 "x <removed> y <removed> z"},
		{"secret-one", NULL, "secret-onesecret-one", "<removed><removed>"},
		{"secret-one", NULL, "secret-on secret-secret-one", "secret-on secret-<removed>"},
		{"aaaaaaab", NULL, "aaaaaaaaaab", "aaa<removed>"},
		{"abcabcabd", NULL, "abcabcabcabd", "abc<removed>"},
		{"12345678", "123456789", "123456789 12345678x", "<removed>9 <removed>x"},
		{"12345678", "87654321", "1234567 8765432", "1234567 8765432"},
		{"short", NULL, "short stays", "short stays"},
		{NULL, NULL, "nothing to hide", "nothing to hide"},
		{"secret-one", NULL, "", ""},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		for (size_t piece = 1; piece < 12; piece++) {
			KGB_AUTO(free)
			char *got = scrub(cases[i].a, cases[i].b, cases[i].text, piece);
			assert_string_equal(got, cases[i].want);
		}
	}
}

static void test_bytes_that_start_no_secret_are_not_held_back(void **state)
{
	(void)state;
	struct kgb_scrub scrub;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_scrub_init(&scrub);
	kgb_scrub_add(&scrub, "sk-secret");
	static const char event[] = "data: tasks-s\n\n";
	kgb_scrub_feed(&scrub, event, strlen(event), &out);
	assert_string_equal(out.ptr, event);
	kgb_scrub_feed(&scrub, "sk-s", 4, &out);
	assert_string_equal(out.ptr, event);
	static const char zeros[] = {'s', 0, 's', 'k', 0};
	kgb_scrub_feed(&scrub, zeros, sizeof(zeros), &out);
	assert_int_equal(out.len, strlen(event) + 4 + sizeof(zeros));
	kgb_scrub_release(&scrub);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_have_the_form_of_the_protocol),
		cmocka_unit_test(test_secrets_are_taken_out_however_the_stream_is_cut),
		cmocka_unit_test(test_bytes_that_start_no_secret_are_not_held_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
