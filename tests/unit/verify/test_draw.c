/* SPDX-License-Identifier: MIT */
#include "verify/draw/draw.h"

#include <math.h>

#include "base/formats/json.h"
#include "tests/unit/verify/spec_files.h"
#include "verify/cases/cases.h"
#include "verify/cases/repeat.h"

enum { LINES = 64 };

static const struct kgb_seed seed = {{7, 1, 9}};

/* The toy's case set with one template, whose variables are given. */
static void load_template(const char *variables, struct kgb_spec *spec)
{
	KGB_AUTO(free) char *text = kgb_xasprintf("drawn:\n  - {id: t, %s}\ncases:\n", variables);

	load_toy((struct spec_change){SET_PATH, "cases:\n", text}, spec);
}

static int draw_number(const struct kgb_spec *spec, const struct kgb_seed *from, uint32_t number,
		       struct kgb_arena *arena, struct kgb_case_vars *out, struct kgb_err *err)
{
	const struct kgb_draw draw = {.spec = spec,
				      .interface = &spec->interfaces[0],
				      .set = spec->case_sets,
				      .seed = from,
				      .arena = arena,
				      .err = err};

	return kgb_draw_line(&draw, &spec->case_sets->drawn[0], number, NULL, out);
}

/* What is drawn for `x`, as JSON, in line `number`. */
static char *draw_x(const struct kgb_spec *spec, const struct kgb_seed *from, uint32_t number)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_case_vars line;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(draw_number(spec, from, number, &arena, &line, &err), err);
	return cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(line.vars, "x"));
}

/* ---- forms ---- */

static void test_forms_without_chance(KGB_UNUSED void **state)
{
	static const struct {
		const char *variables, *x;
	} rows[] = {
		{"x: 3", "3"},
		{"x: null", "null"},
		{"x: [1, true, word]", "[1,true,\"word\"]"},
		{"a: [2, 3], x: $a", "[2,3]"},
		{"m: 7, x: $(m)", "7"},
		{"m: 7, x: [$(m), '$(m * 2 + 1)']", "[7,15]"},
		{"m: 7, k: 2, x: 'matrix($(m),$(max(1, k - 5)))'", "\"matrix(7,1)\""},
		{"m: 7, x: '$(min(m, 3)) of'", "\"3 of\""},
		{"a: [4, 5, 6], x: '$(dim(a, -1) + 100 * ndim(a))'", "306"},
		{"a: [4, 5], x: '$(numel(a))'", "20"},
		{"t: true, x: '$(t + 1)'", "2"},
		{"x: {size: [5, 5]}", "5"},
		{"x: {int: [-2, -2]}", "-2"},
		{"x: {pick: [[1]]}", "[1]"},
		{"m: 1, x: {at: ['$(m)', [a, b, c]]}", "\"b\""},
		{"m: 1, x: {if: ['$(m)', [1], null]}", "[1]"},
		{"m: 0, x: {if: ['$(m)', [1], null]}", "null"},
		{"x: {shape: [0, 0, 9]}", "[]"},
		{"x: {shape: [3, 3, 1]}", "[1,1,1]"},
		{"a: [4, 5, 6], x: {resized: [a, -2, 0]}", "[4,0,6]"},
		{"a: [], x: {layout: a}, b: 1", NULL},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_spec spec;
		load_template(rows[i].variables, &spec);
		KGB_AUTO(free) char *x = draw_x(&spec, &seed, 3);
		if (rows[i].x)
			assert_string_equal(x, rows[i].x);
		kgb_spec_release(&spec);
	}
}

