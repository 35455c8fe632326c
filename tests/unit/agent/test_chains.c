/* SPDX-License-Identifier: MIT */
/** \file
 * Chains of rounds of a bare model: which are cut off, and refine@r.
 */
#include <math.h>

#include "agent/report/refine.h"
#include "agent/store/chains.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/unit/agent/agent_test.h"

#define UNKNOWN (-1)
#define CHAINS 3
#define ROUNDS 4

/* A chain has two letters for each round: its check (p passed, f failed, - none) and its verdict (P
 * passed, C failed but right on core cases, F failed without that, X cheated, ? none). */
static const struct {
	const char *chains[CHAINS];
	int n_missing; /* with ROUNDS */
	double correct[ROUNDS], core[ROUNDS]; /* by r */
} cases[] = {
	/* nothing is there */
	{{"", "", ""},
	 3,
	 {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN},
	 {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
	/* all rounds, and a chain that ends early */
	{{"fF fF fC -P", "pP", "fF fF fF -F"},
	 0,
	 {1 / 3.0, 1 / 3.0, 1 / 3.0, 2 / 3.0},
	 {1 / 3.0, 1 / 3.0, 2 / 3.0, 2 / 3.0}},
	/* The final seeds find what the check did not: the chain stays as it is. */
	{{"pC", "pF", "pP"},
	 0,
	 {1 / 3.0, 1 / 3.0, 1 / 3.0, 1 / 3.0},
	 {2 / 3.0, 2 / 3.0, 2 / 3.0, 2 / 3.0}},
	/* The final seeds let through what a check has not: solved, and the chain goes on. */
	{{"fP fF", "", ""}, 3, {1, 1, 1, 1}, {1, 1, 1, 1}},
	/* A chain that is cut off is known as far as it goes. */
	{{"fF fF", "fF fP", ""}, 3, {0, .5, 1, 1}, {0, .5, 1, 1}},
	/* A round without a verdict hides what comes after it, unless a later one is right. */
	{{"f? fF fF -F", "f? pP", "fF fF fF -F"}, 0, {0, .5, .5, .5}, {0, .5, .5, .5}},
	/* A kernel that cheats reaches nothing. */
	{{"fX fX fX -X", "fX pP", ""}, 1, {0, .5, .5, .5}, {0, .5, .5, .5}},
};

/** Fill the rows of one chain in, a later round first: answers of chains come in any order. */
static void add_chain(struct kgb_op_state *op, int number, const char *text)
{
	const int n = (int)(strlen(text) + 1) / 3;
	for (int round = n; round > 0; round--) {
		const char check = text[3 * (round - 1)], verdict = text[3 * (round - 1) + 1];
		op->samples[op->n_samples++] =
			(struct kgb_sample){.number = number,
					    .round = round,
					    .check_status = check == 'p'   ? "passed"
							    : check == 'f' ? "failed"
									   : NULL,
					    .has_verdict = verdict != '?',
					    .status = verdict == 'P'   ? "passed"
						      : verdict == 'X' ? "cheated"
						      : verdict == '?' ? NULL
								       : "failed",
					    .reached = verdict == 'P'   ? "correct"
						       : verdict == 'C' ? "core"
						       : verdict == '?' ? NULL
									: "compiles"};
	}
}

static void check_refine(size_t i, const struct kgb_run_state *state, enum kgb_sample_rung rung,
			 const double *wanted)
{
	for (int r = 1; r <= ROUNDS; r++) {
		const double is = kgb_op_refine_at_r(state, &state->ops[0], rung, r);
		const double want = wanted[r - 1];
		if (want < 0 ? !isnan(is) : !(fabs(is - want) < 1e-12))
			fail_msg("case %zu, rung %d, r %d: %g, wanted %g", i, (int)rung, r, is,
				 want);
	}
}

static void test_chains_are_counted_as_far_as_they_are_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_sample samples[CHAINS * ROUNDS];
		struct kgb_op_state op = {.name = "aten::add", .samples = samples};
		struct kgb_run_state run = {
			.ops = &op, .n_ops = 1, .n_samples = CHAINS, .n_rounds = ROUNDS};
		for (int c = 0; c < CHAINS; c++)
			add_chain(&op, c + 1, cases[i].chains[c]);
		if (kgb_op_missing(&op, CHAINS, ROUNDS) != cases[i].n_missing)
			fail_msg("case %zu: %d are missing", i,
				 kgb_op_missing(&op, CHAINS, ROUNDS));
		check_refine(i, &run, KGB_SAMPLE_CORRECT, cases[i].correct);
		check_refine(i, &run, KGB_SAMPLE_CORE, cases[i].core);
		for (int r = 1; r <= ROUNDS; r++) {
			const struct kgb_estimate e =
				kgb_run_refine_at_r(&run, KGB_SAMPLE_CORRECT, r);
			assert_int_equal(e.n, cases[i].correct[r - 1] >= 0);
		}
	}
}

static void test_missing_samples_follow_from_what_is_asked_now(void **state)
{
	(void)state;
	struct kgb_sample samples[CHAINS * ROUNDS];
	struct kgb_op_state op = {.samples = samples};
	add_chain(&op, 1, "fF");
	add_chain(&op, 2, "pP");
	static const struct {
		int n_samples, n_rounds, n_missing;
	} rows[] = {{2, 0, 0}, {2, 1, 0}, {5, 0, 3}, {1, 0, 0}, {2, 2, 1}, {1, 2, 1}, {3, 2, 2}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		assert_int_equal(kgb_op_missing(&op, rows[i].n_samples, rows[i].n_rounds),
				 rows[i].n_missing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains_are_counted_as_far_as_they_are_known),
		cmocka_unit_test(test_missing_samples_follow_from_what_is_asked_now),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
