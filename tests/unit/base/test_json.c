/* SPDX-License-Identifier: MIT */
#include "base/formats/json.h"

#include <math.h>
#include <time.h>

#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "tests/unit/base/support.h"

static void test_documents_that_are_accepted(void **state)
{
	static const char *const cases[] = {
		"null",
		" \t\r\n true \n",
		"[]",
		"{}",
		"[1,-0,0.5,1e5,1E-5,-1.25e+3]",
		"{\"a\":{\"b\":[1,{\"c\":null}]},\"d\":\"x\"}",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
		"\"\xf0\x9f\x98\x80 \x7f\"",
		"{\"a\":1,\"A\":2,\"\":3}",
		"123456789012345678901234567890123456789012345678901234567890123",
		"1e-999",
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(json) cJSON *json = NULL;
		assert_ok(kgb_json_parse(cases[i], strlen(cases[i]), &json, &err), err);
		assert_non_null(json);
	}
}

#define NOT_A_VALUE \
	"not a value: null, true, false, a number, a string, a list or an object is expected"

static void test_documents_that_are_refused(void **state)
{
	static const struct {
		const char *text, *msg;
	} cases[] = {
		{"", "1:1: unexpected end of the text"},
		{"  \n ", "2:2: unexpected end of the text"},
		{"nul", "1:1: " NOT_A_VALUE},
		{"True", "1:1: " NOT_A_VALUE},
		{"NaN", "1:1: " NOT_A_VALUE},
		{"Infinity", "1:1: " NOT_A_VALUE},
		{"'a'", "1:1: " NOT_A_VALUE},
		{"\xef\xbb\xbf{}", "1:1: " NOT_A_VALUE},
		{"[1,]", "1:4: " NOT_A_VALUE},
		{"[,1]", "1:2: " NOT_A_VALUE},
		{"// x\n1", "1:1: " NOT_A_VALUE},
		{"+1", "1:1: " NOT_A_VALUE},
		{".5", "1:1: " NOT_A_VALUE},
		{"[", "1:2: unexpected end of the text"},
		{"[1", "1:3: ',' or ']' is expected"},
		{"[1 2]", "1:4: ',' or ']' is expected"},
		{"[1}", "1:3: ',' or ']' is expected"},
		{"{\"a\":1", "1:7: ',' or '}' is expected"},
		{"{\"a\":1]", "1:7: ',' or '}' is expected"},
		{"{\"a\":1,}", "1:8: a key in double quotes is expected"},
		{"{a:1}", "1:2: a key in double quotes is expected"},
		{"{1:1}", "1:2: a key in double quotes is expected"},
		{"{\"a\"}", "1:5: ':' is expected"},
		{"{\"a\" 1}", "1:6: ':' is expected"},
		{"{\"a\":}", "1:6: " NOT_A_VALUE},
		{"01", "1:1: malformed number"},
		{"-01", "1:1: malformed number"},
		{"-", "1:1: malformed number"},
		{"[1.]", "1:2: malformed number"},
		{"[1e]", "1:2: malformed number"},
		{"[1e+]", "1:2: malformed number"},
		{"[0x10]", "1:3: ',' or ']' is expected"},
		{"1e999", "1:1: number is out of range"},
		{"-1e999", "1:1: number is out of range"},
		{"1 2", "1:3: text behind the end of the document"},
		{"{} x", "1:4: text behind the end of the document"},
		{"null\n\n]", "3:1: text behind the end of the document"},
		{"\"abc", "1:1: string is not closed"},
		{"[\n \"abc]", "2:2: string is not closed"},
		{"\"a\\", "1:4: string is not closed"},
		{"\"a\nb\"", "1:3: control character in string: write it as an escape"},
		{"\"\x1f\"", "1:2: control character in string: write it as an escape"},
		{"\"\\x41\"", "1:3: unknown escape in string"},
		{"\"\\u12\"", "1:6: \\u needs four hexadecimal digits"},
		{"\"\\u12g4\"", "1:6: \\u needs four hexadecimal digits"},
		{"\"a\\u0000\"", "1:3: \\u0000 is not accepted"},
		{"{\"\\u0000\":1}", "1:3: \\u0000 is not accepted"},
		{"\"\\ud800\"", "1:2: unpaired surrogate in \\u escape"},
		{"\"\\udc00\"", "1:2: unpaired surrogate in \\u escape"},
		{"\"\\ud800\\u0041\"", "1:2: unpaired surrogate in \\u escape"},
		{"\"\\udc00\\udc00\"", "1:2: unpaired surrogate in \\u escape"},
		{"\"\\ud800\\ud800\"", "1:2: unpaired surrogate in \\u escape"},
		{"\"\\ud800x\"", "1:2: unpaired surrogate in \\u escape"},
		{"[\"\xe2\x82\xac\", \"\xff\"]", "1:8: invalid UTF-8"},
		{"\"\xc0\x80\"", "1:2: invalid UTF-8"},
		{"\"\xed\xa0\x80\"", "1:2: invalid UTF-8"},
		{"{\"a\":1,\"a\":2}", "1:8: duplicate key 'a'"},
		{"{\"a\":1,\"\\u0061\":2}", "1:8: duplicate key 'a'"},
		{"{\"x\":[1,{\"k\":0}],\n\"y\":{\"q\":1,\"r\":2,\n  \"q\":{}}}",
		 "3:3: duplicate key 'q'"},
		{"[{\"a\":1},{\"a\":1},{\"b\":1,\"b\":1}]", "1:25: duplicate key 'b'"},
		{"{\"c\":1,\"b\":1,\"a\":1,\"b\":2,\"c\":2}", "1:20: duplicate key 'b'"},
		{"{\"a\":{\"x\":1,\"x\":2},\"a\":2}", "1:13: duplicate key 'x'"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		cJSON *json = NULL;
		assert_fails(kgb_json_parse(cases[i].text, strlen(cases[i].text), &json, &err), err,
			     cases[i].msg);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_int_equal(err.domain, KGB_ERR_DOMAIN_JSON);
		assert_null(json);
	}
}

static void test_a_nul_byte_is_no_end(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	cJSON *json = NULL;

	(void)state;
	assert_fails(kgb_json_parse("1\0002", 3, &json, &err), err,
		     "1:2: text behind the end of the document");
	assert_fails(kgb_json_parse("\"a\0b\"", 5, &json, &err), err,
		     "1:3: control character in string: write it as an escape");
}

static void test_length_bounds_the_text(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *json = NULL;

	(void)state;
	assert_ok(kgb_json_parse("123456", 3, &json, &err), err);
	assert_true(json->valuedouble == 123);
}

static void nest(struct kgb_buf *out, int levels)
{
	for (int i = 0; i < levels; i++)
		kgb_buf_adds(out, i % 2 ? "[" : "{\"a\":");
	kgb_buf_addc(out, '1');
	for (int i = levels; i-- > 0;)
		kgb_buf_addc(out, i % 2 ? ']' : '}');
}

static void test_depth_is_capped(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf good = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf bad = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;
	cJSON *none = NULL;

	(void)state;
	nest(&good, KGB_LIMIT_JSON_DEPTH);
	nest(&bad, KGB_LIMIT_JSON_DEPTH + 1);
	assert_ok(kgb_json_parse(good.ptr, good.len, &json, &err), err);
	assert_fails(kgb_json_parse(bad.ptr, bad.len, &none, &err), err,
		     "1:193: nested too deeply");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
}

static void test_depth_counts_levels_not_containers(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;

	(void)state;
	kgb_buf_addc(&text, '[');
	for (int i = 0; i < 200; i++)
		kgb_buf_adds(&text, "[],{},[1],{\"a\":[]},");
	kgb_buf_adds(&text, "0]");
	assert_ok(kgb_json_parse(text.ptr, text.len, &json, &err), err);
}

static void test_long_numbers_and_large_documents_are_capped(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	cJSON *json = NULL;

	(void)state;
	kgb_buf_addf(&text, "[%0*d]", 64, 1);
	text.ptr[1] = '1';
	assert_fails(kgb_json_parse(text.ptr, text.len, &json, &err), err,
		     "1:2: number has more than 63 characters");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	assert_fails(kgb_json_parse("", (size_t)KGB_LIMIT_JSON + 1, &json, &err), err,
		     "JSON document is larger than 67108864 bytes");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
}

static void test_the_number_of_values_is_capped(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	cJSON *json = NULL;

	(void)state;
	kgb_buf_addc(&text, '[');
	for (unsigned i = 0; i < KGB_LIMIT_JSON_NODES; i++)
		kgb_buf_adds(&text, "1,");
	kgb_buf_adds(&text, "1]");
	assert_int_equal(kgb_json_parse(text.ptr, text.len, &json, &err), -1);
	assert_contains(err.msg, "document has too many values");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
}

static void test_the_first_of_several_duplicates_is_named(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	cJSON *none = NULL;

	/* Few keys and many are searched in different ways; the order of names must not matter. */
	(void)state;
	for (int i = 0; i < 200; i++) {
		const char *first = i % 2 ? "z" : "a", *second = i % 2 ? "a" : "z";
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_buf_addf(&text, "{\"%s\":0,\"%s\":0", first, second);
		for (int k = 0; k < i / 2; k++)
			kgb_buf_addf(&text, ",\"k%d\":0", k);
		kgb_buf_addf(&text, ",\"%s\":0,\"%s\":0}", first, second);
		assert_int_equal(kgb_json_parse(text.ptr, text.len, &none, &err), -1);
		KGB_AUTO(free) char *expected = kgb_xasprintf("duplicate key '%s'", first);
		assert_contains(err.msg, expected);
	}
}

static void test_duplicates_are_found_fast_in_large_objects(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;
	cJSON *none = NULL;

	(void)state;
	kgb_buf_addc(&text, '{');
	for (int i = 0; i < 200000; i++)
		kgb_buf_addf(&text, "\"%d\":0,", (i * 7919) % 200003);
	size_t len = text.len;
	kgb_buf_adds(&text, "\"x\":0}");
	clock_t start = clock();
	assert_ok(kgb_json_parse(text.ptr, text.len, &json, &err), err);
	/* Of processor time; quadratic would be minutes. */
	assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
	kgb_buf_truncate(&text, len);
	kgb_buf_adds(&text, "\"7919\":0}");
	assert_int_equal(kgb_json_parse(text.ptr, text.len, &none, &err), -1);
	assert_contains(err.msg, "duplicate key '7919'");
}

static void test_accessors(void **state)
{
	const char *text = "{\"s\":\"text\",\"n\":1.5,\"i\":42,\"t\":true,\"z\":null,\"big\":"
			   "9007199254740992,\"huge\":9007199254740994,\"neg\":-3,"
			   "\"o\":{\"p\":{\"q\":\"deep\"}},\"a\":[10,{\"b\":\"x\"}],\"\":{\"\":7}}";
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *json = NULL;

	(void)state;
	assert_ok(kgb_json_parse(text, strlen(text), &json, &err), err);
	assert_string_equal(kgb_json_str(json, "s", "fb"), "text");
	assert_string_equal(kgb_json_str(json, "n", "fb"), "fb");
	assert_string_equal(kgb_json_str(json, "none", "fb"), "fb");
	assert_null(kgb_json_str(json, "z", NULL));
	assert_string_equal(kgb_json_str(json, "o.p.q", "fb"), "deep");
	assert_string_equal(kgb_json_str(json, "o.p", "fb"), "fb");
	assert_string_equal(kgb_json_str(json, "o.p.q.r", "fb"), "fb");
	assert_string_equal(kgb_json_str(json, "a.1.b", "fb"), "x");
	assert_string_equal(kgb_json_str(NULL, "s", "fb"), "fb");
	assert_true(kgb_json_i64(json, "a.0", -1) == 10);
	assert_true(kgb_json_i64(json, "a.2", -1) == -1);
	assert_true(kgb_json_i64(json, "a.x", -1) == -1);
	assert_true(kgb_json_i64(json, "a.", -1) == -1);
	assert_true(kgb_json_i64(json, "a.9999999999999999999", -1) == -1);
	assert_true(kgb_json_i64(json, "i", -1) == 42);
	assert_true(kgb_json_i64(json, "neg", 0) == -3);
	assert_true(kgb_json_i64(json, "n", -1) == -1);
	assert_true(kgb_json_i64(json, "s", -1) == -1);
	assert_true(kgb_json_i64(json, "big", -1) == INT64_C(9007199254740992));
	assert_true(kgb_json_i64(json, "huge", -1) == -1);
	assert_true(kgb_json_num(json, "n", 0) == 1.5);
	assert_true(isnan(kgb_json_num(json, "s", (double)NAN)));
	assert_true(kgb_json_bool(json, "t", false));
	assert_true(kgb_json_bool(json, "z", true));
	assert_false(kgb_json_bool(json, "i", false));
	assert_ptr_equal(kgb_json_get(json, ""), json);
	assert_null(kgb_json_get(json, "S"));
	assert_null(kgb_json_get(json, "o.p.q.r.s"));
}

static void test_shortest_numbers(void **state)
{
	static const struct {
		double value;
		const char *expected;
	} cases[] = {
		{0.1, "0.1"},
		{1.0 / 3.0, "0.3333333333333333"},
		{5e-324, "4.94065645841247e-324"},
		{1.7976931348623157e308, "1.7976931348623157e+308"},
		{100, "100"},
		{1e21, "1e+21"},
		{0.30000000000000004, "0.30000000000000004"},
		{-0.0, "-0"},
	};
	char out[KGB_JSON_NUM_LEN];

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		kgb_json_format_num(cases[i].value, out);
		assert_string_equal(out, cases[i].expected);
		assert_true(kgb_json_is_number(out, strlen(out)));
	}
}

