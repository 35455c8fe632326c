/* SPDX-License-Identifier: MIT */
#include "verify/draw/dictionary.h"

#include <float.h>
#include <math.h>

#include "tests/unit/verify/spec_files.h"
#include "verify/cases/cases.h"
#include "verify/draw/draw.h"
#include "verify/fills/fill.h"

enum { SEEDS = 64, LINES = 30 };

static struct kgb_seed seed_of(int s)
{
	return (struct kgb_seed){{(uint8_t)s, 5}};
}

/* ---- reading ---- */

static int read_text(const char *text, struct kgb_dictionary *out)
{
	KGB_AUTO(json) cJSON *facts = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_json_parse(text, strlen(text), &facts, &err), err);
	int rc = kgb_dictionary_read(facts, out, &err);
	assert_true(rc == 0 || (err.kind == KGB_ERR_INVALID && err.msg[0]));
	return rc;
}

static void test_numbers_are_read_exactly(KGB_UNUSED void **state)
{
	struct kgb_dictionary d;

	assert_int_equal(
		read_text(
			"{\"numbers\": [{\"value\": \"9223372036854775807\", \"is_border\": true}, "
			"{\"value\": \"0.37\"}, {\"value\": \"1e+30\"}, {\"value\": \"1e5\"}, "
			"{\"value\": \"100000\"}]}",
			&d),
		0);
	assert_int_equal(d.n, 4); /* 1e5 is 100000 */
	assert_true(d.items[0].is_whole && d.items[0].whole == INT64_MAX && d.items[0].is_border);
	assert_true(!d.items[1].is_whole && d.items[1].value == 0.37 && !d.items[1].is_border);
	assert_true(!d.items[2].is_whole && d.items[2].value == 1e30);
	assert_true(d.items[3].is_whole && d.items[3].whole == 100000);
}

static void test_other_documents_are_invalid(KGB_UNUSED void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"numbers\": 3}",
		"{\"numbers\": [3]}",
		"{\"numbers\": [{\"value\": 3}]}",
		"{\"numbers\": [{\"value\": \"\"}]}",
		"{\"numbers\": [{\"value\": \"nan\"}]}",
		"{\"numbers\": [{\"value\": \"1e999\"}]}",
		"{\"numbers\": [{\"value\": \"3 \"}]}",
	};
	KGB_AUTO(buf) struct kgb_buf many = KGB_BUF_INIT(0);
	struct kgb_dictionary d;

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		assert_int_equal(read_text(rows[i], &d), -1);
	kgb_buf_adds(&many, "{\"numbers\": [{\"value\": \"0\"}");
	for (int i = 1; i <= KGB_DICTIONARY_MAX; i++)
		kgb_buf_addf(&many, ", {\"value\": \"%d\"}", i);
	kgb_buf_adds(&many, "]}");
	assert_int_equal(read_text(many.ptr, &d), -1);
	assert_int_equal(read_text("{\"numbers\": []}", &d), 0);
	assert_int_equal(d.n, 0);
}

/* ---- dealing ---- */

static const struct kgb_dictionary few = {
	.n = 6,
	.n_borders = 1,
	.items = {{.value = 1237, .whole = 1237, .is_whole = true, .is_border = true},
		  {.value = 0.37},
		  {.value = 2, .whole = 2, .is_whole = true},
		  {.value = 0x1p40, .whole = INT64_C(1) << 40, .is_whole = true},
		  {.value = 19, .whole = 19, .is_whole = true},
		  {.value = -0x1p63, .whole = INT64_MIN, .is_whole = true}}};

static void test_whole_numbers_lie_in_the_range_and_near_one_of_the_list(KGB_UNUSED void **state)
{
	int exact = 0, beside = 0, multiple = 0;
	int64_t value = 0;

	for (int s = 0; s < SEEDS; s++) {
		const struct kgb_seed seed = seed_of(s);
		for (uint32_t turn = 0; turn < 8; turn++) {
			const struct kgb_whole_range sizes = {
				.lo = 1, .hi = 4000, .use = KGB_NUMBER_SIZE};
			assert_true(
				kgb_dictionary_deal_whole(&few, &seed, "a", turn, sizes, &value));
			assert_in_range(value, 18, 4000);
			exact += value == 19 || value == 1237;
			beside += value == 18 || value == 20 || value == 1236 || value == 1238;
			multiple += value % 19 == 0 || value % 1237 == 0;
			assert_true(value % 19 <= 1 || value % 19 == 18 || value % 1237 <= 1 ||
				    value % 1237 == 1236);
		}
	}
	assert_true(exact > SEEDS * 3 && beside > SEEDS && multiple > exact + SEEDS / 2);
}

