/* SPDX-License-Identifier: MIT */
#include "verify/spec/expr.h"

#include "base/str.h"
#include "tests/unit/base/support.h"

/* A tensor x of 2 x 3 x 5 float32, a number n = 7, a variable v = -4; nothing else. */
static int answer(void *payload, enum kgb_expr_ask ask, const char *name, int64_t k, int64_t *out,
		  struct kgb_err *err)
{
	static const int64_t sizes[] = {2, 3, 5};
	static const struct {
		enum kgb_expr_ask ask;
		const char *name;
		int64_t value;
	} known[] = {
		{KGB_EXPR_VALUE, "n", 7},     {KGB_EXPR_VALUE, "big", INT64_MAX},
		{KGB_EXPR_VARIABLE, "v", -4}, {KGB_EXPR_NUMEL, "x", 30},
		{KGB_EXPR_SIZE, "x", 4},      {KGB_EXPR_BYTES, "x", 120},
		{KGB_EXPR_NDIM, "x", 3},
	};
	size_t *n_asked = payload;

	++*n_asked;
	if (ask == KGB_EXPR_DIM && kgb_str_eq(name, "x") && k >= -3 && k < 3) {
		*out = sizes[k < 0 ? k + 3 : k];
		return 0;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(known); i++) {
		if (known[i].ask == ask && kgb_str_eq(known[i].name, name)) {
			*out = known[i].value;
			return 0;
		}
	}
	return kgb_fail(err, KGB_ERR_INVALID, "%s '%s' is unknown", kgb_expr_ask_name(ask), name);
}

static int evaluate(const char *text, int64_t *out, struct kgb_err *err)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	const struct kgb_expr *expr = NULL;
	size_t n_asked = 0;

	if (kgb_expr_parse(text, &arena, &expr, err) < 0)
		return -1;
	return kgb_expr_eval(expr, answer, &n_asked, out, err);
}

static void test_expressions_have_their_value(KGB_UNUSED void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {
		{"0", 0},
		{"9223372036854775807", INT64_MAX},
		{"1 + 2 * 3", 7},
		{"(1 + 2) * 3", 9},
		{"20 - 3 - 4", 13},
		{"100 / 7 / 2", 7},
		{"2 * 7 / 4", 3},
		{"-7 / 2", -3},
		{"--3", 3},
		{"2 - -3", 5},
		{"-2 * 3 + 10", 4},
		{"n", 7},
		{"$v * 2", -8},
		{"numel(x) * size(x)", 120},
		{"bytes(x)", 120},
		{"ndim(x)", 3},
		{"dim(x, 0) + 10 * dim(x, 1) + 100 * dim(x, -1)", 532},
		{"dim(x, ndim(x) - 1)", 5},
		{"dim ( x , 1 )\n\t+\r1 ", 4},
		{"-big - 1", INT64_MIN},
		{"min(3, n) + 10 * max(3, n)", 73},
		{"max(1, min(n, 2 * 3) - 9)", 1},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		int64_t value = 99;
		assert_ok(evaluate(rows[i].text, &value, &err), err);
		if (value != rows[i].value)
			fail_msg("'%s' is %lld", rows[i].text, (long long)value);
	}
}