static void test_errors_name_the_place(KGB_UNUSED void **state)
{
	static const struct {
		const char *variables, *error;
	} rows[] = {
		{"x: {siez: [1, 2]}", "no form is called 'siez'"},
		{"x: {size: [1, 2], int: [1, 2]}", "expected one form"},
		{"x: {size: [2, 1]}", "expected 0 <= low <= high"},
		{"x: {size: [1, 3, 2]}", "expected 0 <= low <= high (<= long)"},
		{"x: {size: [1]}", "expected a list of 2 numbers"},
		{"x: {size: [1, two]}", "expected a whole number"},
		{"x: {int: [2, 1]}", "expected low <= high"},
		{"x: {float: [2, 1]}", "expected [low, high]"},
		{"x: {pick: []}", "expected a list of 1 to 64 values"},
		{"x: {at: [2, [1, 2]]}", "no value has the number 2"},
		{"x: {at: [-1, [1, 2]]}", "no value has the number -1"},
		{"x: {if: [1, 2]}", "expected [number, value if above 0, other value]"},
		{"x: {shape: [0, 9, 5]}", "at most 8 dims"},
		{"x: {layout: a}", "expected the name of an earlier shape"},
		{"a: [x], x: {dim: a}", "expected the name of an earlier shape"},
		{"a: [1], x: {resized: [a, 1, 2]}", "the shape has no such dimension"},
		{"x: '$(y)'", "no variable 'y' before this one"},
		{"y: text, x: '$(y)'", "variable 'y' has no such number"},
		{"x: '$(1'", "expected ')'"},
		{"x: '$(1 / 0)'", "division by 0"},
		{"x: 1, mode: benchmark", "mode: expected standard, outlier or special"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
		struct kgb_case_vars line;
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_spec spec;
		load_template(rows[i].variables, &spec);
		assert_int_equal(draw_number(&spec, &seed, 0, &arena, &line, &err), -1);
		assert_non_null(strstr(err.msg, rows[i].error));
		assert_non_null(strstr(err.msg, SET_PATH ":"));
		assert_non_null(strstr(err.msg, "drawn 't'"));
		kgb_spec_release(&spec);
	}
}

/* ---- chance ---- */

/* Different values of x among the first n lines. */
static size_t count_different(const struct kgb_spec *spec, const struct kgb_seed *from, uint32_t n)
{
	char *seen[LINES];
	size_t n_seen = 0;

	for (uint32_t i = 0; i < n; i++) {
		char *x = draw_x(spec, from, i);
		size_t k = 0;
		while (k < n_seen && !kgb_str_eq(seen[k], x))
			k++;
		if (k < n_seen)
			kgb_free(x);
		else
			seen[n_seen++] = x;
	}
	for (size_t k = 0; k < n_seen; k++)
		kgb_free(seen[k]);
	return n_seen;
}

static void test_choices_are_dealt(KGB_UNUSED void **state)
{
	static const struct {
		const char *variables;
		uint32_t n; /* lines in a row that show all values */
	} rows[] = {
		{"x: {pick: [1, 2, 3, 4, 5, 6, 7]}", 7},
		{"a: [4, 5, 6], x: {dim: a}", 6},
		{"x: {pick: [true, false]}", 2},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_spec spec;
		load_template(rows[i].variables, &spec);
		for (unsigned char s = 0; s < 20; s++)
			assert_int_equal(count_different(&spec, &(struct kgb_seed){{s}}, rows[i].n),
					 rows[i].n);
		kgb_spec_release(&spec);
	}
}

static void test_a_seed_decides(KGB_UNUSED void **state)
{
	struct kgb_spec spec;

	load_template("x: {size: [1, 100000]}", &spec);
	KGB_AUTO(free) char *a = draw_x(&spec, &seed, 4);
	KGB_AUTO(free) char *again = draw_x(&spec, &seed, 4);
	assert_string_equal(a, again);
	assert_true(count_different(&spec, &seed, LINES) > LINES / 2);
	size_t n_same = 0;
	for (uint8_t s = 0; s < 64; s++) {
		KGB_AUTO(free) char *other = draw_x(&spec, &(struct kgb_seed){{s, 2}}, 4);
		n_same += kgb_str_eq(a, other);
	}
	assert_true(n_same < LINES / 8);
	kgb_spec_release(&spec);
}

struct range_row {
	const char *variables;
	double low, high; /* of x; both must be reached within 1 % of the range */
};

static void test_ranges_are_kept_and_reached(KGB_UNUSED void **state)
{
	static const struct range_row rows[] = {
		{"x: {size: [1, 100]}", 1, 100},
		{"x: {size: [0, 1]}", 0, 1},
		{"x: {int: [-5, 5]}", -5, 5},
		{"x: {int: [-9223372036854775808, 9223372036854775807]}", -0x1p63, 0x1p63},
		{"x: {float: [-1.5, 0.5]}", -1.5, 0.5},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const struct range_row *row = &rows[i];
		double low = (double)INFINITY, high = -(double)INFINITY;
		struct kgb_spec spec;
		load_template(row->variables, &spec);
		for (uint32_t n = 0; n < 4 * LINES; n++) {
			KGB_AUTO(free) char *x = draw_x(&spec, &seed, n);
			const double value = strtod(x, NULL);
			low = value < low ? value : low;
			high = value > high ? value : high;
		}
		const double slack = (row->high - row->low) / 50;
		assert_true(low >= row->low && low <= row->low + slack);
		assert_true(high <= row->high && high >= row->high - slack);
		kgb_spec_release(&spec);
	}
}

static void test_a_few_floats_are_far_smaller_than_others(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	int n_small = 0;

	load_template("x: {float: [-2, 2]}", &spec);
	for (uint32_t n = 0; n < 4 * LINES; n++) {
		KGB_AUTO(free) char *x = draw_x(&spec, &seed, n);
		const double size = fabs(strtod(x, NULL));
		n_small += size > 0 && size < 0x1p-9;
	}
	assert_in_range(n_small, 4 * LINES / 32, 4 * LINES / 8);
	kgb_spec_release(&spec);
}

static void test_shapes_keep_their_limits(KGB_UNUSED void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	bool has_dims[5] = {false}, has_long = false;
	size_t n_ones = 0;

	load_template("x: {shape: [1, 4, 600]}, y: {broadcast: x}, z: {dims: x}", &spec);
	for (uint32_t n = 0; n < LINES; n++) {
		struct kgb_case_vars line;
		const cJSON *item = NULL;
		double elements = 1;
		assert_ok(draw_number(&spec, &seed, n, &arena, &line, &err), err);
		const cJSON *x = cJSON_GetObjectItemCaseSensitive(line.vars, "x");
		const cJSON *y = cJSON_GetObjectItemCaseSensitive(line.vars, "y");
		const cJSON *z = cJSON_GetObjectItemCaseSensitive(line.vars, "z");
		const int n_x = cJSON_GetArraySize(x), n_y = cJSON_GetArraySize(y);
		bool has_one = false;
		cJSON_ArrayForEach(item, x) {
			elements *= item->valuedouble;
			has_one |= item->valuedouble == 1;
		}
		n_ones += has_one;
		assert_in_range(n_x, 1, 4);
		assert_true(elements >= 1 && elements <= 600);
		has_dims[n_x] = true;
		has_long |= elements > 400;
		assert_true(n_y <= n_x);
		for (int k = 1; k <= n_y; k++) {
			const double size = cJSON_GetArrayItem(y, n_y - k)->valuedouble;
			assert_true(size == 1 ||
				    size == cJSON_GetArrayItem(x, n_x - k)->valuedouble);
		}
		assert_in_range(cJSON_GetArraySize(z), 1, n_x);
	}
	assert_true(has_dims[1] && has_dims[2] && has_dims[3] && has_dims[4] && has_long);
	/* Some lines have few elements, and some are to have sizes of 1. */
	assert_in_range(n_ones, LINES / 10, LINES / 2);
	kgb_spec_release(&spec);
}

static double elements_of(const cJSON *shape)
{
	const cJSON *item = NULL;
	double elements = 1;

	cJSON_ArrayForEach(item, shape)
		elements *= item->valuedouble;
	return elements;
}

/* One form of such a line is beyond its usual range, and reaches most of the long one. */
static void test_one_line_in_ten_is_long(KGB_UNUSED void **state)
{
	static const struct {
		const char *name;
		double usual, most;
	} rows[] = {
		{"x", 100, 3000}, {"a", 2000, 64000}, {"b", 90, 90}, {"c", 90, 500}, {"y", 9, 9}};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	double highest[KGB_ARRAY_LEN(rows)] = {0};
	size_t n_long = 0;

	load_template(
		"x: {size: [1, 100, 3000]}, a: {shape: [2, 3, 2000]}, b: {shape: [2, 3, 90]}, "
		"c: {shape: [1, 1, 90, 500]}, y: {size: [1, 9]}",
		&spec);
	for (uint32_t n = 0; n < 16 * LINES; n++) {
		struct kgb_case_vars line;
		size_t n_beyond = 0;
		assert_ok(draw_number(&spec, &seed, n, &arena, &line, &err), err);
		for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
			const cJSON *value = kgb_json_get(line.vars, rows[i].name);
			const double size =
				cJSON_IsArray(value) ? elements_of(value) : value->valuedouble;
			highest[i] = size > highest[i] ? size : highest[i];
			n_beyond += size > rows[i].usual;
		}
		assert_true(n_beyond <= 1);
		n_long += n_beyond;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		assert_true(highest[i] <= rows[i].most && highest[i] > 0.5 * rows[i].most);
	/* Three of the four forms that may be chosen are longer then. */
	assert_in_range(n_long, 16 * LINES / 10 / 2, 16 * LINES / 10 + 1);
	kgb_spec_release(&spec);
}

/* Different names that x has in many lines; "view(7)" is "view". */
static size_t count_layouts(const struct kgb_spec *spec)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	const char *seen[KGB_N_LAYOUTS + 3]; /* three have numbers */
	size_t n = 0;

	for (uint32_t line = 0; line < 4 * LINES; line++) {
		struct kgb_case_vars drawn;
		assert_ok(draw_number(spec, &seed, line, &arena, &drawn, &err), err);
		char *name = cJSON_GetObjectItemCaseSensitive(drawn.vars, "x")->valuestring;
		name[strcspn(name, "(")] = '\0';
		size_t k = 0;
		while (k < n && !kgb_str_eq(seen[k], name))
			k++;
		if (k == n)
			seen[n++] = name;
	}
	return n;
}

