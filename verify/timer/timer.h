/* SPDX-License-Identifier: MIT */
/** \file
 * The timer's controller decides which side runs next and how often, which samples count, when to
 * stop, and what the numbers mean. It does not use the GPU: it requests blocks of samples and
 * receives them, so it is the same for kgb-exec, for a simulation and for a replay of recorded
 * samples. One case, one candidate, one thread. Rules, formulas and reasons: docs/timing.md.
 *
 *     kgb_timer_init(&timer, &config);
 *     while (kgb_timer_next(&timer, &block))
 *             ... take block.n samples of block.side ...
 *             kgb_timer_give(&timer, &block, samples, n, outside_ns, &err)
 *     kgb_timer_finish(&timer, &result);
 *
 * or kgb_timer_run with a callback. The same seed and the same samples give the same result. */
#ifndef KGB_VERIFY_TIMER_TIMER_H
#define KGB_VERIFY_TIMER_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "verify/protocol/exec_protocol.h"
#include "verify/tensor/rng.h"
#include "verify/timer/timer_level.h"
#include "verify/timer/timer_result.h"

/** Measured peak rates of the device; 0 means unknown, and the rule that needs it is off. */
struct kgb_timer_machine {
	double bytes_per_s; /* highest sustained memory bandwidth */
	double flops_per_s; /* highest rate for this case's type */
	uint64_t l2_bytes;
	uint64_t launch_floor_ns; /* event time of an empty kernel */
	uint64_t event_step_ns; /* resolution of the event ruler */
	uint64_t activity_step_ns;
	uint32_t sm_mhz; /* clock that it runs at when nothing slows it */
};

struct kgb_timer_config {
	struct kgb_timer_level level;
	const char *case_name; /* borrowed; names the random streams */
	struct kgb_seed seed; /* of the verification; hidden from the candidate */
	struct kgb_timer_machine machine;
	int64_t bytes; /* compulsory traffic of a call; 0 unknown */
	int64_t written_bytes; /* written part of `bytes`: it may stay in the L2 cache */
	int64_t flops; /* compulsory arithmetic; 0 unknown */
	uint32_t n_ops[KGB_N_SIDES]; /* operations that each side puts on the stream */
	uint32_t n_slots; /* number of input sets, at least 2; with fewer than 8, reuse is not
			     detected */
	double process_sd_ns; /* a process adds a constant to the time of each of its calls; this is
				 the constants' standard deviation, from earlier measurements */
	bool with_activity; /* activity is measured in one round of four; samples without it are a
			       contradiction */
	uint32_t max_samples; /* of both sides together, KGB_TIMER_SAMPLES_MIN .. _MAX */
	double confidence; /* 0.95 */
	double margin_relative; /* times that differ by less than margin_relative + margin_ns /
				   time, as a fraction, are the SAME */
	double margin_ns;
};
#define KGB_TIMER_SAMPLES_MIN 256u
#define KGB_TIMER_SAMPLES_MAX 16384u
#define KGB_TIMER_SLOTS_MAX 4096u
#define KGB_TIMER_ROUNDS_MAX 1024u
/** All but the level, which is one of kgb_timer_levels. */
#define KGB_TIMER_CONFIG_INIT                                                               \
	{                                                                                   \
		.n_ops = {1, 1}, .n_slots = 16, .process_sd_ns = 65, .with_activity = true, \
		.max_samples = 4096, .confidence = 0.95, .margin_relative = 0.003,          \
		.margin_ns = 200,                                                           \
	}

enum kgb_timer_phase {
	KGB_PHASE_SOLO_BEFORE, /* the baseline alone, before any call of the candidate */
	KGB_PHASE_WARMUP,
	KGB_PHASE_ROUNDS,
	KGB_PHASE_SOLO_AFTER, /* the baseline alone again: no work of the candidate may run */
	KGB_PHASE_DONE,
};

/** A request of the controller: one KGB_EXEC_TIME request. */
struct kgb_timer_block {
	enum kgb_timer_side side;
	enum kgb_timer_phase phase;
	uint32_t round;
	uint32_t n; /* samples; random, so that the candidate cannot predict the last one, whose
		       output is checked */
	uint32_t slot, n_slots; /* first input set; samples rotate over sets 0 .. n_slots - 1 */
	uint32_t placement; /* number of the place of the process' memory on the device */
	uint32_t process; /* number of the process of the side that runs the block */
	bool with_activity; /* activity is requested */
	uint32_t pause_ms; /* wait this long before the block: the device was throttled */
};