static void test_number_grammar(void **state)
{
	static const char *const numbers[] = {"0", "-0", "10", "1.0", "1e5", "1E+5", "-1.5e-7"};
	static const char *const others[] = {"",    "-",   "01", "1.", ".5", "+1",    "1e",
					     "0x1", "inf", "1 ", " 1", "1a", "1.5.2", "1e5e"};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(numbers); i++)
		assert_true(kgb_json_is_number(numbers[i], strlen(numbers[i])));
	for (size_t i = 0; i < KGB_ARRAY_LEN(others); i++)
		assert_false(kgb_json_is_number(others[i], strlen(others[i])));
}

static void test_a_copy_lives_in_its_arena(void **state)
{
	static const char text[] = "{\"a\":{\"b\":[1,\"x\",null,{\"c\":0.5}],\"d\":true},\"e\":{}}";
	struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_jsonw w;
	cJSON *json = NULL;

	(void)state;
	assert_ok(kgb_json_parse(text, sizeof(text) - 1, &json, &err), err);
	const cJSON *copy = kgb_json_copy(&arena, json);
	cJSON_Delete(json);
	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_tree(&w, copy);
	assert_string_equal(out.ptr, text);
	kgb_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents_that_are_accepted),
		cmocka_unit_test(test_documents_that_are_refused),
		cmocka_unit_test(test_a_copy_lives_in_its_arena),
		cmocka_unit_test(test_a_nul_byte_is_no_end),
		cmocka_unit_test(test_length_bounds_the_text),
		cmocka_unit_test(test_depth_is_capped),
		cmocka_unit_test(test_depth_counts_levels_not_containers),
		cmocka_unit_test(test_long_numbers_and_large_documents_are_capped),
		cmocka_unit_test(test_the_number_of_values_is_capped),
		cmocka_unit_test(test_the_first_of_several_duplicates_is_named),
		cmocka_unit_test(test_duplicates_are_found_fast_in_large_objects),
		cmocka_unit_test(test_accessors),
		cmocka_unit_test(test_shortest_numbers),
		cmocka_unit_test(test_number_grammar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