/* A layout that suits the shape is dealt, and a result is written to none that overlaps. */
static void test_layouts_suit_the_shape(KGB_UNUSED void **state)
{
	static const struct {
		const char *variables;
		size_t n; /* names of layouts, without numbers */
	} rows[] = {
		{"a: [], x: {layout: a}", 3},
		{"a: [5], x: {layout: a}", 10},
		{"a: [5, 6], x: {layout: a}", 16},
		{"a: [2, 3, 4], x: {layout: a}", 20},
		{"a: [2, 3, 4, 5], x: {layout: a}", 21},
		{"a: [2, 3, 4, 5, 6], x: {layout: a}", 21},
		{"a: [5], x: {scattered: a}", 7},
		{"a: [5, 6], x: {written: a}", 10},
		{"a: [2, 3, 4], x: {written: a}", 13},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_spec spec;
		load_template(rows[i].variables, &spec);
		assert_int_equal(count_layouts(&spec), rows[i].n);
		kgb_spec_release(&spec);
	}
}

/* ---- lines ---- */

static void test_types_modes_and_classes_are_dealt(KGB_UNUSED void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	size_t n_modes[KGB_N_JUDGED_MODES] = {0}, n_half = 0;
	unsigned seen = 0;

	load_template("x: 1, specials: [nan, largest, wide]", &spec);
	for (uint32_t n = 0; n < 2 * KGB_DRAW_MODES; n++) {
		struct kgb_case_vars line;
		assert_ok(draw_number(&spec, &seed, n, &arena, &line, &err), err);
		n_modes[line.mode]++;
		n_half += kgb_str_eq(line.dtypes.items[0], "float16");
		seen |= 1U << line.specials;
	}
	assert_int_equal(n_modes[KGB_MODE_STANDARD], 4);
	assert_int_equal(n_modes[KGB_MODE_SPECIAL], 4);
	assert_int_equal(n_modes[KGB_MODE_OUTLIER], 2);
	assert_int_equal(n_half, 5);
	/* No float is wide. */
	const unsigned nan = 1U << KGB_SPECIAL_NAN, largest = 1U << KGB_SPECIAL_LARGEST;
	assert_int_equal(seen, 1U << nan | 1U << largest | 1U << (nan | largest));
	kgb_spec_release(&spec);
}

/* ---- twins ---- */

