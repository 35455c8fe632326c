/* SPDX-License-Identifier: MIT */
/** \file
 * How often `compare` and `leaderboard` see what is not there, and find what is: their own
 * functions on simulated attempts with a known truth. Half of the operators are solved at a rate of
 * 0.2, the others at 0.8. Prints the second table of docs/statistics.md; the draws are the same
 * each time. Ends with 1 when a share is outside of its bounds.
 */
#include <math.h>
#include <stdio.h>

#include "agent/compare/board.h"
#include "agent/compare/versus.h"
#include "agent/statistics/power.h"
#include "base/mem.h"
#include "verify/tensor/rng.h"

#define N_RUNS 1000
#define MOST_OPS 210
#define MOST_SIDES 4
#define WITHIN 0.16 /* variance of attempts at these rates */

static struct kgb_rng rng;
static struct kgb_op_row rows[MOST_OPS];
static struct kgb_run_row run = {.name = "simulated", .method = "simulated"};

static bool chance(double p)
{
	return kgb_rng_uniform(&rng) < p;
}

/** What is known of a method beforehand. */
struct truth {
	size_t n_tries;
	double shift; /* of the rates */
};

/** Draw all attempts of methods at the same operators. */
static void draw(struct kgb_sides *sides, size_t n_ops, const struct truth *truths, size_t n)
{
	double rates[MOST_OPS], speeds[MOST_OPS];
	*sides = (struct kgb_sides){.arena = KGB_ARENA_INIT};
	for (size_t i = 0; i < n_ops; i++) {
		rates[i] = chance(0.5) ? 0.2 : 0.8;
		speeds[i] = kgb_rng_normal(&rng);
	}
	for (size_t s = 0; s < n; s++) {
		struct kgb_side side = {.label = "simulated", .max_tries = truths[s].n_tries};
		KGB_VEC_ADD(&side.runs, &run);
		for (size_t i = 0; i < n_ops; i++) {
			struct kgb_side_op op = {.row = &rows[i]};
			for (size_t k = 0; k < truths[s].n_tries; k++) {
				const bool passed = chance(rates[i] + truths[s].shift);
				const double speed = exp(speeds[i] + 0.3 * kgb_rng_normal(&rng));
				KGB_VEC_ADD(
					&op.tries,
					(struct kgb_try){.is_core = passed,
							 .is_correct = passed,
							 .speedup = passed ? speed : (double)NAN});
			}
			KGB_VEC_ADD(&side.ops, op);
		}
		KGB_VEC_ADD(&sides->list, side);
	}
}

/** What is said of each method but the first, which it is compared with. */
static void compare(size_t n_ops, const struct truth *truths, size_t n,
		    const struct kgb_measure *measure, enum kgb_outcome *out)
{
	struct kgb_sides sides;
	struct kgb_match matches[MOST_SIDES];
	struct kgb_versus results[MOST_SIDES];
	double size = 0;
	draw(&sides, n_ops, truths, n);
	for (size_t i = 1; i < n; i++)
		kgb_match_init(&matches[i - 1], &sides.list.items[0], &sides.list.items[i], NULL,
			       NULL);
	kgb_versus_all(matches, n - 1, measure, results);
	for (size_t i = 0; i + 1 < n; i++) {
		out[i] = kgb_versus_outcome(&results[i], measure, &size);
		kgb_match_release(&matches[i]);
	}
	kgb_sides_release(&sides);
}

static enum kgb_outcome compare_two(size_t n_ops, size_t a, size_t b, double shift,
				    const struct kgb_measure *measure)
{
	enum kgb_outcome outcome = KGB_OUTCOME_NOTHING;
	compare(n_ops, (const struct truth[]){{a, -shift / 2}, {b, shift / 2}}, 2, measure,
		&outcome);
	return outcome;
}

static bool is_alarm(enum kgb_outcome outcome)
{
	return outcome == KGB_OUTCOME_BETTER || outcome == KGB_OUTCOME_WORSE;
}

/* ---- one simulated comparison each: whether the event of the row happened ---- */

static bool single_alarm(void)
{
	return is_alarm(compare_two(210, 1, 1, 0, kgb_measure_correct));
}

static bool repeats_alarm(void)
{
	return is_alarm(compare_two(60, 5, 5, 0, kgb_measure_correct));
}

static bool uneven_alarm(void)
{
	return is_alarm(compare_two(60, 1, 5, 0, kgb_measure_correct));
}

static bool few_alarm(void)
{
	return is_alarm(compare_two(12, 3, 3, 0, kgb_measure_correct));
}

static bool speed_alarm(void)
{
	return is_alarm(compare_two(60, 3, 3, 0, kgb_measure_speedup));
}