static void test_sizes_beyond_the_usual_ones_go_beyond_the_number(KGB_UNUSED void **state)
{
	const struct kgb_whole_range range = {.lo = 1001, .hi = 2000, .use = KGB_NUMBER_FAR_SIZE};
	int exact = 0, next = 0, beyond = 0;
	int64_t value = 0;

	for (int s = 0; s < SEEDS; s++) {
		const struct kgb_seed seed = seed_of(s);
		assert_true(kgb_dictionary_deal_whole(&few, &seed, "a", 0, range, &value));
		assert_in_range(value, 1236, 2000);
		exact += value == 1237;
		next += value == 1238;
		beyond += value > 1238;
	}
	assert_in_range(exact, SEEDS / 8, SEEDS / 2);
	assert_in_range(next, SEEDS / 8, SEEDS / 2);
	assert_in_range(beyond, SEEDS / 8, SEEDS / 2);
}

static void test_of_a_range_without_a_number_none_is_dealt(KGB_UNUSED void **state)
{
	static const struct kgb_whole_range rows[] = {
		{.lo = 21, .hi = 1235, .use = KGB_NUMBER_SIZE},
		{.lo = 1, .hi = 17, .use = KGB_NUMBER_SIZE},
		{.lo = 4, .hi = 17},
		{.lo = -18 + 1, .hi = -4},
	};
	const struct kgb_seed seed = seed_of(1);
	int64_t value = 0;
	double number = 0;

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		assert_false(kgb_dictionary_deal_whole(&few, &seed, "a", 0, rows[i], &value));
	assert_false(kgb_dictionary_deal_float(&few, &seed, "a", 0, 0.38, 1.9, &number));
}

static void test_every_number_that_fits_has_its_turn(KGB_UNUSED void **state)
{
	const struct kgb_whole_range all = {.lo = INT64_MIN, .hi = INT64_MAX};
	const struct kgb_seed seed = seed_of(2);
	int found[6] = {0};
	int64_t value = 0;

	/* 0.37 is not whole. */
	for (uint32_t turn = 0; turn < KGB_BORDER_CARDS + 4; turn++) {
		assert_true(kgb_dictionary_deal_exact(&few, &seed, "a", turn, all, &value));
		for (size_t i = 0; i < few.n; i++)
			found[i] += few.items[i].is_whole && few.items[i].whole == value;
	}
	for (size_t i = 0; i < few.n; i++)
		assert_int_equal(found[i], i == 0 ? KGB_BORDER_CARDS : few.items[i].is_whole);
}

static void test_the_ends_of_64_bits_are_dealt_without_overflow(KGB_UNUSED void **state)
{
	const struct kgb_whole_range low = {.lo = INT64_MIN, .hi = INT64_MIN + 1};
	int64_t value = 0;
	int n = 0;

	for (int s = 0; s < SEEDS; s++) {
		const struct kgb_seed seed = seed_of(s);
		assert_true(kgb_dictionary_deal_whole(&few, &seed, "a", 0, low, &value));
		n += value == INT64_MIN + 1;
	}
	assert_in_range(n, 1, SEEDS / 2);
}

static void test_floats_lie_in_the_range_and_near_one_of_the_list(KGB_UNUSED void **state)
{
	int exact = 0, negative = 0;
	double value = 0;

	for (int s = 0; s < SEEDS; s++) {
		const struct kgb_seed seed = seed_of(s);
		assert_true(kgb_dictionary_deal_float(&few, &seed, "a", 0, -0.5, 0.5, &value));
		assert_true(fabs(fabs(value) - 0.37) <= 0.37 * 0x1p-9);
		exact += value == 0.37;
		negative += value < 0;
	}
	assert_in_range(exact, SEEDS / 2, SEEDS * 4 / 5);
	assert_in_range(negative, SEEDS / 20, SEEDS / 4);
}

