/* SPDX-License-Identifier: MIT */
#include "base/formats/json.h"
#include "tests/unit/verify/spec_files.h"
#include "verify/cases/cases.h"
#include "verify/cases/repeat.h"
#include "verify/draw/draw.h"

enum { LINES = 64 };

/* The toy's case set with one template, whose variables are given. */
static void load_template(const char *variables, struct kgb_spec *spec)
{
	KGB_AUTO(free) char *text = kgb_xasprintf("drawn:\n  - {id: t, %s}\ncases:\n", variables);

	load_toy((struct spec_change){SET_PATH, "cases:\n", text}, spec);
}

/* All numbers above six together are as frequent as any other. */
static void test_seven_and_eight_dimensions_share_one_card(KGB_UNUSED void **state)
{
	static const struct kgb_seed seed = {{7, 1, 9}};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	size_t n_dims[KGB_MAX_DIMS + 1] = {0};

	load_template("x: {shape: [1, 8, 6000]}", &spec);
	const struct kgb_draw draw = {.spec = &spec,
				      .interface = &spec.interfaces[0],
				      .set = spec.case_sets,
				      .seed = &seed,
				      .arena = &arena,
				      .err = &err};
	for (uint32_t n = 0; n < 7 * LINES; n++) {
		struct kgb_case_vars line;
		assert_ok(kgb_draw_line(&draw, &spec.case_sets->drawn[0], n, NULL, &line), err);
		n_dims[cJSON_GetArraySize(kgb_json_get(line.vars, "x"))]++;
	}
	for (int k = 1; k <= 6; k++)
		assert_int_equal(n_dims[k], LINES);
	assert_true(n_dims[7] > LINES / 4 && n_dims[8] > LINES / 4);
	kgb_spec_release(&spec);
}

/* One line in ten has a size of 1 beside others, in half of them the one before the last, and a
 * dense layout in which its stride is any number. */
static void test_one_line_in_ten_has_a_size_of_one(KGB_UNUSED void **state)
{
	static const struct {
		const char *variables;
		bool has_one;
	} rows[] = {
		{"a: {shape: [0, 4, 900]}, x: {layout: a}", true},
		{"a: {shape: [2, 2, 900]}, x: {written: a}", true},
		{"a: {shape: [1, 1, 900]}, x: {layout: a}", false},
		{"a: [1, 7], x: {layout: a}", true},
		{"a: [3, 7], x: {layout: a}", false},
	};

	static const struct kgb_seed seed = {{7, 1, 9}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_spec spec;
		size_t n_ones = 0;
		load_template(rows[i].variables, &spec);
		const struct kgb_draw draw = {.spec = &spec,
					      .interface = &spec.interfaces[0],
					      .set = spec.case_sets,
					      .seed = &seed,
					      .arena = &arena,
					      .err = &err};
		for (uint32_t n = 0; n < 4 * LINES; n++) {
			struct kgb_case_vars line;
			assert_ok(kgb_draw_line(&draw, &spec.case_sets->drawn[0], n, NULL, &line),
				  err);
			const cJSON *sizes = kgb_json_get(line.vars, "a"), *size = NULL;
			bool has_one = false;
			cJSON_ArrayForEach(size, sizes)
				has_one |= size->valuedouble == 1;
			if (!kgb_str_starts(kgb_json_get(line.vars, "x")->valuestring, "ones("))
				continue;
			assert_true(has_one && cJSON_GetArraySize(sizes) >= 2);
			n_ones++;
		}
		assert_in_range(n_ones, rows[i].has_one ? 4 * LINES / 12 : 0,
				rows[i].has_one ? 4 * LINES / 3 : 0);
		kgb_spec_release(&spec);
	}
}

