/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "tests/unit/base/support.h"

static void test_comparisons(void **state)
{
	(void)state;
	assert_true(kgb_str_eq(NULL, NULL));
	assert_false(kgb_str_eq(NULL, ""));
	assert_false(kgb_str_eq("", NULL));
	assert_true(kgb_str_eq("a", "a"));
	assert_false(kgb_str_eq("a", "b"));
	assert_true(kgb_str_starts("abc", "ab"));
	assert_true(kgb_str_starts("abc", ""));
	assert_false(kgb_str_starts("ab", "abc"));
	assert_true(kgb_str_ends("abc", "bc"));
	assert_true(kgb_str_ends("abc", ""));
	assert_false(kgb_str_ends("bc", "abc"));
	static const char *const words[] = {"ab", "c", NULL};
	assert_true(kgb_str_is_one_of("c", words));
	assert_false(kgb_str_is_one_of("a", words));
	assert_false(kgb_str_is_one_of(NULL, words));
}

static void test_nearest_names(void **state)
{
	static const char *const names[] = {"add",   "silu", "softmax",  "log_softmax", "mm",
					    "addmm", "bmm",  "rms_norm", "normal_cc",   "naive_cc"};
	static const struct {
		const char *word, *expected;
	} cases[] = {
		{"sofmax", "softmax"}, /* a letter is missing */
		{"softmaxx", "softmax"}, /* one too many */
		{"sliu", "silu"}, /* two swapped in a short word */
		{"sotfmax", "softmax"}, /* two swapped */
		{"SOFTMAX", "softmax log_softmax"}, /* case */
		{"normal-cc", "normal_cc"}, /* another separator */
		{"rms", "rms_norm"}, /* the beginning */
		{"norm", "normal_cc rms_norm"}, /* beginning before middle */
		{"softmax", "softmax log_softmax"},
		{"ad", "add addmm"},
		{"mm", "mm bmm"},
		{"naiv_cc", "naive_cc"},
		{"add_tensor", "add"}, /* a name is the beginning of the word */
		{"convolution", ""},
		{"", ""},
		{"x", ""},
		{"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const char *near[3];
		KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
		size_t n = kgb_nearest(cases[i].word, names, KGB_ARRAY_LEN(names), near, 3);
		assert_true(n <= 3);
		for (size_t k = 0; k < n; k++)
			kgb_buf_addf(&got, "%s%s", k ? " " : "", near[k]);
		if (strcmp(got.ptr, cases[i].expected) != 0)
			fail_msg("nearest to '%s': '%s', expected '%s'", cases[i].word, got.ptr,
				 cases[i].expected);
	}
}

static void test_nearest_keeps_the_best_when_there_is_little_room(void **state)
{
	static const char *const names[] = {"abcz", "abyz", "abcd", "abc"};
	const char *near[1];

	(void)state;
	assert_int_equal(kgb_nearest("abcd", names, 4, near, 1), 1);
	assert_string_equal(near[0], "abcd");
	assert_int_equal(kgb_nearest("abcd", names, 4, near, 0), 0);
}

static void test_suggestions_as_text(void **state)
{
	static const char *const names[] = {"wall", "wait", "warn", "walk", "other"};
	static const struct {
		const char *word;
		size_t n_names;
		const char *expected;
	} cases[] = {
		{"wal", 1, "; did you mean 'wall'?"},
		{"wal", 4, "; did you mean 'wall' or 'walk'?"},
		{"wala", 4, "; did you mean 'wall' or 'walk'?"},
		{"wa", 4, "; did you mean 'wall', 'wait' or 'warn'?"},
		{"zzz", 5, ""},
		{"wal", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_suggest(&out, cases[i].word, names, cases[i].n_names);
		assert_string_equal(out.ptr, cases[i].expected);
	}
}

static const char *lookup(const char *name, const void *payload)
{
	(void)payload;
	if (strcmp(name, "op") == 0)
		return "add";
	if (strcmp(name, "a.b_c-1") == 0)
		return "";
	if (strcmp(name, "evil") == 0)
		return "{{op}}";
	return NULL;
}

struct template_case {
	const char *tmpl, *expected, *error;
};

static void check_template(const struct template_case *c)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);

	kgb_buf_adds(&out, "kept ");
	if (c->expected) {
		assert_ok(kgb_template_render(&out, c->tmpl, lookup, NULL, &err), err);
		assert_string_equal(out.ptr + 5, c->expected);
	} else {
		assert_fails(kgb_template_render(&out, c->tmpl, lookup, NULL, &err), err, c->error);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_string_equal(out.ptr, "kept ");
	}
}

