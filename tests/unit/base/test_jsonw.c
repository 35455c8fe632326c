/* SPDX-License-Identifier: MIT */
#include "base/formats/jsonw.h"

#include <limits.h>
#include <math.h>

#include "base/formats/json.h"
#include "tests/unit/base/support.h"

static void write_sample(struct kgb_jsonw *w)
{
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "s", "a\"b\\c\n\x01\x1f/\xe2\x82\xac");
	kgb_jsonw_kstr(w, "null", NULL);
	kgb_jsonw_ki64(w, "min", INT64_MIN);
	kgb_jsonw_ki64(w, "max", INT64_MAX);
	kgb_jsonw_knum(w, "num", 0.1);
	kgb_jsonw_knum(w, "nan", (double)NAN);
	kgb_jsonw_knum(w, "inf", -(double)INFINITY);
	kgb_jsonw_kbool(w, "yes", true);
	kgb_jsonw_kbool(w, "no", false);
	kgb_jsonw_knull(w, "none");
	kgb_jsonw_kcount(w, "unknown", -1);
	kgb_jsonw_kcount(w, "zero", 0);
	kgb_jsonw_key(w, "list");
	kgb_jsonw_array(w);
	kgb_jsonw_i64(w, 1);
	kgb_jsonw_array(w);
	kgb_jsonw_array_end(w);
	kgb_jsonw_object(w);
	kgb_jsonw_object_end(w);
	kgb_jsonw_raw(w, "[1,2]");
	kgb_jsonw_array_end(w);
	kgb_jsonw_object_end(w);
}

static void test_compact_form(void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_jsonw w;

	(void)state;
	kgb_jsonw_init(&w, &out, 0);
	write_sample(&w);
	assert_string_equal(out.ptr,
			    "{\"s\":\"a\\\"b\\\\c\\n\\u0001\\u001f/\xe2\x82\xac\",\"null\":null,"
			    "\"min\":-9223372036854775808,\"max\":9223372036854775807,\"num\":0.1,"
			    "\"nan\":null,\"inf\":null,\"yes\":true,\"no\":false,\"none\":null,"
			    "\"unknown\":null,\"zero\":0,\"list\":[1,[],{},[1,2]]}");
}

static void test_indented_form(void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_jsonw w;

	(void)state;
	kgb_jsonw_init(&w, &out, 2);
	kgb_jsonw_object(&w);
	kgb_jsonw_ki64(&w, "a", 1);
	kgb_jsonw_key(&w, "b");
	kgb_jsonw_array(&w);
	kgb_jsonw_bool(&w, true);
	kgb_jsonw_null(&w);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_key(&w, "c");
	kgb_jsonw_object(&w);
	kgb_jsonw_object_end(&w);
	kgb_jsonw_object_end(&w);
	assert_string_equal(out.ptr, "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null\n  ],\n"
				     "  \"c\": {}\n}");
}

static void test_strings_are_repaired_and_read_back(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	for (int c = 1; c < 256; c++) {
		const char s[3] = {'x', (char)c, '\0'};
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		KGB_AUTO(json) cJSON *json = NULL;
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &out, 0);
		kgb_jsonw_str(&w, s);
		assert_ok(kgb_json_parse(out.ptr, out.len, &json, &err), err);
		assert_string_equal(json->valuestring, c < 128 ? s : "x\xef\xbf\xbd");
	}
}

static void test_what_drives_a_terminal_is_escaped(void **state)
{
	/* C1, direction marks, separators; then characters that begin like them. */
	static const char text[] =
		"\x7f\xc2\x80\xc2\x9b\xd8\x9c\xe2\x80\x8e\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6"
		"\xc2\xa0\xd8\xa7\xe2\x80\xa6\xe2\x82\xac";
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_jsonw w;

	(void)state;
	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_str(&w, text);
	assert_string_equal(out.ptr, "\"\\u007f\\u0080\\u009b\\u061c\\u200e\\u2028\\u202e\\u2066"
				     "\xc2\xa0\xd8\xa7\xe2\x80\xa6\xe2\x82\xac\"");
	assert_ok(kgb_json_parse(out.ptr, out.len, &json, &err), err);
	assert_string_equal(json->valuestring, text);
}

static void test_a_nul_byte_in_a_counted_string_is_escaped(void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_jsonw w;

	(void)state;
	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_strn(&w, "a\0b", 3);
	assert_string_equal(out.ptr, "\"a\\u0000b\"");
}

static void test_numbers_read_back_equal(void **state)
{
	static const double values[] = {0,
					-0.0,
					1e15,
					123456789012345680.0,
					0.1,
					1.0 / 3,
					5e-324,
					1.7976931348623157e308,
					-2.2250738585072014e-308,
					9007199254740993.0};
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(values); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		KGB_AUTO(json) cJSON *json = NULL;
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &out, 0);
		kgb_jsonw_num(&w, values[i]);
		assert_ok(kgb_json_parse(out.ptr, out.len, &json, &err), err);
		assert_memory_equal(&json->valuedouble, &values[i], sizeof(double));
	}
}

static void test_trees_are_written_as_they_were(void **state)
{
	const char *text = "{\"a\":[1,2.5,\"x\\n\",true,false,null,{}],\"b\":{\"c\":[]}}";
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;
	struct kgb_jsonw w;

	(void)state;
	assert_ok(kgb_json_parse(text, strlen(text), &json, &err), err);
	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_tree(&w, json);
	assert_string_equal(out.ptr, text);
	kgb_buf_clear(&out);
	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_tree(&w, NULL);
	assert_string_equal(out.ptr, "null");
}