/* Two tensors of one shape have the same layout in one line of four at least. */
static void test_tensors_of_one_shape_often_have_one_layout(KGB_UNUSED void **state)
{
	static const struct kgb_seed seed = {{7, 1, 9}};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	size_t n_same = 0, n_other = 0;

	load_template("a: [2, 3, 4], b: [3, 4], a_layout: {layout: a}, b_layout: {layout: b}, "
		      "c_layout: {layout: a}",
		      &spec);
	const struct kgb_draw draw = {.spec = &spec,
				      .interface = &spec.interfaces[0],
				      .set = spec.case_sets,
				      .seed = &seed,
				      .arena = &arena,
				      .err = &err};
	for (uint32_t n = 0; n < 4 * LINES; n++) {
		struct kgb_case_vars line;
		assert_ok(kgb_draw_line(&draw, &spec.case_sets->drawn[0], n, NULL, &line), err);
		const char *a = kgb_json_get(line.vars, "a_layout")->valuestring;
		const bool is_view = strchr(a, '(') != NULL;
		n_same +=
			is_view && kgb_str_eq(a, kgb_json_get(line.vars, "c_layout")->valuestring);
		n_other +=
			is_view && kgb_str_eq(a, kgb_json_get(line.vars, "b_layout")->valuestring);
	}
	assert_in_range(n_same, LINES / 8, LINES);
	assert_int_equal(n_other, 0);
	kgb_spec_release(&spec);
}

static const struct kgb_case *model_of(const struct kgb_cases *cases, const struct kgb_case *c)
{
	const struct kgb_case *model = cases->items;

	while (model->line != c->model)
		model++;
	return model;
}

/* Whether the first interface has a case that shows the layout; a twin differs from its model in
 * the layouts alone. */
static bool shows_layout(const struct kgb_spec *spec, const struct kgb_cases *cases,
			 const char *layout)
{
	bool is_shown = false;

	for (const struct kgb_case *c = cases->items; c < cases->items + cases->n; c++) {
		const struct kgb_tensor_view *view = &c->args[0].view;
		if (c->interface != &spec->interfaces[0] || !kgb_str_eq(c->args[0].layout, layout))
			continue;
		is_shown |= view->ndim == 3 && view->sizes[0] > 1 && view->sizes[1] > 1 &&
			    view->sizes[2] > 1;
		if (!c->model)
			continue;
		const struct kgb_case *model = model_of(cases, c);
		assert_memory_equal(view->sizes, model->args[0].view.sizes, sizeof(view->sizes));
		assert_int_equal(c->dtype, model->dtype);
		assert_int_equal(c->style.grad_mode, model->style.grad_mode);
		assert_string_not_equal(c->name, model->name);
	}
	return is_shown;
}

static void test_each_draw_has_views_of_all_kinds(KGB_UNUSED void **state)
{
	static const char *const kinds[] = {"rotated", "cropped",         "stepped",
					    "column",  "expanded_middle", "expanded_last",
					    "windows", "expanded_all",    "crowded"};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;

	load_template("a: [{size: [2, 9]}, {size: [2, 9]}, {size: [2, 9]}], a_layout: {layout: a}, "
		      "b: [1], alpha: 1",
		      &spec);
	for (int s = 0; s < LINES; s++) {
		struct kgb_cases cases;
		assert_ok(kgb_cases_expand(&spec, &(struct kgb_seed){{(uint8_t)s}}, &cases, &err),
			  err);
		for (size_t k = 0; k < KGB_ARRAY_LEN(kinds); k++)
			assert_true(shows_layout(&spec, &cases, kinds[k]));
		kgb_cases_release(&cases);
	}
	kgb_spec_release(&spec);
}

/* One of two arguments of square matrices is the other one, or its transpose. */
static void test_half_of_the_pairs_of_square_matrices_are_transposed(KGB_UNUSED void **state)
{
	static const struct kgb_seed seed = {{7, 1, 9}};
	static const struct kgb_param param = {
		.kind = KGB_PARAM_TENSOR, .result = -1, .layout = "$a_layout"};
	const struct kgb_arg square = {.param = &param,
				       .view = {.dtype = KGB_DTYPE_FLOAT32,
						.ndim = 2,
						.sizes = {3, 3},
						.strides = {3, 1},
						.storage_elements = 9}};
	size_t n_transposed = 0;

	for (int n = 0; n < LINES; n++) {
		KGB_AUTO(free) char *name = kgb_xasprintf("case %d", n);
		struct kgb_case c = {.name = name, .n_args = 2, .args = {square, square}};
		assert_true(kgb_case_repeat_tensors(&c, &seed, false));
		n_transposed += c.args[1].is_transposed;
		assert_int_equal(c.args[1].view.strides[0], c.args[1].is_transposed ? 1 : 3);
	}
	assert_in_range(n_transposed, LINES / 4, 3 * LINES / 4);
}