/** The input set of the block's last sample, whose output the judge checks. */
static inline uint32_t kgb_timer_last_slot(const struct kgb_timer_block *block)
{
	return (uint32_t)(((uint64_t)block->slot + block->n - 1) % block->n_slots);
}

struct kgb_timer_sample {
	struct kgb_exec_sample raw;
	uint32_t round;
	uint8_t side, fate, phase;
	uint8_t last : 1; /* of its block: its output is what the judge checks */
	uint8_t first_visit : 1; /* of its slot by this side */
	uint8_t with_activity : 1; /* activity was requested */
};

/** The times of a round; all are NaN if it is not usable. */
struct kgb_timer_round {
	double ns[KGB_N_SIDES][KGB_N_RULERS]; /* midmean of the kept samples; NaN not measured */
	uint32_t process, placement; /* number of changes of processes and placements before it */
};

struct kgb_timer {
	struct kgb_timer_config config;
	struct kgb_rng plan; /* order, block sizes, slots */
	struct kgb_rng dither; /* undoes the rulers' rounding */
	enum kgb_timer_phase phase;
	uint32_t round; /* of the phase */
	uint32_t step; /* block within the round */
	bool b_first; /* this round is BAAB */
	bool waiting; /* a block was requested, and its samples have not come yet */
	struct kgb_timer_block block;
	uint32_t placement; /* number of changes so far */
	uint32_t placement_rounds;
	uint32_t process; /* number of changes of both sides' processes so far */
	uint32_t process_began; /* number of rounds before the current processes */
	uint32_t open_slots; /* input sets in use; the others are opened later, as new inputs */
	uint32_t narrow_at; /* number of rounds when the interval first was narrow; 0: not yet */
	uint32_t far_at; /* the same for level.far */
	bool is_far; /* at the last examination of the interval */
	uint32_t n_throttled; /* consecutive throttled blocks */
	uint64_t sample_ns[KGB_N_SIDES]; /* time of a sample of its last block, by the judge's clock
					  */
	uint32_t top_mhz; /* highest clock of the baseline alone */
	uint64_t outside_ns; /* time of all blocks, by the judge's clock */
	uint32_t n_contradicted[KGB_N_SIDES]; /* blocks that claim more time than they took */
	bool *seen[KGB_N_SIDES]; /* owned; slots that a side's process has run on */
	struct kgb_timer_round *rounds; /* owned; of PHASE_ROUNDS */
	uint32_t n_rounds;
	size_t round_begin; /* first sample of the current round */
	struct kgb_timer_sample *samples; /* owned */
	size_t n_samples;
};

/** \param config is copied, its case_name borrowed. INVALID if a number makes no sense. */
KGB_MUST_CHECK int kgb_timer_init(struct kgb_timer *timer, const struct kgb_timer_config *config,
				  struct kgb_err *err);
void kgb_timer_release(struct kgb_timer *timer);
/** The next block, or false when there are enough samples. */
bool kgb_timer_next(struct kgb_timer *timer, struct kgb_timer_block *out);
/** Answer the block of the last kgb_timer_next. `outside_ns` is the judge's own clock around the
 * whole request, pause excluded. INVALID when the samples do not fit the request (number, slots, a
 * time of 0): a short or invented record is never used. After an error only kgb_timer_release may
 * follow. */
KGB_MUST_CHECK int kgb_timer_give(struct kgb_timer *timer, const struct kgb_exec_sample *samples,
				  size_t n, uint64_t outside_ns, struct kgb_err *err);
/** Compute the result. Sets the final fate of every sample. */
void kgb_timer_finish(struct kgb_timer *timer, struct kgb_timer_result *out);

/** Takes samples of one block: fills samples[0 .. block->n - 1] and *outside_ns; 0 or -1. */
typedef int (*kgb_timer_source_fn)(void *payload, const struct kgb_timer_block *block,
				   struct kgb_exec_sample *samples, uint64_t *outside_ns,
				   struct kgb_err *err);
/** Run the session from the first block to the result; *timer keeps the samples. An error of the
 * source ends it without a result. */
KGB_MUST_CHECK int kgb_timer_run(struct kgb_timer *timer, kgb_timer_source_fn source, void *payload,
				 struct kgb_timer_result *out, struct kgb_err *err);

#endif