static void test_the_text_of_a_number_is_used_only_if_it_is_one(void **state)
{
	char exact[] = "9007199254740993", other[] = "1]";
	cJSON number = {.type = cJSON_Number, .valuedouble = 1, .valuestring = exact};
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_jsonw w;

	(void)state;
	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_array(&w);
	kgb_jsonw_tree(&w, &number);
	number.valuestring = other;
	kgb_jsonw_tree(&w, &number);
	kgb_jsonw_array_end(&w);
	assert_string_equal(out.ptr, "[9007199254740993,1]");
}

/* A hostile document of the greatest accepted depth may be embedded in ours. */
static void test_the_deepest_accepted_tree_fits(void **state)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_jsonw w;

	(void)state;
	for (int i = 0; i < 64; i++)
		kgb_buf_adds(&text, i % 2 ? "{\"k\":" : "[");
	kgb_buf_addc(&text, '0');
	for (int i = 64; i-- > 0;)
		kgb_buf_addc(&text, i % 2 ? '}' : ']');
	assert_ok(kgb_json_parse(text.ptr, text.len, &json, &err), err);
	kgb_jsonw_init(&w, &out, 0);
	for (int i = 0; i < 10; i++)
		kgb_jsonw_array(&w);
	kgb_jsonw_tree(&w, json);
	for (int i = 0; i < 10; i++)
		kgb_jsonw_array_end(&w);
	KGB_AUTO(free) char *expected = kgb_xasprintf("[[[[[[[[[[%s]]]]]]]]]]", text.ptr);
	assert_string_equal(out.ptr, expected);
}

static void value_without_key(void *payload)
{
	kgb_jsonw_object(payload);
	kgb_jsonw_i64(payload, 1);
}

static void key_in_array(void *payload)
{
	kgb_jsonw_array(payload);
	kgb_jsonw_key(payload, "a");
}

static void key_after_key(void *payload)
{
	kgb_jsonw_object(payload);
	kgb_jsonw_key(payload, "a");
	kgb_jsonw_key(payload, "b");
}

static void end_after_key(void *payload)
{
	kgb_jsonw_object(payload);
	kgb_jsonw_key(payload, "a");
	kgb_jsonw_object_end(payload);
}

static void wrong_end(void *payload)
{
	kgb_jsonw_object(payload);
	kgb_jsonw_array_end(payload);
}

static void end_at_root(void *payload)
{
	kgb_jsonw_object_end(payload);
}

static void two_roots(void *payload)
{
	kgb_jsonw_null(payload);
	kgb_jsonw_null(payload);
}

static void too_deep(void *payload)
{
	for (int i = 0; i < KGB_JSONW_DEPTH; i++)
		kgb_jsonw_array(payload);
}

static void test_misuse_aborts(void **state)
{
	static void (*const cases[])(void *) = {value_without_key, key_in_array, key_after_key,
						end_after_key,     wrong_end,    end_at_root,
						two_roots,         too_deep};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &out, 0);
		assert_aborts(cases[i], &w);
	}
}

static void test_a_full_buffer_is_reported(void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(20);
	struct kgb_jsonw w;

	(void)state;
	kgb_jsonw_init(&w, &out, 0);
	write_sample(&w);
	assert_true(out.overflowed);
	assert_true(out.len <= 20);
}

static void test_templates(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const char *volatile nothing = NULL; /* the compiler warns of a NULL that it follows */
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_put(&w, "{op: 'a, b', s: %s, none: %s, list: [%d, %u, %ld, %lld, %zu, %g, ",
		      "x\"y", nothing, INT_MIN, UINT_MAX, LONG_MIN, LLONG_MAX, (size_t)7, 0.5);
	kgb_jsonw_put(&w, "%hhd,%hhd, null,true, {}, {a.b-c: {}}, -1.5", (bool)true, (bool)false);
	kgb_jsonw_put(&w, "], counts: [%+d, %+ld, %+ld], last: %d}", -1, -2L, 3L, 1);
	assert_string_equal(
		out.ptr,
		"{\"op\":\"a, b\",\"s\":\"x\\\"y\",\"none\":null,\"list\":[-2147483648,"
		"4294967295,-9223372036854775808,9223372036854775807,7,0.5,true,false,null,"
		"true,{},{\"a.b-c\":{}},-1.5],\"counts\":[null,null,3],\"last\":1}");
}

static void put_template(void *payload)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, &out, 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
	kgb_jsonw_put(&w, payload, 1);
#pragma GCC diagnostic pop
}

static void test_wrong_templates_abort(KGB_UNUSED void **state)
{
	static char wrong[][16] = {"{x: maybe}", "{'x", "{: 1}", "{%d: 1}", "[%c]", "{x: %d, %d}"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(wrong); i++)
		assert_aborts(put_template, wrong[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compact_form),
		cmocka_unit_test(test_indented_form),
		cmocka_unit_test(test_strings_are_repaired_and_read_back),
		cmocka_unit_test(test_what_drives_a_terminal_is_escaped),
		cmocka_unit_test(test_a_nul_byte_in_a_counted_string_is_escaped),
		cmocka_unit_test(test_numbers_read_back_equal),
		cmocka_unit_test(test_trees_are_written_as_they_were),
		cmocka_unit_test(test_the_text_of_a_number_is_used_only_if_it_is_one),
		cmocka_unit_test(test_the_deepest_accepted_tree_fits),
		cmocka_unit_test(test_misuse_aborts),
		cmocka_unit_test(test_templates),
		cmocka_unit_test(test_wrong_templates_abort),
		cmocka_unit_test(test_a_full_buffer_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