static void draw_changed(const struct kgb_spec *spec, struct kgb_draw_change change,
			 struct kgb_arena *arena, struct kgb_case_vars *out)
{
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_draw draw = {.spec = spec,
				      .interface = &spec->interfaces[0],
				      .set = spec->case_sets,
				      .seed = &seed,
				      .arena = arena,
				      .err = &err};

	assert_ok(kgb_draw_line(&draw, &spec->case_sets->drawn[0], 3, &change, out), err);
}

static double number_of(const struct kgb_case_vars *line, const char *name)
{
	return kgb_json_get(line->vars, name)->valuedouble;
}

static void test_a_change_is_of_one_variable_and_what_follows_from_it(KGB_UNUSED void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_case_vars line, changed;
	struct kgb_spec spec;

	load_template("a: {shape: [2, 4, 9000]}, x: {float: [1, 9]}, i: {int: [0, 999]}, "
		      "y: {float: [0, 9]}, j: '$(i + 1)', top: {float: [5, 5]}",
		      &spec);
	assert_ok(draw_number(&spec, &seed, 3, &arena, &line, &err), err);
	draw_changed(&spec, (struct kgb_draw_change){.variable = "i", .number = 4, .twin = 2},
		     &arena, &changed);
	assert_string_equal(changed.id, "t.3.2");
	assert_true(number_of(&changed, "i") != number_of(&line, "i"));
	assert_true(number_of(&changed, "j") == number_of(&changed, "i") + 1);
	assert_true(number_of(&changed, "x") == number_of(&line, "x"));
	assert_true(number_of(&changed, "y") == number_of(&line, "y"));
	assert_true(
		cJSON_Compare(kgb_json_get(changed.vars, "a"), kgb_json_get(line.vars, "a"), true));
	draw_changed(&spec, (struct kgb_draw_change){.variable = "x", .number = 3, .step = 0.125},
		     &arena, &changed);
	const double ratio = number_of(&changed, "x") / number_of(&line, "x");
	assert_true(fabs(ratio - 1.125) < 1e-9 || fabs(ratio - 0.875) < 1e-9);
	assert_in_range(number_of(&changed, "x"), 1, 9);
	draw_changed(&spec, (struct kgb_draw_change){.variable = "i", .number = 3, .step = 0.125},
		     &arena, &changed);
	assert_true(fabs(number_of(&changed, "i") - number_of(&line, "i")) == 1);
	kgb_spec_release(&spec);
}

/* Kinds of twins, as bits. */
enum { OTHER = 1, KIND = 2, SIGN = 4, NEAR = 8, NEARER = 16, NEAREST = 32, ALMOST_EQUAL = 64 };
enum { EACH_NEAR = NEAR | NEARER | NEAREST, KINDS = OTHER | KIND | SIGN };

static unsigned kind_of_twin(const struct kgb_case_value *a, const struct kgb_case_value *b)
{
	const bool is_float = a->kind == KGB_CASE_VALUE_FLOAT && b->kind == KGB_CASE_VALUE_FLOAT;
	const double x = a->kind == KGB_CASE_VALUE_FLOAT ? a->number : (double)a->integer;
	const double y = b->kind == KGB_CASE_VALUE_FLOAT ? b->number : (double)b->integer;

	if (x == y)
		return is_float ? SIGN : KIND;
	const double step = is_float ? fabs(x - y) / fmax(fabs(x), fabs(y)) : 1;
	if (step < 0x1p-18)
		return step < 0x1p-39 ? ALMOST_EQUAL : NEAREST;
	return step < 0x1p-13 ? NEARER : step < 0x1p-4 ? NEAR : OTHER;
}

static const struct kgb_case *model_of(const struct kgb_cases *cases, const struct kgb_case *c)
{
	const struct kgb_case *model = cases->items;

	while (model->line != c->model)
		model++;
	return model;
}

/* The kinds of twins that the first interface has; each differs from its model in alpha alone. */
static unsigned check_twins(const struct kgb_spec *spec, const struct kgb_cases *cases)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i], *model = NULL;
		if (!c->model || c->interface != &spec->interfaces[0])
			continue;
		model = model_of(cases, c);
		assert_memory_equal(&c->args[0].view, &model->args[0].view,
				    sizeof(c->args[0].view));
		assert_memory_equal(&c->args[1].view, &model->args[1].view,
				    sizeof(c->args[1].view));
		assert_int_equal(c->dtype, model->dtype);
		assert_int_equal(c->style.grad_mode, model->style.grad_mode);
		assert_int_equal(c->style.caller, model->style.caller);
		assert_int_equal(c->style.passes_tuples, model->style.passes_tuples);
		assert_int_equal(c->style.without_asserts, model->style.without_asserts);
		for (size_t k = 0; k < 2; k++)
			assert_true(c->args[k].is_part == model->args[k].is_part);
		assert_string_not_equal(c->name, model->name);
		kinds |= kind_of_twin(&c->args[2].value, &model->args[2].value);
	}
	return kinds;
}

