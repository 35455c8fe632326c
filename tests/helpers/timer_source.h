/* SPDX-License-Identifier: MIT */
/** \file
 * A device that does not exist: samples for the timer's controller, drawn from a seed, with the
 * noise of real ones and with the tricks of dishonest ones.
 */
#ifndef KGB_TESTS_HELPERS_TIMER_SOURCE_H
#define KGB_TESTS_HELPERS_TIMER_SOURCE_H

#include "verify/timer/timer.h"

enum world_cheat {
	WORLD_HONEST,
	WORLD_CHECKED_SLOW, /* works on the call that is checked, and knows which that is */
	WORLD_FIRST_FAST, /* works from call number first_calls on only */
	WORLD_REUSE, /* keeps the results of inputs that it has seen */
	WORLD_FORGED_EVENTS, /* events of half the length, of cheat_part of the calls (0: all) */
	WORLD_FORGED_DEVICE, /* the same of events and activity */
	WORLD_HOST_SHORT, /* the host claims less than the events */
	WORLD_OUTSIDE_SHORT, /* more time claimed than passed */
	WORLD_BASELINE_OUTSIDE_SHORT, /* the same of the baseline */
	WORLD_ACTIVITY_LOST,
	WORLD_SLOW_BASELINE, /* something of the candidate runs beside the baseline */
	WORLD_HOT, /* the candidate's calls always find a lower clock */
};

struct world {
	double ns[KGB_N_SIDES]; /* true time on the device */
	double noise; /* white, as a part of the time */
	double noise_ns; /* white, absolute */
	double drift; /* of both sides, over 1000 samples */
	double wander; /* slow waves of both sides, period 150 samples */
	double clock_step; /* both sides slower by this part after 300 samples; the clock shows it
			    */
	double late_share; /* of the samples, whose host comes 50 us late */
	double outlier_share, outlier_scale; /* Pareto tail: 1 + scale * (u^-0.5 - 1) */
	double neighbour_share, neighbour_slower; /* episodes of about 60 samples */
	double two_speeds; /* two calls of five are slower by this part, on both sides, at random */
	double placement_sd; /* of the logarithm, over placements, on each side by itself */
	double placement_share, placement_slower; /* so many placements are slower by this part */
	double process_sd_ns; /* over processes, on each side by itself */
	double last_slower; /* the last call of each block, on both sides */
	double throttle_share; /* episodes of about 40 samples at 60 % of the clock */
	double profiled_ns[KGB_N_SIDES]; /* added to activity alone */
	double event_step, activity_step; /* resolution in ns; 0: 32 */
	double sample_ns; /* what a sample costs around the call: poison, copies, flush */
	enum world_cheat cheat;
	uint64_t first_calls;
	double cheat_part; /* of the time that a call takes which does not do its work; 0: 0.4 */
	/* state */
	struct kgb_rng rng;
	uint64_t n_samples, n_calls[KGB_N_SIDES];
	uint32_t seed, process;
	bool neighbour, throttled;
	bool seen[KGB_TIMER_SLOTS_MAX];
};

/** \param seed tells runs of one world apart. */
void world_start(struct world *world, uint32_t seed);
/** A kgb_timer_source_fn; the payload is a struct world. */
int world_sample(void *payload, const struct kgb_timer_block *block,
		 struct kgb_exec_sample *samples, uint64_t *outside_ns, struct kgb_err *err);
/** One whole timing in a fresh copy of the world. The timer's seed is `seed`, too. */
void world_run(const struct world *world, const struct kgb_timer_config *config, uint32_t seed,
	       struct kgb_timer_result *out);

/** An H200, about, at `thorough`. */
struct kgb_timer_config world_config(void);
/** Its quiet surroundings. \param us of the baseline. \param slower the candidate's part of it. */
struct world world_new(double us, double slower);
/** What many sessions came to. */
struct world_tally {
	int n, results[KGB_N_TIMING_RESULTS], whys[KGB_N_TIMING_WHYS], n_covered, n_accused;
	double half_width; /* sum */
	uint64_t outside_ns; /* sum */
};
/** Sessions with the seeds 0 .. n - 1. */
struct world_tally world_run_many(const struct world *world, const struct kgb_timer_config *config,
				  int n);

#endif