static double number_of(const struct kgb_case_vars *line, const char *name)
{
	return kgb_json_get(line->vars, name)->valuedouble;
}

/* Other lines have three equal sizes and no gap by chance only. */
static void test_one_line_in_four_is_packed(KGB_UNUSED void **state)
{
	static const struct kgb_seed seed = {{7, 1, 9}};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	size_t n = 0, n_flags[9] = {0};

	load_template("flag: {pick: [0, 1, 2, 3, 4, 5, 6, 7, 8]}, m: {size: [1, 90]}, "
		      "n: {size: [0, 70]}, k: {size: [0, 400]}, gap: {pick: [0, {int: [1, 9]}]}, "
		      "x: {size: [1000, 2000]}",
		      &spec);
	const struct kgb_draw draw = {.spec = &spec,
				      .interface = &spec.interfaces[0],
				      .set = spec.case_sets,
				      .seed = &seed,
				      .arena = &arena,
				      .err = &err};
	for (uint32_t i = 0; i < 16 * LINES; i++) {
		struct kgb_case_vars line;
		assert_ok(kgb_draw_line(&draw, &spec.case_sets->drawn[0], i, NULL, &line), err);
		const double m = number_of(&line, "m");
		assert_in_range(number_of(&line, "x"), 1000, 2000);
		if (number_of(&line, "gap") != 0 || number_of(&line, "k") != m ||
		    (number_of(&line, "n") != m && m <= 70))
			continue;
		n++;
		n_flags[(size_t)number_of(&line, "flag")]++;
	}
	assert_in_range(n, 16 * LINES / 5, 16 * LINES / 3);
	for (size_t i = 0; i < KGB_ARRAY_LEN(n_flags); i++)
		assert_true(n_flags[i] > n / 20);
	kgb_spec_release(&spec);
}

/* The kinds of the numbers of a model and its twins that are equal to 1, as bits. */
static unsigned kinds_of_one(const struct kgb_cases *cases, const struct kgb_case *model)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i];
		const struct kgb_case_value *value = &c->args[2].value;
		if ((c == model || c->model == model->line) && c->interface == model->interface)
			kinds |= 1U << value->kind;
	}
	return kinds;
}

static void test_a_number_has_twins_of_both_other_kinds(KGB_UNUSED void **state)
{
	static const unsigned all =
		1U << KGB_CASE_VALUE_BOOL | 1U << KGB_CASE_VALUE_INT | 1U << KGB_CASE_VALUE_FLOAT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;

	load_template("a: {shape: [1, 3, 50]}, b: $a, alpha: {pick: [1, 1.0, true]}", &spec);
	for (int s = 0; s < LINES; s++) {
		struct kgb_cases cases;
		bool has_all = false;
		assert_ok(kgb_cases_expand(&spec, &(struct kgb_seed){{(uint8_t)s}}, &cases, &err),
			  err);
		for (size_t i = 0; i < cases.n; i++)
			has_all |= !cases.items[i].model && cases.items[i].is_drawn &&
				   kinds_of_one(&cases, &cases.items[i]) == all;
		assert_true(has_all);
		kgb_cases_release(&cases);
	}
	kgb_spec_release(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seven_and_eight_dimensions_share_one_card),
		cmocka_unit_test(test_one_line_in_ten_has_a_size_of_one),
		cmocka_unit_test(test_tensors_of_one_shape_often_have_one_layout),
		cmocka_unit_test(test_each_draw_has_views_of_all_kinds),
		cmocka_unit_test(test_a_number_has_twins_of_both_other_kinds),
		cmocka_unit_test(test_one_line_in_four_is_packed),
		cmocka_unit_test(test_half_of_the_pairs_of_square_matrices_are_transposed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