static void test_each_number_has_twins(KGB_UNUSED void **state)
{
	static const struct {
		const char *alpha; /* and the types; float32 and float16 without them */
		unsigned kinds;
	} rows[] = {
		{"1", 0},
		{"{pick: [1, 2]}", OTHER},
		{"{pick: [{float: [1, 2]}, 1]}, dtypes: [float32]", OTHER | EACH_NEAR | KIND},
		{"{float: [1, 99]}", OTHER | EACH_NEAR},
		{"{float: [1, 99]}, dtypes: [float64]", OTHER | EACH_NEAR | ALMOST_EQUAL},
		{"{float: [1, 99]}, dtypes: [float16]", OTHER | NEAR},
		{"{pick: [0.0, 1.5]}", OTHER | SIGN},
		{"{pick: [{float: [-3, -1]}, 2, 0.0]}, dtypes: [float32]", KINDS | EACH_NEAR},
	};
	struct kgb_err err = KGB_ERR_INIT;

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		KGB_AUTO(free)
		char *variables =
			kgb_xasprintf("a: {shape: [1, 3, 50]}, b: $a, alpha: %s", rows[r].alpha);
		struct kgb_spec spec;
		load_template(variables, &spec);
		for (int s = 0; s < LINES; s++) {
			struct kgb_cases cases;
			assert_ok(kgb_cases_expand(&spec, &(struct kgb_seed){{(uint8_t)s}}, &cases,
						   &err),
				  err);
			assert_int_equal(check_twins(&spec, &cases), rows[r].kinds);
			kgb_cases_release(&cases);
		}
		kgb_spec_release(&spec);
	}
}

/* ---- one tensor for two arguments ---- */

/* In how many of LINES cases like this one the second argument is the first. */
static size_t count_repeated(const struct kgb_arg args[3], size_t *n_third)
{
	size_t n = 0;

	*n_third = 0;
	for (int s = 0; s < LINES; s++) {
		struct kgb_case c = {.name = "twice", .n_args = 3};
		memcpy(c.args, args, 3 * sizeof(args[0]));
		const bool did =
			kgb_case_repeat_tensors(&c, &(struct kgb_seed){{(uint8_t)s}}, true);
		assert_false(c.args[0].is_repeated);
		assert_true(did == (c.args[1].is_repeated || c.args[2].is_repeated));
		n += c.args[1].is_repeated;
		*n_third += c.args[2].is_repeated;
		assert_int_equal(c.args[1].same_as, 0);
		assert_int_equal(c.args[2].same_as, 0);
	}
	return n;
}

static void
test_tensors_that_are_alike_are_passed_twice_in_half_of_the_cases(KGB_UNUSED void **state)
{
	static const struct kgb_param read = {
		.kind = KGB_PARAM_TENSOR, .result = -1, .layout = "contiguous"};
	static const struct kgb_param any = {
		.kind = KGB_PARAM_TENSOR, .result = -1, .layout = "$b_layout"};
	static const struct kgb_param held = {.kind = KGB_PARAM_TENSOR, .result = 0};
	static const struct kgb_param rows = {
		.kind = KGB_PARAM_TENSOR, .result = -1, .is_behind = true};
	const struct kgb_arg self = {.param = &read,
				     .view = {.dtype = KGB_DTYPE_FLOAT32,
					      .ndim = 2,
					      .sizes = {3, 4},
					      .strides = {4, 1},
					      .storage_elements = 12}};
	const struct kgb_arg third = {.param = &held, .view = self.view};
	size_t n_third;
	struct kgb_arg others[10];

	size_t n = count_repeated((struct kgb_arg[]){self, self, third}, &n_third);
	assert_in_range(n, LINES / 4, 3 * LINES / 4);
	assert_int_equal(n_third, 0);
	assert_int_equal(count_repeated((struct kgb_arg[]){self, self, self}, &n_third), n);
	assert_true(n_third > 0 && n_third < n);
	for (size_t i = 0; i < KGB_ARRAY_LEN(others); i++)
		others[i] = self;
	others[0].view.dtype = KGB_DTYPE_INT32;
	others[1].view.sizes[0] = 2;
	others[2].view.strides[0] = 5;
	others[3].view.offset = 3;
	others[4].fill = KGB_FILL_POSITIVE;
	others[5].hi = 2;
	others[6].param = &held;
	others[7].param = &rows;
	others[8].is_absent = true;
	others[9].read.shape = KGB_READ_MATRIX;
	for (size_t i = 0; i < KGB_ARRAY_LEN(others); i++)
		assert_int_equal(
			count_repeated((struct kgb_arg[]){self, others[i], third}, &n_third), 0);
	for (size_t i = 0; i < 3; i++)
		others[i] = self;
	others[2].param = &any;
	others[2].view.strides[0] = 5;
	assert_int_equal(count_repeated((struct kgb_arg[]){self, others[2], third}, &n_third), n);
	others[0].fill = others[1].fill = KGB_FILL_DISTINCT;
	assert_int_equal(count_repeated((struct kgb_arg[]){others[0], others[1], third}, &n_third),
			 0);
}

static void test_a_tensor_may_come_again_transposed_or_where_it_is_changed(KGB_UNUSED void **state)
{
	static const struct kgb_param read = {
		.kind = KGB_PARAM_TENSOR, .result = -1, .layout = "$b_layout"};
	static const struct kgb_param held = {
		.kind = KGB_PARAM_TENSOR, .result = 0, .layout = "contiguous"};
	static const struct kgb_param value = {.kind = KGB_PARAM_VALUE};
	const struct kgb_arg self = {.param = &read,
				     .view = {.dtype = KGB_DTYPE_FLOAT32,
					      .ndim = 2,
					      .sizes = {3, 4},
					      .strides = {4, 1},
					      .storage_elements = 12}};
	const struct kgb_arg none = {.param = &value};
	struct kgb_arg turned = self, changed = self;
	struct kgb_case c = {.name = "twice", .n_args = 3};
	size_t n_third;

	turned.view.sizes[0] = 4;
	turned.view.sizes[1] = 3;
	changed.param = &held;
	assert_int_equal(count_repeated((struct kgb_arg[]){changed, self, none}, &n_third), 0);
	assert_int_equal(count_repeated((struct kgb_arg[]){self, changed, none}, &n_third), 0);
	assert_int_equal(count_repeated((struct kgb_arg[]){changed, turned, none}, &n_third), 0);
	struct kgb_arg other = self;
	other.may_be_other = changed.may_be_other = true;
	assert_true(count_repeated((struct kgb_arg[]){changed, other, none}, &n_third) > LINES / 4);
	assert_true(count_repeated((struct kgb_arg[]){self, changed, none}, &n_third) > LINES / 4);
	memcpy(c.args, (struct kgb_arg[]){self, turned, none}, 3 * sizeof(self));
	assert_true(kgb_case_repeat_tensors(&c, &seed, false));
	assert_true(c.args[1].is_transposed && c.args[1].is_repeated);
	assert_int_equal(c.args[1].view.strides[0], 1);
	assert_int_equal(c.args[1].view.strides[1], 4);
}