static void test_faults_are_named_with_their_column(KGB_UNUSED void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "column 1: expected a number, a name or '('"},
		{"  ", "column 3: expected a number, a name or '('"},
		{"1 +", "column 4: expected a number, a name or '('"},
		{"1 2", "column 3: expected an operator or the end"},
		{"(1", "column 3: expected ')'"},
		{"1)", "column 2: expected an operator or the end"},
		{"2 * * 3", "column 5: expected a number, a name or '('"},
		{"1.5", "column 2: expected an operator or the end"},
		{"9223372036854775808", "column 1: '9223372036854775808' is not a number"},
		{"numel x", "column 7: expected an operator or the end"},
		{"1 + numle(x)",
		 "column 5: no function 'numle': there are numel, size, bytes, ndim, dim, min and max"},
		{"value(x)", "column 1: no function 'value': there are"},
		{"numel()", "column 7: expected a name"},
		{"numel(3)", "column 7: expected a name"},
		{"numel(x, 1)", "column 8: expected ')'"},
		{"dim(x)", "column 6: expected ','"},
		{"dim(x,)", "column 7: expected a number, a name or '('"},
		{"$", "column 2: expected a name"},
		{"$1", "column 2: expected a name"},
		{"$numel(x)", "column 7: expected an operator or the end"},
		{"a\xc3\xa9", "column 2: expected an operator or the end"},
		{"n / 0", "column 3: division by 0"},
		{"n / (n - 7)", "column 3: division by 0"},
		{"big + 1", "column 5: over 64 bits"},
		{"big * n", "column 5: over 64 bits"},
		{"-big - 2", "column 6: over 64 bits"},
		{"(-big - 1) / -1", "column 12: over 64 bits"},
		{"-(-big - 1)", "column 1: over 64 bits"},
		{"1 + y", "column 5: value 'y' is unknown"},
		{"numel(y)", "column 1: numel 'y' is unknown"},
		{"$n", "column 1: variable 'n' is unknown"},
		{"dim(x, 3)", "column 1: dim 'x' is unknown"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		int64_t value = 99;
		if (evaluate(rows[i].text, &value, &err) == 0)
			fail_msg("'%s' is accepted", rows[i].text);
		assert_contains(err.msg, rows[i].message);
		assert_int_equal(value, 99);
	}
}

/* `n` times `opening`, then "1", then n times `closing`. */
static char *repeated(const char *opening, const char *closing, int n)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	for (int i = 0; i < n; i++)
		kgb_buf_adds(&text, opening);
	kgb_buf_adds(&text, "1");
	for (int i = 0; i < n; i++)
		kgb_buf_adds(&text, closing);
	return kgb_buf_take(&text);
}

static void test_size_depth_and_parts_are_capped(KGB_UNUSED void **state)
{
	static const struct {
		const char *opening, *closing;
		int n_fits, n_fails;
		const char *message;
	} rows[] = {
		{"(", ")", KGB_EXPR_DEPTH_MAX - 1, KGB_EXPR_DEPTH_MAX, "nested over 32 levels"},
		{"-", "", KGB_EXPR_DEPTH_MAX - 1, KGB_EXPR_DEPTH_MAX, "nested over 32 levels"},
		{"1+", "", (KGB_EXPR_NODES_MAX - 1) / 2, KGB_EXPR_NODES_MAX / 2, "over 256 parts"},
		{"", " ", KGB_EXPR_TEXT_MAX - 1, KGB_EXPR_TEXT_MAX, "over 1024 letters"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free)
		char *fits = repeated(rows[i].opening, rows[i].closing, rows[i].n_fits);
		KGB_AUTO(free)
		char *fails = repeated(rows[i].opening, rows[i].closing, rows[i].n_fails);
		struct kgb_err err = KGB_ERR_INIT;
		int64_t value;
		assert_ok(evaluate(fits, &value, &err), err);
		assert_int_equal(evaluate(fails, &value, &err), -1);
		assert_int_equal(err.kind, KGB_ERR_LIMIT);
		assert_contains(err.msg, rows[i].message);
	}
}

static void test_a_check_asks_for_every_name_and_ignores_the_numbers(KGB_UNUSED void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	const struct kgb_expr *expr = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	size_t n_asked = 0;

	assert_ok(kgb_expr_parse("n / 0 + $v + dim(x, 77) + big * big", &arena, &expr, &err), err);
	assert_ok(kgb_expr_check(expr, answer, &n_asked, &err), err);
	assert_int_equal(n_asked, 5);
	assert_ok(kgb_expr_parse("n + y + z", &arena, &expr, &err), err);
	assert_fails(kgb_expr_check(expr, answer, &n_asked, &err), err,
		     "column 5: value 'y' is unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expressions_have_their_value),
		cmocka_unit_test(test_faults_are_named_with_their_column),
		cmocka_unit_test(test_size_depth_and_parts_are_capped),
		cmocka_unit_test(test_a_check_asks_for_every_name_and_ignores_the_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