/* ---- lines ---- */

static void load_template(const char *variables, struct kgb_spec *spec)
{
	KGB_AUTO(free) char *text = kgb_xasprintf("drawn:\n  - {id: t, %s}\ncases:\n", variables);

	load_toy((struct spec_change){SET_PATH, "cases:\n", text}, spec);
}

/* What line `number` has for `x`, as JSON. */
static char *draw_x(const struct kgb_spec *spec, const struct kgb_seed *seed, uint32_t number,
		    const struct kgb_dictionary *numbers)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_case_vars line;
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_draw draw = {.spec = spec,
				      .interface = &spec->interfaces[0],
				      .set = spec->case_sets,
				      .seed = seed,
				      .numbers = numbers,
				      .arena = &arena,
				      .err = &err};

	assert_ok(kgb_draw_line(&draw, &spec->case_sets->drawn[0], number, NULL, &line), err);
	return cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(line.vars, "x"));
}

/* Whether the value has one of these numbers: x itself, an element, or the product of all. */
static bool has_number(const cJSON *x, const double *numbers, size_t n)
{
	const cJSON *item = NULL;
	double product = 1;
	bool found = false;

	for (size_t i = 0; i < n && cJSON_IsNumber(x); i++)
		found |= x->valuedouble == numbers[i];
	cJSON_ArrayForEach(item, x) {
		product *= item->valuedouble;
		found |= has_number(item, numbers, n);
	}
	for (size_t i = 0; i < n && cJSON_IsArray(x); i++)
		found |= product == numbers[i];
	return found;
}

static void check_domain(const cJSON *x, double lo, double hi)
{
	const cJSON *item = NULL;
	double product = 1;

	cJSON_ArrayForEach(item, x) {
		assert_true(item->valuedouble >= 1);
		product *= item->valuedouble;
	}
	if (!cJSON_IsArray(x))
		product = x->valuedouble;
	assert_true(product >= lo && product <= hi);
}

static void test_lines_have_numbers_within_the_domain(KGB_UNUSED void **state)
{
	static const struct {
		const char *x;
		double lo, hi;
		double numbers[5]; /* of the dictionary and beside them, in the domain */
		size_t n;
	} rows[] = {
		{"{size: [1, 300]}", 1, 300, {18, 19, 20}, 3},
		{"{size: [1, 300, 2000]}", 1, 2000, {18, 19, 20, 1237}, 4},
		{"{shape: [1, 4, 4000]}", 1, 128000, {19, 1237, 1236, 1238}, 4},
		{"{shape: [2, 2, 500, 600]}", 1, 600, {18, 19, 20}, 3},
		{"{int: [-2000, 2000]}", -2000, 2000, {1237, -1237, 19, -19, 1238}, 5},
		{"{float: [-0.5, 0.5]}", -0.5, 0.5, {0.37, -0.37}, 2},
		{"{pick: [7, {float: [-0.5, 0.5]}, 8]}", -0.5, 8, {0.37, -0.37}, 2},
	};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		KGB_AUTO(free) char *text = kgb_xasprintf("x: %s", rows[r].x);
		struct kgb_spec spec;
		int with = 0, without = 0, same = 0;
		load_template(text, &spec);
		for (int s = 0; s < SEEDS; s++) {
			const struct kgb_seed seed = seed_of(s);
			for (uint32_t number = 0; number < LINES; number++) {
				KGB_AUTO(free) char *own = draw_x(&spec, &seed, number, &few);
				KGB_AUTO(free) char *usual = draw_x(&spec, &seed, number, NULL);
				KGB_AUTO(json) cJSON *x = cJSON_Parse(own);
				KGB_AUTO(json) cJSON *plain = cJSON_Parse(usual);
				check_domain(x, rows[r].lo, rows[r].hi);
				with += has_number(x, rows[r].numbers, rows[r].n);
				without += has_number(plain, rows[r].numbers, rows[r].n);
				same += kgb_str_eq(own, usual);
			}
		}
		/* Half of the lines take numbers, in three choices of four. */
		assert_in_range(with - without, SEEDS * LINES / 8, SEEDS * LINES * 2 / 5);
		/* Other lines are the same as without a dictionary. */
		assert_in_range(same, SEEDS * LINES * 11 / 20, SEEDS * LINES * 3 / 4);
		kgb_spec_release(&spec);
	}
}