/* Those cases of an interface behind its twins, each with one tensor, or one storage, for two
 * arguments, that have the mode; KGB_N_JUDGED_MODES: all. */
static size_t count_behind_twins(const struct kgb_cases *cases,
				 const struct kgb_interface *interface, enum kgb_mode mode,
				 bool is_part)
{
	size_t n = 0;
	bool is_behind = false;

	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i];
		if (c->interface != interface)
			continue;
		is_behind |= c->model != NULL;
		if (c->model || !is_behind || c->args[1].is_part != is_part)
			continue;
		assert_true(c->is_drawn && c->args[1].is_repeated);
		n += mode == KGB_N_JUDGED_MODES || c->mode == mode;
	}
	return n;
}

static int read_with_changes(void *changes, const char *path, struct kgb_buf *out,
			     struct kgb_err *err)
{
	struct spec_change *change = changes;

	return read_spec_file(kgb_str_eq(path, change[1].path) ? &change[1] : change, path, out,
			      err);
}

/* The toy with this template and another change. */
static void load_changed(const char *variables, struct spec_change change, struct kgb_spec *spec)
{
	KGB_AUTO(free) char *text = kgb_xasprintf("drawn:\n  - {id: t, %s}\ncases:\n", variables);
	struct spec_change changes[] = {{SET_PATH, "cases:\n", text}, change};
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_spec_load_with(SPEC_PATH, read_with_changes, changes, spec, &err), err);
}

static void test_each_draw_has_cases_of_one_storage(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	size_t n = 0, n_alike = 0;

	load_template("m: {size: [1, 20]}, n: {size: [1, 20]}, a: [\"$(m)\", \"$(n)\"], "
		      "a_layout: {layout: a}, b: [\"$(n)\"], alpha: 1",
		      &spec);
	for (int s = 0; s < LINES; s++) {
		struct kgb_cases cases;
		size_t n_behind = 0;
		assert_ok(kgb_cases_expand(&spec, &(struct kgb_seed){{(uint8_t)s}}, &cases, &err),
			  err);
		for (const struct kgb_case *c = cases.items; c < cases.items + cases.n; c++) {
			if (c->interface != &spec.interfaces[0] || !c->args[1].is_part)
				continue;
			assert_true(c->is_drawn && c->args[1].same_as == 0);
			n++;
			n_behind += c >= cases.items + cases.n - 20;
			n_alike += c->args[0].view.sizes[0] == c->args[0].view.sizes[1];
		}
		assert_true(n_behind > 0);
		kgb_cases_release(&cases);
	}
	assert_in_range(n, 4 * LINES, 9 * LINES);
	assert_true(n_alike > LINES / 4);
	kgb_spec_release(&spec);
}

static void test_numbers_that_differ_lie_in_different_places(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	struct kgb_cases cases;

	load_changed(
		"a: [3, 4], b: [4], a_layout: expanded",
		(struct spec_change){SPEC_PATH, "layout: $a_layout",
				     "layout: $a_layout, dtype: int64, fill: 'distinct(0,1999)'"},
		&spec);
	assert_int_equal(kgb_cases_expand(&spec, &seed, &cases, &err), -1);
	assert_contains(err.msg, "fill 'distinct(0,1999)' cannot hold in layout 'expanded'");
	kgb_spec_release(&spec);
}

static void test_each_draw_has_a_case_with_one_tensor_for_two(KGB_UNUSED void **state)
{
	static const struct {
		const char *variables;
		bool repeats, is_special;
	} rows[] = {
		{"a: {shape: [2, 3, 50]}, b: {broadcast: a}, alpha: {pick: [1, 2]}", true, true},
		{"a: {shape: [2, 3, 50]}, b: {broadcast: a}, alpha: {pick: [1, 2]}, mode: outlier",
		 true, false},
		{"a: [2, 3], b: [3], alpha: {pick: [1, 2]}", false, false},
	};
	struct kgb_err err = KGB_ERR_INIT;

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		struct kgb_spec spec;
		/* Both tensors have the same fill. */
		load_changed(rows[r].variables,
			     (struct spec_change){SPEC_PATH, ", fill: 'uniform(-2, 2)'", ""},
			     &spec);
		for (int s = 0; s < LINES; s++) {
			struct kgb_cases cases;
			assert_ok(kgb_cases_expand(&spec, &(struct kgb_seed){{(uint8_t)s}}, &cases,
						   &err),
				  err);
			const size_t n = count_behind_twins(&cases, &spec.interfaces[0],
							    KGB_N_JUDGED_MODES, false);
			assert_true((n > 0) == rows[r].repeats && n <= 4);
			assert_true((count_behind_twins(&cases, &spec.interfaces[0],
							KGB_MODE_SPECIAL, false) > 0) ==
				    rows[r].is_special);
			kgb_cases_release(&cases);
		}
		kgb_spec_release(&spec);
	}
}