static bool several_alarm(void)
{
	static const struct truth equal[] = {{3, 0}, {3, 0}, {3, 0}, {3, 0}};
	enum kgb_outcome outcomes[MOST_SIDES];
	compare(60, equal, 4, kgb_measure_correct, outcomes);
	return is_alarm(outcomes[0]) || is_alarm(outcomes[1]) || is_alarm(outcomes[2]);
}

static bool finds(void)
{
	const double sd = kgb_attempts_sd(WITHIN, 0, 3);
	return compare_two(60, 3, 3, kgb_detectable(sd, 60, KGB_POWER), kgb_measure_correct) ==
	       KGB_OUTCOME_BETTER;
}

static bool alike(void)
{
	return compare_two(60, 40, 40, 0, kgb_measure_correct) == KGB_OUTCOME_ALIKE;
}

static bool alike_at_the_bound(void)
{
	return compare_two(60, 40, 40, KGB_SMALL, kgb_measure_correct) == KGB_OUTCOME_ALIKE;
}

/** Whether a board separates any two of these methods, with the best of k attempts. */
static bool is_apart(const struct truth *truths, size_t n, size_t k)
{
	struct kgb_sides sides;
	struct kgb_board board = {0};
	struct kgb_err err = KGB_ERR_INIT;
	bool apart = false;
	draw(&sides, 60, truths, n);
	KGB_ASSERT(kgb_board_of(&sides, &(struct kgb_board_rows){.ks = {k}, .n = 1}, &board,
				&err) == 0);
	KGB_VEC_FOREACH(contest, &board.contests)
		apart = apart || contest->is_separated;
	kgb_board_release(&board);
	kgb_sides_release(&sides);
	return apart;
}

static bool board_alarm(void)
{
	return is_apart((const struct truth[]){{3, 0}, {3, 0}, {3, 0}}, 3, 1);
}

static bool best_of_five_alarm(void)
{
	return is_apart((const struct truth[]){{10, 0}, {10, 0}}, 2, 5);
}

/* Bounds are 4 standard errors of 1,000 runs about what is aimed at. */
static const struct {
	const char *what, *aim;
	bool (*happens)(void);
	double low, high;
} events[] = {
	{"equal methods, 210 operators, 1 attempt each: one is called better", "at most 5",
	 single_alarm, 0, 0.078},
	{"equal methods, 60 operators, 5 attempts each: one is called better", "5", repeats_alarm,
	 0.022, 0.078},
	{"equal methods, 60 operators, 1 attempt against 5: one is called better", "5",
	 uneven_alarm, 0.022, 0.078},
	{"equal methods, 12 operators, 3 attempts each: one is called better", "at most 5",
	 few_alarm, 0, 0.078},
	{"equal speeds, 60 operators, 3 attempts each: one is called better", "5", speed_alarm,
	 0.022, 0.078},
	{"three methods equal to the first: any is called better or worse", "at most 5",
	 several_alarm, 0, 0.078},
	{"the difference that 60 operators with 3 attempts show at 80 % is found", "80", finds,
	 0.74, 0.86},
	{"equal methods, 40 attempts each: no difference larger than 5 points", "-", alike, 0.5, 1},
	{"the same said where the difference is 5 points", "at most 2.5", alike_at_the_bound, 0,
	 0.045},
	{"leaderboard of three equal methods: any two are apart", "at most 5", board_alarm, 0,
	 0.078},
	{"pass@5 of two equal methods, 10 samples each: they are apart", "5", best_of_five_alarm,
	 0.022, 0.078},
};

int main(void)
{
	const struct kgb_seed seed = {{0}};
	struct kgb_arena arena = KGB_ARENA_INIT;
	int outside = 0;
	for (size_t i = 0; i < MOST_OPS; i++)
		rows[i].name = kgb_arena_printf(&arena, "op%zu", i);
	puts("| simulated 1,000 times with the functions of the commands | aim, % | seen, % "
	     "|\n|---|---|---|");
	for (size_t i = 0; i < KGB_ARRAY_LEN(events); i++) {
		size_t hits = 0;
		kgb_rng_init(&rng, &seed, events[i].what, 0);
		for (size_t k = 0; k < N_RUNS; k++)
			hits += events[i].happens();
		const double share = (double)hits / N_RUNS;
		printf("| %s | %s | %.1f |\n", events[i].what, events[i].aim, 100 * share);
		fflush(stdout);
		if (share >= events[i].low && share <= events[i].high)
			continue;
		fprintf(stderr, "%s: %.1f %%, wanted %.1f to %.1f\n", events[i].what, 100 * share,
			100 * events[i].low, 100 * events[i].high);
		outside = 1;
	}
	kgb_arena_release(&arena);
	return outside;
}