static void test_a_program_that_compares_with_numbers_gets_more_of_them(KGB_UNUSED void **state)
{
	struct kgb_dictionary d;

	assert_int_equal(read_text("{\"numbers\": [{\"value\": \"0\", \"is_border\": true}, "
				   "{\"value\": \"1024\"}]}",
				   &d),
			 0);
	assert_int_equal(kgb_dictionary_turns(&d), 4);
	assert_int_equal(
		read_text("{\"numbers\": [{\"value\": \"0.5\", \"is_border\": true}]}", &d), 0);
	assert_int_equal(kgb_dictionary_turns(&d), 2);
}

static void test_an_empty_dictionary_changes_nothing(KGB_UNUSED void **state)
{
	static const struct kgb_dictionary none = {.n = 0};
	struct kgb_spec spec;

	load_template("x: [{size: [1, 300]}, {shape: [1, 4, 4000]}, {float: [0, 1]}]", &spec);
	for (uint32_t number = 0; number < LINES; number++) {
		const struct kgb_seed seed = seed_of(3);
		KGB_AUTO(free) char *own = draw_x(&spec, &seed, number, &none);
		KGB_AUTO(free) char *usual = draw_x(&spec, &seed, number, NULL);
		assert_string_equal(own, usual);
	}
	kgb_spec_release(&spec);
}

/* ---- cases ---- */

static void test_cases_have_the_same_names_and_depend_on_seed_and_numbers(KGB_UNUSED void **state)
{
	struct kgb_cases usual, own, again;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	int differ = 0, n_numbers = 0, n_drawn = 0;

	load_template("a: {shape: [1, 3, 4000]}, b: $a", &spec);
	for (int s = 0; s < SEEDS; s++) {
		const struct kgb_seed seed = seed_of(s);
		assert_ok(kgb_cases_expand(&spec, &seed, &usual, &err), err);
		assert_ok(kgb_cases_expand_for(&spec, &seed, &few, &own, &err), err);
		assert_ok(kgb_cases_expand_for(&spec, &seed, &few, &again, &err), err);
		assert_true(own.n == usual.n && own.n == again.n);
		for (size_t i = 0; i < own.n; i++) {
			KGB_AUTO(buf) struct kgb_buf a = KGB_BUF_INIT(0);
			KGB_AUTO(buf) struct kgb_buf b = KGB_BUF_INIT(0);
			KGB_AUTO(buf) struct kgb_buf c = KGB_BUF_INIT(0);
			kgb_case_describe(&usual.items[i], &a);
			kgb_case_describe(&own.items[i], &b);
			kgb_case_describe(&again.items[i], &c);
			assert_string_equal(own.items[i].name, usual.items[i].name);
			assert_string_equal(b.ptr, c.ptr);
			assert_true(own.items[i].is_drawn || kgb_str_eq(a.ptr, b.ptr));
			differ += !kgb_str_eq(a.ptr, b.ptr);
			n_drawn += own.items[i].is_drawn;
			n_numbers += own.items[i].args[0].values.numbers == &few;
		}
		kgb_cases_release(&usual);
		kgb_cases_release(&own);
		kgb_cases_release(&again);
	}
	assert_in_range(differ, n_drawn / 2, n_drawn * 5 / 6);
	assert_in_range(n_numbers, n_drawn / 4, n_drawn / 2);
	kgb_spec_release(&spec);
}

/* ---- elements ---- */

static const struct kgb_dictionary values = {
	.n = 4,
	.n_borders = 1,
	.items = {{.value = 3.25, .is_border = true},
		  {.value = 1e30},
		  {.value = 19, .whole = 19, .is_whole = true},
		  {.value = 70000, .whole = 70000, .is_whole = true}}};