/* toy.Tensor(Tensor self, Tensor other, *, Scalar alpha=1): alpha in half of the cases where it
 * is 1. */
static void test_defaults_are_left_out_in_half_of_the_cases(KGB_UNUSED void **state)
{
	static const struct {
		const char *variables, *schema;
		bool can;
	} rows[] = {
		{"alpha: 1", "alpha=1)", true},
		{"alpha: 2", "alpha=1)", false},
		{"alpha: 1.0", "alpha=1)", false},
		{"alpha: 1.0", "alpha=1.)", true},
		{"alpha: 1", "alpha=1.)", false},
		{"alpha: 0.5", "alpha=0.5, int b=1)", true},
		{"alpha: null", "alpha=None)", true},
		{"alpha: false", "alpha=False)", true},
		{"alpha: [0, 1]", "alpha=[0, 1])", true},
		{"alpha: [0]", "alpha=[0, 1])", false},
		{"alpha: 1", "alpha=10)", false},
		{"alpha: 1", "other_alpha=1)", false},
		{"alpha: .nan", "alpha=0.)", false},
		{"alpha: -0.0", "alpha=0.)", false},
		{"alpha: 0.0", "alpha=0.)", true},
	};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		KGB_AUTO(free)
		char *variables = kgb_xasprintf("a: [3], b: [3], %s", rows[r].variables);
		struct kgb_spec spec;
		struct kgb_err err = KGB_ERR_INIT;
		size_t n = 0;
		load_changed(variables, (struct spec_change){SPEC_PATH, "alpha=1)", rows[r].schema},
			     &spec);
		for (int s = 0; s < LINES; s++) {
			struct kgb_cases cases;
			assert_ok(kgb_cases_expand(&spec, &(struct kgb_seed){{(uint8_t)s}}, &cases,
						   &err),
				  err);
			for (size_t i = 0; i < cases.n; i++) {
				const struct kgb_arg *alpha = &cases.items[i].args[2];
				if (cases.items[i].interface != &spec.interfaces[0])
					continue;
				assert_true(cases.items[i].is_drawn || !alpha->is_left_out);
				n += alpha->is_left_out;
			}
			kgb_cases_release(&cases);
		}
		if (rows[r].can ? n < 4 * LINES || n > 8 * LINES : n > 0)
			fail_msg("row %zu: %zu of %d", r, n, 13 * LINES);
		kgb_spec_release(&spec);
	}
}

/* Without twins. */
static size_t count_of(const struct kgb_cases *cases, const struct kgb_interface *interface)
{
	size_t n = 0;

	for (size_t i = 0; i < cases->n; i++)
		n += cases->items[i].interface == interface && !cases->items[i].model;
	return n;
}

/* Beside `n` listed cases more. */
static void check_share(int n)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	struct kgb_cases listed, all;

	kgb_buf_adds(&text,
		     "drawn:\n  - {id: t, a: {shape: [0, 3, 50]}, b: {broadcast: a}, alpha: {pick: "
		     "[1, 2]}}\ncases:\n");
	for (int i = 0; i < n; i++)
		kgb_buf_addf(&text, "  - {id: s%d, a: [2, 3], b: [3], dtypes: [int64]}\n", i);
	load_toy((struct spec_change){SET_PATH, "cases:\n", text.ptr}, &spec);
	assert_ok(kgb_cases_expand(&spec, NULL, &listed, &err), err);
	assert_ok(kgb_cases_expand(&spec, &seed, &all, &err), err);
	for (size_t i = 0; i < spec.n_interfaces; i++) {
		const size_t others =
			count_behind_twins(&all, &spec.interfaces[i], KGB_N_JUDGED_MODES, false) +
			count_behind_twins(&all, &spec.interfaces[i], KGB_N_JUDGED_MODES, true);
		const size_t of_all = count_of(&all, &spec.interfaces[i]) - others;
		const size_t drawn = of_all - count_of(&listed, &spec.interfaces[i]);
		assert_true(5 * drawn >= 2 * of_all);
		assert_true(n > 0 ? drawn > 2 * KGB_DRAW_MODES && 20 * drawn < 9 * of_all
				  : drawn == 2 * KGB_DRAW_MODES);
	}
	assert_string_equal(all.items[count_of(&listed, &spec.interfaces[0])].line->id, "t.0");
	kgb_cases_release(&all);
	kgb_cases_release(&listed);
	kgb_spec_release(&spec);
}

static void test_two_fifths_are_drawn_but_each_mode_twice(KGB_UNUSED void **state)
{
	check_share(0);
	check_share(30);
}

