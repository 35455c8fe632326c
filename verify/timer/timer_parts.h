/* SPDX-License-Identifier: MIT */
/** \file
 * Private to the timer. timer.c requests blocks and sorts samples, timer_result.c computes the
 * result, timer_doubts.c finds contradictions, timer_write.c writes the document.
 */
#ifndef KGB_VERIFY_TIMER_TIMER_PARTS_H
#define KGB_VERIFY_TIMER_TIMER_PARTS_H

#include "verify/timer/timer.h"

#define KGB_TIMER_SOLO_BLOCKS_MAX 5u
#define KGB_TIMER_GROUP_MIN 4 /* calls in a group that is compared with others */
#define KGB_TIMER_THROTTLE 0.75 /* share of the reference clock below which a GPU is throttled */
#define KGB_TIMER_CLOCK 0.03 /* clocks that differ by a smaller fraction are the same */

/** Whether every number of the level is valid. */
bool kgb_timer__is_level(const struct kgb_timer_level *level);

/** A number of a round. */
typedef double (*kgb_timer_round_fn)(const struct kgb_timer_round *round, enum kgb_ruler ruler);
/** That number of each placement of the memory, in order: the mean over the placement's rounds that
 * have one. `out` has room for all rounds. `processes_out`, if not NULL, gets the number of each
 * placement's process. Returns the number of placements. */
size_t kgb_timer__by_placement(const struct kgb_timer *timer, kgb_timer_round_fn value,
			       enum kgb_ruler ruler, double *out, uint32_t *processes_out);
/** log(baseline / candidate) by placement. These are what is averaged and resampled: rounds that
 * share a placement are not independent. */
size_t kgb_timer__ratios(const struct kgb_timer *timer, enum kgb_ruler ruler, double *out,
			 uint32_t *processes_out);
/** The estimate, from the placements, of the log ratio over all possible sessions, with the noise
 * within processes. `centred_out` as for kgb_group_values, with room for all rounds; *n_out long.
 */
struct kgb_grouped kgb_timer__estimate(const struct kgb_timer *timer, enum kgb_ruler ruler,
				       double *centred_out, size_t *n_out);
/** The part of the placements' ratios that is trimmed from each end. */
double kgb_timer__cut(size_t n_placements);
/** Half the width of the interval within processes by Student's t, from n placements, with n_lost
 * degrees of freedom less than they have. */
double kgb_timer__reach_by_t(const struct kgb_timer_config *config, const struct kgb_grouped *seen,
			     size_t n, size_t n_lost);
/** What a session's choice of processes may have done to the logarithm of a speedup. */
struct kgb_timer_choice {
	double error, reach; /* standard error; half the width of its interval */
};
/** \param ns time of a call of each side. \param seen the estimate of the ruler that `ns` is of. */
struct kgb_timer_choice kgb_timer__choice(const struct kgb_timer_config *config,
					  const double ns[KGB_N_SIDES],
					  const struct kgb_grouped *seen);
/** Times of the usable rounds of one side, in order. */
size_t kgb_timer__round_times(const struct kgb_timer *timer, enum kgb_timer_side side,
			      enum kgb_ruler ruler, double *out);
/** The margin for times of `ns`: speedups between 1 / (1 + margin) and 1 + margin are the same. */
double kgb_timer__margin(const struct kgb_timer_config *config, double ns, double step_ns);
/** Resolution of the events: the larger of the machine's figure and of what the baseline shows. */
double kgb_timer__event_step(const struct kgb_timer *timer);

/** A number of a sample; NaN: it has none. */
typedef double (*kgb_timer_value_fn)(const struct kgb_timer_sample *sample);
double kgb_timer__event(const struct kgb_timer_sample *sample);
double kgb_timer__activity(const struct kgb_timer_sample *sample);
double kgb_timer__host(const struct kgb_timer_sample *sample);
double kgb_timer__clock(const struct kgb_timer_sample *sample); /* MHz; 0 unknown */
/** The functions for events, activity and the host, by ruler. */
extern const kgb_timer_value_fn kgb_timer__rulers[KGB_N_RULERS];
/** That number of all kept samples of a side that have it, in order; a new array, *n long. */
double *kgb_timer__gather(const struct kgb_timer *timer, enum kgb_timer_side side,
			  kgb_timer_value_fn value, size_t *n);

/** Sort values, ascending. */
void kgb_timer__sort(double *values, size_t n);

/** Look for contradictions, the gravest first. True: there is one; result->why, accuses and text
 * describe it. */
bool kgb_timer__doubt(const struct kgb_timer *timer, struct kgb_timer_result *result);
/** Give the result its reason and text. Returns true. */
bool kgb_timer__say(struct kgb_timer_result *result, enum kgb_timing_why why, const char *fmt, ...)
	KGB_PRINTF(3, 4);

#endif