static void test_elements_are_numbers_that_the_fill_and_the_mode_allow(KGB_UNUSED void **state)
{
	enum { N = 400 };
	static const struct {
		struct kgb_arg arg;
		enum kgb_dtype dtype;
		enum kgb_mode mode;
		bool is_whole;
		double number, lowest, highest;
	} rows[] = {
		{{.fill = KGB_FILL_NORMAL},
		 KGB_DTYPE_FLOAT32,
		 KGB_MODE_STANDARD,
		 false,
		 3.25,
		 -50,
		 50},
		{{.fill = KGB_FILL_NORMAL, .specials = 1U << KGB_SPECIAL_LARGEST},
		 KGB_DTYPE_FLOAT32,
		 KGB_MODE_SPECIAL,
		 false,
		 (double)1e30F,
		 -(double)FLT_MAX,
		 (double)FLT_MAX},
		{{.fill = KGB_FILL_POSITIVE},
		 KGB_DTYPE_FLOAT16,
		 KGB_MODE_STANDARD,
		 false,
		 19,
		 0,
		 50},
		{{.fill = KGB_FILL_UNIFORM, .lo = 3, .hi = 4, .bounded = true},
		 KGB_DTYPE_FLOAT64,
		 KGB_MODE_STANDARD,
		 false,
		 3.25,
		 3,
		 4},
		{{.fill = KGB_FILL_INT, .lo = 0, .hi = 30, .bounded = true},
		 KGB_DTYPE_INT64,
		 KGB_MODE_STANDARD,
		 true,
		 19,
		 0,
		 30},
		{{.fill = KGB_FILL_INT, .lo = -9, .hi = 9, .values = {.is_wide = true}},
		 KGB_DTYPE_INT32,
		 KGB_MODE_STANDARD,
		 true,
		 70000,
		 -140001,
		 140001},
	};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		int found = 0, beyond = 0;
		for (int s = 0; s < SEEDS; s++) {
			struct kgb_arg arg = rows[r].arg;
			const int64_t size = N;
			struct kgb_err err = KGB_ERR_INIT;
			struct kgb_rng rng;
			double items[N];
			int n = 0, n_inner = 0;
			arg.values.numbers = &values;
			arg.values.is_beyond_number = s % 2;
			arg.values.may_repeat = true;
			assert_ok(kgb_tensor_view_layout(&arg.view, rows[r].dtype, &size, 1,
							 "contiguous", &err),
				  err);
			KGB_AUTO(free)
			char *storage = kgb_xmalloc(kgb_tensor_view_storage_bytes(&arg.view));
			const struct kgb_seed seed = seed_of(s);
			kgb_rng_init(&rng, &seed, "numbers", 0);
			kgb_fill(&arg, rows[r].mode, &rng, storage);
			kgb_dtype_load_array(rows[r].dtype, storage, N, items);
			for (int i = 0; i < N; i++) {
				assert_true(rows[r].mode == KGB_MODE_SPECIAL ||
					    (items[i] >= rows[r].lowest &&
					     items[i] <= rows[r].highest));
				n += items[i] == rows[r].number;
				n_inner += fabs(items[i]) < 3.25;
			}
			found += n > 0 && n < N / 4;
			beyond += s % 2 && n_inner == 0;
		}
		assert_true(found > SEEDS / 4);
		/* Of the odd seeds all elements lie beyond 3.25 or another number, if the fill has
		 * such. */
		assert_true(beyond > (r == 0 ? SEEDS / 8 : -1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_read_exactly),
		cmocka_unit_test(test_other_documents_are_invalid),
		cmocka_unit_test(test_whole_numbers_lie_in_the_range_and_near_one_of_the_list),
		cmocka_unit_test(test_sizes_beyond_the_usual_ones_go_beyond_the_number),
		cmocka_unit_test(test_of_a_range_without_a_number_none_is_dealt),
		cmocka_unit_test(test_every_number_that_fits_has_its_turn),
		cmocka_unit_test(test_the_ends_of_64_bits_are_dealt_without_overflow),
		cmocka_unit_test(test_floats_lie_in_the_range_and_near_one_of_the_list),
		cmocka_unit_test(test_lines_have_numbers_within_the_domain),
		cmocka_unit_test(test_a_program_that_compares_with_numbers_gets_more_of_them),
		cmocka_unit_test(test_an_empty_dictionary_changes_nothing),
		cmocka_unit_test(test_cases_have_the_same_names_and_depend_on_seed_and_numbers),
		cmocka_unit_test(test_elements_are_numbers_that_the_fill_and_the_mode_allow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
