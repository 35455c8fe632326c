/* SPDX-License-Identifier: MIT */
#include "tests/unit/verify/spec_files.h"
#include "verify/lint/lint_parts.h"

#define SHAPES "a: {shape: [0, 2, 50]}, b: {pick: [[1], [4, 7]]}, "
#define LAYOUTS "a_layout: {layout: a}, "
#define NUMBERS "alpha: {pick: [1, -0.5]}, "
#define TYPES "dtypes: [float32, float16, int64]"

/* What the lint notes of the toy with these templates and further listed cases. */
static void lint_toy(const char *drawn, const char *listed, struct kgb_lint_report *report)
{
	KGB_AUTO(free) char *text = kgb_xasprintf("%scases:\n%s", drawn, listed);
	struct kgb_lint lint = {.report = report};
	struct kgb_err err = KGB_ERR_INIT;

	load_toy((struct spec_change){SET_PATH, "cases:\n", text}, &lint.judge.spec);
	assert_ok(kgb_lint_coverage(&lint, &err), err);
	kgb_spec_release(&lint.judge.spec);
}

static void test_templates_that_give_all_that_is_listed_are_good(KGB_UNUSED void **state)
{
	struct kgb_lint_report report = {0};

	lint_toy("drawn:\n  - {id: t, " SHAPES LAYOUTS NUMBERS TYPES "}\n", "", &report);
	assert_int_equal(report.n_problems, 0);
	kgb_lint_report_release(&report);
}

static bool has_problem(const struct kgb_lint_report *report, const char *text)
{
	for (size_t i = 0; i < report->problems.n; i++)
		if (kgb_str_eq(report->problems.items[i], text))
			return true;
	return false;
}

static void test_what_only_listed_cases_show_is_a_problem(KGB_UNUSED void **state)
{
	static const struct {
		const char *drawn, *problem;
	} rows[] = {
		{"", "no case is drawn: its case sets need templates (drawn)"},
		{"a: {shape: [1, 2, 50]}, b: {pick: [[1], [4, 7]]}, " LAYOUTS NUMBERS TYPES,
		 "2 listed cases have self with 0 dimensions, but none is drawn with it"},
		{SHAPES NUMBERS TYPES,
		 "1 listed cases have self transposed, but none is drawn with it"},
		{SHAPES LAYOUTS TYPES,
		 "2 listed cases have alpha negative, but none is drawn with it"},
		{SHAPES LAYOUTS NUMBERS "dtypes: [float32, float16]",
		 "1 listed cases have type int64, but none is drawn with it"},
		{SHAPES LAYOUTS NUMBERS TYPES ", mode: {pick: [standard, special]}",
		 "1 listed cases have mode outlier, but none is drawn with it"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_lint_report report = {0};
		KGB_AUTO(free)
		char *drawn = rows[i].drawn[0] == '\0'
				      ? kgb_xstrdup("")
				      : kgb_xasprintf("drawn:\n  - {id: t, %s}\n", rows[i].drawn);
		KGB_AUTO(free)
		char *problem = kgb_xasprintf("coverage: toy_Tensor: %s", rows[i].problem);

		lint_toy(drawn, "", &report);
		if (!has_problem(&report, problem))
			fail_msg("row %zu: no problem '%s'", i, problem);
		kgb_lint_report_release(&report);
	}
}

static void test_flags_come_with_all_sizes(KGB_UNUSED void **state)
{
	static const char listed[] = "  - {id: flag, a: [1, 5], b: [4, 5], alpha: true}\n";
	static const struct {
		const char *a, *problem;
	} rows[] = {
		{"[[1, 6], [2, 6]]", "an odd last size of self"},
		{"[[2, 5], [3, 5]]", "a size of 1 of self"},
		{"[[5], [1]]", "2 dimensions of self"},
		{"[[1, 6], [2, 5]]", NULL},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_lint_report report = {0};
		KGB_AUTO(free)
		char *drawn = kgb_xasprintf(
			"drawn:\n  - {id: t, " SHAPES LAYOUTS NUMBERS TYPES "}\n"
			"  - {id: flags, a: {pick: %s}, b: {pick: [[4, 5], [1]]}, alpha: true}\n",
			rows[i].a);
		lint_toy(drawn, listed, &report);
		for (size_t k = 0; k < KGB_ARRAY_LEN(rows) - 1; k++) {
			KGB_AUTO(free)
			char *problem =
				kgb_xasprintf("coverage: toy_Tensor: 2 listed cases have "
					      "alpha True with %s, but none is drawn with it",
					      rows[k].problem);
			assert_int_equal(has_problem(&report, problem), i == k);
		}
		kgb_lint_report_release(&report);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_templates_that_give_all_that_is_listed_are_good),
		cmocka_unit_test(test_what_only_listed_cases_show_is_a_problem),
		cmocka_unit_test(test_flags_come_with_all_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