static void test_templates(void **state)
{
	static const struct template_case cases[] = {
		{"", "", NULL},
		{"plain { } }} text", "plain { } }} text", NULL},
		{"{{op}}", "add", NULL},
		{"<{{op}}|{{ op }}>", "<add|add>", NULL},
		{"{{a.b_c-1}}x", "x", NULL},
		{"a{{#op}}b{{op}}{{/op}}c", "abaddc", NULL},
		{"a{{^op}}b{{op}}{{/op}}c", "ac", NULL},
		{"a{{#a.b_c-1}}b{{/a.b_c-1}}c", "ac", NULL},
		{"a{{^ a.b_c-1 }}b{{/a.b_c-1}}c", "abc", NULL},
		{"{{#op}}\na\n{{/op}}\nb", "a\nb", NULL},
		{"{{^op}}\na\n\n{{/op}}\nb", "b", NULL},
		{"{{#op}}{{^op}}a{{#op}}b{{/op}}{{/op}}c{{/op}}", "c", NULL},
		{"a\n{{#op}}b", NULL, "template line 2: the section 'op' does not end"},
		{"{{/op}}", NULL, "template line 1: '{{/op}}' ends no section"},
		{"{{#op}}{{/a.b_c-1}}", NULL, "template line 1: '{{/a.b_c-1}}' ends no section"},
		{"{{^op}}{{nope}}{{/op}}", NULL, "template line 1: unknown placeholder '{{nope}}'"},
		{"{{#nope}}{{/nope}}", NULL, "template line 1: unknown placeholder '{{nope}}'"},
		{"{{#op}}{{#op}}{{#op}}{{#op}}{{#op}}{{#op}}{{#op}}{{#op}}{{#op}}", NULL,
		 "template line 1: more than 8 sections in each other"},
		{"{{evil}}", "{{op}}", NULL}, /* inserted text is not read again */
		{"a\nb {{opp}}", NULL, "template line 2: unknown placeholder '{{opp}}'"},
		{"{{op", NULL, "template line 1: '{{' without '}}'"},
		{"\n\n{{op}", NULL, "template line 3: '{{' without '}}'"},
		{"{{}}", NULL, "template line 1: '' is not a placeholder name"},
		{"{{o p}}", NULL, "template line 1: 'o p' is not a placeholder name"},
		{"{{{op}}}", NULL, "template line 1: '{op' is not a placeholder name"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		check_template(&cases[i]);
}

static void test_a_template_over_the_cap_leaves_nothing_behind(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(8);

	(void)state;
	assert_ok(kgb_template_render(&out, "{{op}}{{op}}", lookup, NULL, &err), err);
	kgb_buf_truncate(&out, 1);
	assert_fails(kgb_template_render(&out, "{{op}}{{op}}{{op}}", lookup, NULL, &err), err,
		     "rendered template is larger than 8 bytes");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	assert_string_equal(out.ptr, "a");
}

static void test_string_arrays(void **state)
{
	static const char *const list[] = {"x", "y", NULL};
	KGB_AUTO(strv) struct kgb_strv v = KGB_STRV_INIT;

	(void)state;
	kgb_strv_add(&v, "b");
	kgb_strv_addf(&v, "a%d", 1);
	kgb_strv_add_all(&v, list);
	kgb_strv_add_all(&v, NULL);
	assert_int_equal(v.n, 4);
	assert_null(v.items[4]);
	assert_true(kgb_strv_has(&v, "a1"));
	assert_false(kgb_strv_has(&v, "a"));
	kgb_strv_sort(&v);
	assert_string_equal(v.items[0], "a1");
	assert_string_equal(v.items[3], "y");
	for (int i = 0; i < 100; i++)
		kgb_strv_addf(&v, "%d", i);
	assert_int_equal(v.n, 104);
	assert_null(v.items[104]);
	kgb_strv_release(&v);
	assert_int_equal(v.n, 0);
	kgb_strv_sort(&v);
	assert_false(kgb_strv_has(&v, ""));
}

static void test_splitting(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"", ""},      {",", ""}, {"a", "a|"}, {"a,b", "a|b|"}, {" a b , \t,c ,", "a b|c|"},
		{",,a", "a|"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(strv) struct kgb_strv v = KGB_STRV_INIT;
		KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
		kgb_strv_split(&v, cases[i].text, ',');
		for (size_t k = 0; k < v.n; k++)
			kgb_buf_addf(&got, "%s|", v.items[k]);
		assert_string_equal(got.ptr, cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_nearest_names),
		cmocka_unit_test(test_nearest_keeps_the_best_when_there_is_little_room),
		cmocka_unit_test(test_suggestions_as_text),
		cmocka_unit_test(test_templates),
		cmocka_unit_test(test_a_template_over_the_cap_leaves_nothing_behind),
		cmocka_unit_test(test_string_arrays),
		cmocka_unit_test(test_splitting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
