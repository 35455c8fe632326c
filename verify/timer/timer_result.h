/* SPDX-License-Identifier: MIT */
/** \file
 * The result of a timing, its reason, and the numbers behind them. kgb_timer_finish computes them
 * from the samples.
 */
#ifndef KGB_VERIFY_TIMER_TIMER_RESULT_H
#define KGB_VERIFY_TIMER_TIMER_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/formats/jsonw.h"
#include "verify/tensor/statistics.h"

enum kgb_timer_side { KGB_SIDE_A, KGB_SIDE_B, KGB_N_SIDES }; /* A: baseline, B: candidate */
enum kgb_ruler { KGB_RULER_EVENT, KGB_RULER_ACTIVITY, KGB_RULER_HOST, KGB_N_RULERS };
const char *kgb_timer_side_name(enum kgb_timer_side side); /* "baseline", "candidate" */

/** Why a sample does not count. */
enum kgb_sample_fate {
	KGB_SAMPLE_KEPT,
	KGB_SAMPLE_SOLO, /* of the baseline alone: compared with the rounds, not part of them */
	KGB_SAMPLE_WARMUP,
	KGB_SAMPLE_THROTTLED, /* SM clock below 75 % of the reference */
	KGB_SAMPLE_CLOCK, /* SM clock other than its round's */
	KGB_SAMPLE_ROUND, /* too few samples of its round are usable */
	KGB_N_SAMPLE_FATES,
};

enum kgb_timing_result {
	KGB_TIMING_UNDECIDED, /* trusted, but the interval reaches over a border of the margin */
	KGB_TIMING_FASTER,
	KGB_TIMING_SLOWER,
	KGB_TIMING_SAME, /* nearer than the margin */
	KGB_TIMING_UNTRUSTED, /* something contradicts the numbers: there is no speedup */
	KGB_N_TIMING_RESULTS,
};
const char *kgb_timing_result_name(enum kgb_timing_result result);

/** Reasons with their stable names, in the order of precedence. */
/* clang-format off */
#define KGB_TIMING_WHYS(X) \
	/* UNTRUSTED: the candidate's doing, unless the baseline shows the same */ \
	X(BELOW_FLOOR, "below_floor") \
	X(RULER_ORDER, "ruler_order") /* a shorter span is longer than one that contains it */ \
	X(RULER_ACTIVITY, "ruler_activity") /* events and activity disagree, or activity is missing */ \
	X(RULER_HOST, "ruler_host") /* events and the host's clock disagree */ \
	X(RULER_OUTSIDE, "ruler_outside") /* a block claims more time than it took */ \
	X(CHECKED, "checked") /* calls whose output is checked take longer than the others */ \
	X(REUSE, "reuse") /* calls on earlier inputs are faster than calls on new ones */ \
	X(TREND, "trend") /* the candidate changes against the baseline while it runs */ \
	/* UNTRUSTED: no side has provably caused it */ \
	X(DISTURBED, "disturbed") /* the baseline is slower beside the candidate than alone */ \
	X(FLOOR_WRONG, "floor_wrong") /* the baseline itself is below the floor */ \
	X(NEIGHBOUR, "neighbour") /* both sides have two speeds, in turns */ \
	X(DRIFT, "drift") /* the baseline drifts */ \
	/* UNDECIDED */ \
	X(THROTTLED, "throttled") \
	X(CLOCK, "clock") /* it changed within the rounds, or differed between the sides */ \
	X(FEW, "few") \
	X(OPPOSED, "opposed") /* activity shows the opposite, within the rulers' known error */ \
	X(WIDE, "wide")
/* clang-format on */
#define KGB_TIMING_WHY_ENUMERATOR(name, text) KGB_WHY_##name,
enum kgb_timing_why { KGB_WHY_NONE, KGB_TIMING_WHYS(KGB_TIMING_WHY_ENUMERATOR) KGB_N_TIMING_WHYS };
/** "below_floor", "ruler_host", ...; NULL for NONE. */
const char *kgb_timing_why_name(enum kgb_timing_why why);

struct kgb_timer_result {
	enum kgb_timing_result result;
	enum kgb_timing_why why;
	bool accuses; /* UNTRUSTED, and only the candidate can have done it */
	char text[256]; /* one sentence with the numbers behind `why`; empty for NONE */
	struct kgb_interval speedup; /* baseline over candidate, by events; what counts */
	double process_reach; /* the part of the half-width of its logarithm's interval by the
				 choice of processes */
	struct kgb_interval speedup_device; /* by activity; NaN if not measured */
	struct kgb_interval median_ratio; /* of plain medians, to compare with do_bench */
	double margin; /* speedups within 1/(1+margin) .. 1+margin are the SAME */
	double detectable; /* smallest change of the time, as a fraction, that a session like this
			      detects with probability 0.8 */
	double median_ns[KGB_N_SIDES][KGB_N_RULERS]; /* of kept samples; NaN none */
	double mad_ns[KGB_N_SIDES]; /* by events */
	double solo_ns[2]; /* baseline alone, before and after; NaN none */
	double floor_ns; /* physical; 0 unknown */
	double drift; /* baseline, last third over first third of the rounds, less 1 */
	double clock_mhz[KGB_N_SIDES]; /* median of kept samples; NaN unknown */
	uint32_t n_rounds; /* usable ones */
	uint32_t n_placements; /* with usable rounds */
	uint32_t n_processes; /* of each side */
	uint32_t n_fates[KGB_N_SIDES][KGB_N_SAMPLE_FATES];
	bool narrow; /* the interval became as narrow as the level demands */
	uint64_t outside_ns;
};

/** An interval as a member: an object, or null without a value. */
void kgb_interval_write(struct kgb_jsonw *w, const char *key, struct kgb_interval x);
struct kgb_timer;
/** Members of the case's object in the verdict's timing part (docs/schemas/verdict.schema.json);
 * `samples` adds every raw sample. The caller has opened the object. */
void kgb_timing_write(const struct kgb_timer *timer, const struct kgb_timer_result *info,
		      bool samples, struct kgb_jsonw *w);
/** The case's object in the verdict's `timed_cases`: the speedup, and the share of the device's
 * peak that each side reaches (docs/timing.md, "Share of the peak"). */
void kgb_timed_case_write(const struct kgb_timer *timer, const struct kgb_timer_result *info,
			  struct kgb_jsonw *w);

#endif
