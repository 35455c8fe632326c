/* SPDX-License-Identifier: MIT */
/** \file
 * One side against another on the operators that both have. `compare`, `leaderboard` and the
 * simulation of their false alarms use these functions.
 */
#ifndef KGB_AGENT_COMPARE_VERSUS_H
#define KGB_AGENT_COMPARE_VERSUS_H

#include "agent/compare/sides.h"
#include "agent/statistics/paired.h"

/** Of two-sided tests, and of the differences that are named as detectable. */
#define KGB_LEVEL 0.05
#define KGB_POWER 0.8
/** Differences too small to matter for the choice of a method: 5 points, or a factor of 1.05. */
#define KGB_SMALL 0.05

enum kgb_measure_kind {
	KGB_SHARE, /* 0 or 1 of each attempt; of an operator the share of its attempts */
	KGB_RATIO, /* above 0: geometric means, and their ratio */
	KGB_AMOUNT, /* means, and their difference */
};

/** A number of each attempt; NaN: unknown. */
struct kgb_measure {
	const char *name;
	double (*of)(const struct kgb_try *attempt);
	enum kgb_measure_kind kind;
	int digits; /* printed after the point */
};
extern const struct kgb_measure kgb_measures[];
extern const size_t kgb_n_measures;
/** Of these. The differences of the first two are put into words. */
extern const struct kgb_measure *const kgb_measure_correct,
	*const kgb_measure_speedup, *const kgb_measure_tokens, *const kgb_measure_dollars,
								       *const kgb_measure_seconds;

/** An operator that two sides have. */
struct kgb_match_op {
	const struct kgb_side_op *a, *b;
};

struct kgb_match {
	const struct kgb_side *a, *b;
	KGB_VEC(struct kgb_match_op) ops;
};

/** Match the operators of two sides; `in_group` NULL: all of them. */
void kgb_match_init(struct kgb_match *out, const struct kgb_side *a, const struct kgb_side *b,
		    bool (*in_group)(const struct kgb_op_row *op, const void *payload),
		    const void *payload);
void kgb_match_release(struct kgb_match *match);

/** Mean over an operator's attempts where the number is known, for KGB_RATIO the geometric one;
 * NaN: of none. */
double kgb_side_op_value(const struct kgb_side_op *op, const struct kgb_measure *measure);

struct kgb_versus {
	double a, b; /* of each side, over the operators where both are known */
	struct kgb_paired d; /* B - A, or for KGB_RATIO B / A */
	double detectable; /* that a test at KGB_LEVEL finds with KGB_POWER; of KGB_RATIO a factor
			    */
	double p; /* as d.p; callers adjust it for several comparisons (kgb_holm) */
};

/** Test whether B differs from A. Each operator counts with the mean of its attempts, so that they
 * never count as more operators: sign flips (with one attempt each McNemar's exact test), intervals
 * by resampling operators. */
void kgb_versus(const struct kgb_match *match, const struct kgb_measure *measure,
		struct kgb_versus *out);

/** The same for several matches, with `p` and `detectable` adjusted for their number: they ask one
 * question. */
void kgb_versus_all(const struct kgb_match *matches, size_t n_matches,
		    const struct kgb_measure *measure, struct kgb_versus *out);

enum kgb_outcome {
	KGB_OUTCOME_NOTHING, /* no operator has both values */
	KGB_OUTCOME_BETTER, /* B: p <= KGB_LEVEL */
	KGB_OUTCOME_WORSE,
	KGB_OUTCOME_ALIKE, /* no difference larger than the bound of the interval, which is small */
	KGB_OUTCOME_UNSURE, /* neither: more operators or attempts are needed */
};

/** The outcome of a comparison. \param size_out with ALIKE the bound; with UNSURE the difference
 * that could have been found (of KGB_RATIO both as a factor); else NaN. */
enum kgb_outcome kgb_versus_outcome(const struct kgb_versus *versus,
				    const struct kgb_measure *measure, double *size_out);
/** Add that as a sentence: "B, operators passed: better than A (p = 0.01)", with these names for
 * the sides. \param measure kgb_measure_correct or kgb_measure_speedup */
void kgb_versus_add_words(const struct kgb_versus *versus, const struct kgb_measure *measure,
			  const char *other, const char *first, struct kgb_strv *words);

#endif
