/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "agent/compare/sides.h"
#include "agent/compare/versus.h"
#include "tests/unit/base/support.h"

#define NO ((double)NAN)

/* ---- what a comparison comes to ---- */

/* Shares are differences, of which 0.05 is small; ratios are factors, of which 1.05 is. */
static const struct {
	const char *what;
	bool is_ratio;
	size_t n;
	double value, low, high, p, detectable;
	enum kgb_outcome outcome;
	double size;
} outcomes[] = {
	{"better", false, 30, 0.2, 0.1, 0.3, 0.05, 0.1, KGB_OUTCOME_BETTER, NO},
	{"worse", false, 30, -0.2, -0.3, -0.1, 0.01, 0.1, KGB_OUTCOME_WORSE, NO},
	{"a small difference that is sure", false, 900, 0.01, 0.005, 0.02, 0.01, 0.01,
	 KGB_OUTCOME_BETTER, NO},
	{"no difference beyond the farther end", false, 900, 0.01, -0.02, 0.04, 0.4, 0.03,
	 KGB_OUTCOME_ALIKE, 0.04},
	{"the lower end is the farther one", false, 900, -0.01, -0.05, 0.03, 0.4, 0.03,
	 KGB_OUTCOME_ALIKE, 0.05},
	{"an interval that is too wide", false, 30, 0.01, -0.1, 0.04, 0.4, 0.12, KGB_OUTCOME_UNSURE,
	 0.12},
	{"equal differences, few operators", false, 30, 0, NO, NO, 1, 0.09, KGB_OUTCOME_UNSURE,
	 0.09},
	{"equal differences, many operators", false, 900, 0, NO, NO, 1, 0.003, KGB_OUTCOME_ALIKE,
	 0.003},
	{"no operator", false, 0, NO, NO, NO, NO, NO, KGB_OUTCOME_NOTHING, NO},
	{"faster", true, 30, 1.2, 1.1, 1.3, 0.02, 1.1, KGB_OUTCOME_BETTER, NO},
	{"slower", true, 30, 0.9, 0.8, 0.95, 0.02, 1.1, KGB_OUTCOME_WORSE, NO},
	{"as fast", true, 900, 1.01, 0.98, 1.04, 0.3, 1.02, KGB_OUTCOME_ALIKE, 1.04},
	{"as fast, by the lower end", true, 900, 0.98, 0.96, 1.01, 0.3, 1.02, KGB_OUTCOME_ALIKE,
	 1 / 0.96},
	{"too wide a ratio", true, 30, 1.01, 0.9, 1.2, 0.3, 1.15, KGB_OUTCOME_UNSURE, 1.15},
};

static void test_a_comparison_comes_to_one_of_five_outcomes(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(outcomes); i++) {
		const struct kgb_versus versus = {
			.d = {.value = outcomes[i].value,
			      .low = outcomes[i].low,
			      .high = outcomes[i].high,
			      .n = outcomes[i].n},
			.p = outcomes[i].p,
			.detectable = outcomes[i].detectable,
		};
		double size = 0;
		const enum kgb_outcome outcome = kgb_versus_outcome(
			&versus, outcomes[i].is_ratio ? kgb_measure_speedup : kgb_measure_correct,
			&size);
		if (outcome != outcomes[i].outcome ||
		    !(isnan(outcomes[i].size) ? isnan(size)
					      : fabs(size - outcomes[i].size) < 1e-12))
			fail_msg("%s: outcome %d, size %g", outcomes[i].what, outcome, size);
	}
}

/* ---- which runs are one side ---- */

static const struct {
	const char *what;
	struct kgb_run_row runs[4];
	enum kgb_sides_by by;
	const char *sides; /* the side of each run, and the labels */
} groupings[] = {
	{"methods",
	 {{.method = "a", .model = "m"},
	  {.method = "b", .model = "m"},
	  {.method = "a", .model = "m"}},
	 KGB_SIDES_BY_METHOD_OR_WORD,
	 "0 1 0: a, b"},
	{"models of one method",
	 {{.method = "a", .model = "m"},
	  {.method = "a", .model = "n"},
	  {.method = "a", .model = "m"}},
	 KGB_SIDES_BY_METHOD_OR_WORD,
	 "0 1 0: a m, a n"},
	{"offline and live are never joined",
	 {{.method = "a", .model = "m"}, {.method = "a", .model = "m", .is_offline = true}},
	 KGB_SIDES_BY_METHOD,
	 "0 1: a m, a m OFFLINE"},
	{"one method, two words",
	 {{.method = "a", .word = "old"},
	  {.method = "a", .word = "new"},
	  {.method = "a", .word = "old"}},
	 KGB_SIDES_BY_METHOD_OR_WORD,
	 "0 1 0: old, new"},
	{"one method, two words, of which one is the name of a run",
	 {{.method = "a", .word = "old"},
	  {.method = "a", .word = "a_KernelGenBench_20261121T080000Z_0a1b"}},
	 KGB_SIDES_BY_METHOD_OR_WORD,
	 "0 1: old, a #2"},
	{"one method, one word",
	 {{.method = "a", .word = "all"}, {.method = "a", .word = "all"}},
	 KGB_SIDES_BY_METHOD_OR_WORD,
	 "0 1: a #1, a #2"},
	{"one method, and the words do not matter",
	 {{.method = "a", .word = "old"}, {.method = "a", .word = "new"}},
	 KGB_SIDES_BY_METHOD,
	 "0 0: a"},
	{"each run",
	 {{.method = "a"}, {.method = "b"}, {.method = "a"}},
	 KGB_SIDES_BY_RUN,
	 "0 1 2: a #1, b, a #2"},
	{"each run, of two models",
	 {{.method = "a", .model = "m", .word = "x"},
	  {.method = "a", .model = "n", .word = "x"},
	  {.method = "a", .model = "m", .word = "y"},
	  {.method = "a", .model = "m", .word = "x", .is_offline = true}},
	 KGB_SIDES_BY_RUN,
	 "0 1 2 3: a m #1, a n, y, a m OFFLINE"},
};

static void test_runs_are_sorted_into_sides(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(groupings); i++) {
		struct kgb_runs runs = {0};
		KGB_AUTO(sides) struct kgb_sides sides = {.arena = KGB_ARENA_INIT};
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		struct kgb_err err = KGB_ERR_INIT;
		for (size_t r = 0; r < 4 && groupings[i].runs[r].method; r++) {
			struct kgb_run_row run = groupings[i].runs[r];
			run.path = "/nonexistent";
			KGB_VEC_ADD(&runs.list, run);
		}
		assert_ok(kgb_sides_of(&runs, groupings[i].by, &sides, &err), err);
		KGB_VEC_FOREACH(run, &runs.list)
			for (size_t s = 0; s < sides.list.n; s++)
				KGB_VEC_FOREACH(member, &sides.list.items[s].runs)
					if (*member == run)
						kgb_buf_addf(&text, "%s%zu",
							     text.len > 0 ? " " : "", s);
		for (size_t s = 0; s < sides.list.n; s++)
			kgb_buf_addf(&text, "%s%s", s > 0 ? ", " : ": ", sides.list.items[s].label);
		if (!kgb_str_eq(text.ptr, groupings[i].sides))
			fail_msg("%s: %s", groupings[i].what, text.ptr);
		KGB_VEC_RELEASE(&runs.list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_comparison_comes_to_one_of_five_outcomes),
		cmocka_unit_test(test_runs_are_sorted_into_sides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