/* Each function has ten drawn cases here, before those of one storage. */
static void test_calls_have_the_styles_of_users(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	struct kgb_err err = KGB_ERR_INIT;
	size_t types[KGB_N_DEFAULT_TYPES] = {0};

	load_changed("a: [3], b: [3], alpha: 1",
		     (struct spec_change){SPEC_PATH, "alpha=1)", "alpha=1)"}, &spec);
	for (int s = 0; s < LINES; s++) {
		struct kgb_cases cases;
		size_t names = 0, tuples = 0, parameters = 0, left_out = 0, other_types = 0,
		       without_asserts = 0, modes[3] = {0}, gradients[3] = {0}, callers[4] = {0},
		       n = 0;
		assert_ok(kgb_cases_expand(&spec, &(struct kgb_seed){{(uint8_t)s}}, &cases, &err),
			  err);
		for (const struct kgb_case *c = cases.items; c < cases.items + cases.n; c++) {
			assert_true(c->is_drawn ||
				    (!c->style.passes_names && !c->style.passes_tuples &&
				     !c->style.passes_parameters && !c->style.default_type &&
				     !c->style.gradient && !c->style.grad_mode &&
				     !c->style.caller && !c->style.without_asserts));
			if (c->interface != &spec.interfaces[0] || !c->is_drawn || n++ >= 10)
				continue;
			names += c->style.passes_names;
			tuples += c->style.passes_tuples;
			parameters += c->style.passes_parameters;
			left_out += c->args[2].is_left_out;
			other_types += c->style.default_type > 0;
			without_asserts += c->style.without_asserts;
			types[c->style.default_type]++;
			gradients[c->style.gradient]++;
			modes[c->style.grad_mode]++;
			callers[c->style.caller]++;
		}
		assert_in_range(names, 2, 3);
		assert_int_equal(tuples, 5);
		assert_in_range(parameters, 2, 3);
		assert_int_equal(left_out, 5);
		assert_in_range(other_types, 2, 3);
		assert_int_equal(without_asserts, 5);
		assert_in_range(gradients[KGB_GRADIENT_NONE], 4, 6);
		assert_in_range(gradients[KGB_GRADIENT_LEAF], 2, 3);
		assert_in_range(gradients[KGB_GRADIENT_RESULT], 2, 3);
		assert_in_range(modes[KGB_GRAD_ENABLED], 4, 6);
		assert_in_range(modes[KGB_GRAD_DISABLED], 2, 3);
		assert_in_range(modes[KGB_GRAD_INFERENCE], 2, 3);
		assert_in_range(callers[KGB_CALLER_TRACED], 2, 3);
		assert_in_range(callers[KGB_CALLER_COMPILED], 1, 2);
		assert_in_range(callers[KGB_CALLER_EXPORTED], 1, 2);
		kgb_cases_release(&cases);
	}
	for (size_t i = 0; i < KGB_N_DEFAULT_TYPES; i++)
		assert_true(types[i] > LINES / 2);
	kgb_spec_release(&spec);
}

static void test_only_floats_that_are_read_have_gradients(KGB_UNUSED void **state)
{
	static const struct kgb_param read = {.kind = KGB_PARAM_TENSOR, .result = -1};
	static const struct kgb_param held = {.kind = KGB_PARAM_TENSOR, .result = 0};
	const struct kgb_tensor_view floats = {.dtype = KGB_DTYPE_BFLOAT16};
	struct kgb_case c = {
		.n_args = 6,
		.style.gradient = KGB_GRADIENT_LEAF,
		.args = {{.param = &read, .view = floats},
			 {.param = &read, .view.dtype = KGB_DTYPE_COMPLEX64},
			 {.param = &read, .view.dtype = KGB_DTYPE_INT64},
			 {.param = &read, .view = floats, .is_absent = true},
			 {.param = &held, .view = floats},
			 {.param = &read, .view = floats, .is_repeated = true, .same_as = 4}}};

	for (size_t i = 0; i < c.n_args; i++)
		assert_int_equal(kgb_case_has_gradient(&c, i), i < 2);
	c.style.gradient = KGB_GRADIENT_NONE;
	assert_false(kgb_case_has_gradient(&c, 0));
}

/* "full(2.5)" without a tensor, or of integers, would get another type. */
static void test_the_default_type_changes_only_where_results_have_their_own(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_cases cases;

	load_changed("a: [3], b: [3], dtypes: [int64]",
		     (struct spec_change){SPEC_PATH, "alpha=1)", "alpha=1)"}, &spec);
	assert_ok(kgb_cases_expand(&spec, &seed, &cases, &err), err);
	for (size_t i = 0; i < cases.n; i++)
		assert_int_equal(cases.items[i].style.default_type, KGB_DEFAULT_FLOAT32);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms_without_chance),
		cmocka_unit_test(test_errors_name_the_place),
		cmocka_unit_test(test_choices_are_dealt),
		cmocka_unit_test(test_a_seed_decides),
		cmocka_unit_test(test_ranges_are_kept_and_reached),
		cmocka_unit_test(test_a_few_floats_are_far_smaller_than_others),
		cmocka_unit_test(test_shapes_keep_their_limits),
		cmocka_unit_test(test_one_line_in_ten_is_long),
		cmocka_unit_test(test_layouts_suit_the_shape),
		cmocka_unit_test(test_types_modes_and_classes_are_dealt),
		cmocka_unit_test(test_a_change_is_of_one_variable_and_what_follows_from_it),
		cmocka_unit_test(test_each_number_has_twins),
		cmocka_unit_test(test_tensors_that_are_alike_are_passed_twice_in_half_of_the_cases),
		cmocka_unit_test(test_a_tensor_may_come_again_transposed_or_where_it_is_changed),
		cmocka_unit_test(test_numbers_that_differ_lie_in_different_places),
		cmocka_unit_test(test_each_draw_has_a_case_with_one_tensor_for_two),
		cmocka_unit_test(test_each_draw_has_cases_of_one_storage),
		cmocka_unit_test(test_defaults_are_left_out_in_half_of_the_cases),
		cmocka_unit_test(test_calls_have_the_styles_of_users),
		cmocka_unit_test(test_only_floats_that_are_read_have_gradients),
		cmocka_unit_test(test_the_default_type_changes_only_where_results_have_their_own),
		cmocka_unit_test(test_two_fifths_are_drawn_but_each_mode_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
