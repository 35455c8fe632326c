/* SPDX-License-Identifier: MIT */
#include "verify/timer/timer.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "verify/timer/timer_parts.h"

enum {
	SOLO_SAMPLES = 4, /* samples of a block of the baseline alone, at most */
	FIRST_SAMPLES = 2, /* samples of the first block, which measures the cost of a sample */
	WARMUP_MIN = 2, /* blocks of each side */
	WARMUP_MAX = 4,
	WARMUP_SAMPLES = 8,
	ROUND_BLOCKS = 4,
	BLOCK_SAMPLES = 6, /* samples of a block of a round, at most */
	KEPT_MIN = 2, /* kept samples of each side that a usable round needs */
	ACTIVITY_ROUNDS = 4, /* activity, which triples a block's cost, is measured in every 4th */
	MORE_ROUNDS = 2, /* after the interval first was narrow: 1 more round for every 2 before */
	PAUSE_MS = 50,
	PAUSE_MAX_MS = 400,
};
#define PLATEAU 0.02 /* warm-up ends when a side's median changes by a smaller fraction */

/* ---- start and end ---- */

static int check_config(const struct kgb_timer_config *c, struct kgb_err *err)
{
	const struct {
		const char *name;
		bool is_good;
	} rules[] = {
		{"n_slots", c->n_slots >= 2 && c->n_slots <= KGB_TIMER_SLOTS_MAX},
		{"process_sd_ns", c->process_sd_ns >= 0 && isfinite(c->process_sd_ns)},
		{"level", kgb_timer__is_level(&c->level)},
		{"max_samples", c->max_samples >= KGB_TIMER_SAMPLES_MIN &&
					c->max_samples <= KGB_TIMER_SAMPLES_MAX},
		{"n_ops", c->n_ops[KGB_SIDE_A] > 0 && c->n_ops[KGB_SIDE_B] > 0},
		{"confidence", c->confidence > 0.5 && c->confidence < 1},
		{"margin_relative and margin_ns",
		 c->margin_relative >= 0 && c->margin_relative < 1 && c->margin_ns >= 0 &&
			 c->margin_relative + c->margin_ns > 0 && isfinite(c->margin_ns)},
		{"machine", c->machine.bytes_per_s >= 0 && c->machine.flops_per_s >= 0},
		{"bytes, written_bytes and flops", c->bytes >= 0 && c->flops >= 0 &&
							   c->written_bytes >= 0 &&
							   c->written_bytes <= c->bytes},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rules); i++)
		if (!rules[i].is_good)
			return kgb_fail(err, KGB_ERR_INVALID, "timer of '%s': %s out of range",
					c->case_name, rules[i].name);
	return 0;
}

/* Half of the input sets are in use at first; the others are opened later. */
static uint32_t slots_at_first(const struct kgb_timer_config *config)
{
	return (config->n_slots + 1) / 2;
}

int kgb_timer_init(struct kgb_timer *timer, const struct kgb_timer_config *config,
		   struct kgb_err *err)
{
	if (check_config(config, err) < 0)
		return -1;
	*timer = (struct kgb_timer){
		.config = *config,
		.open_slots = slots_at_first(config),
		.placement_rounds = config->level.placement_rounds,
		.samples = kgb_xcalloc(config->max_samples, sizeof(*timer->samples)),
		.rounds = kgb_xcalloc(config->level.max_rounds, sizeof(*timer->rounds)),
	};
	for (int side = 0; side < KGB_N_SIDES; side++)
		timer->seen[side] = kgb_xcalloc(config->n_slots, sizeof(*timer->seen[side]));
	KGB_AUTO(free) char *label = kgb_xasprintf("timer plan %s", config->case_name);
	kgb_rng_init(&timer->plan, &config->seed, label, 0);
	kgb_rng_init(&timer->dither, &config->seed, label, 1);
	return 0;
}

void kgb_timer_release(struct kgb_timer *timer)
{
	kgb_free(timer->samples);
	kgb_free(timer->rounds);
	for (int side = 0; side < KGB_N_SIDES; side++)
		kgb_free(timer->seen[side]);
	*timer = (struct kgb_timer){.phase = KGB_PHASE_DONE};
}

/* ---- requests ---- */

static uint32_t pick(struct kgb_timer *timer, uint32_t low, uint32_t high)
{
	return (uint32_t)kgb_rng_int(&timer->plan, low, high);
}

/* The samples of a side's block, 1 to `most`, such that `parts` such blocks fit into the budget:
 * slow kernels get smaller blocks. */
static uint32_t affordable(const struct kgb_timer *timer, enum kgb_timer_side side, uint32_t parts,
			   uint32_t most)
{
	const uint64_t sample_ns = timer->sample_ns[side];
	uint64_t n = sample_ns ? timer->config.level.budget_ns / sample_ns / parts : most;
	return n < 1 ? 1 : n < most ? (uint32_t)n : most;
}

/* Half of the largest number of samples of a side's block in a round. */
static uint32_t fair_samples(const struct kgb_timer *timer, enum kgb_timer_side side)
{
	const struct kgb_timer_level *level = &timer->config.level;

	return affordable(timer, side,
			  4 * ROUND_BLOCKS * level->min_placements * level->placement_rounds,
			  BLOCK_SAMPLES / 2);
}

static uint32_t block_samples(struct kgb_timer *timer, enum kgb_timer_side side)
{
	if (timer->phase == KGB_PHASE_ROUNDS) {
		uint32_t fair = fair_samples(timer, side);
		return pick(timer, fair > 1 ? 2 : 1, 2 * fair);
	}
	if (timer->sample_ns[side] == 0)
		return FIRST_SAMPLES;
	if (timer->phase != KGB_PHASE_WARMUP)
		return affordable(timer, side, 8 * timer->config.level.solo_blocks, SOLO_SAMPLES);
	uint32_t most = affordable(timer, side, 8 * WARMUP_MAX, WARMUP_SAMPLES);
	return pick(timer, (most + 1) / 2, most);
}

/* Half the blocks of a round begin at the input set that was opened last. */
static uint32_t first_slot(struct kgb_timer *timer)
{
	if (timer->phase == KGB_PHASE_ROUNDS && pick(timer, 0, 1) == 0)
		return timer->open_slots - 1;
	return pick(timer, 0, timer->open_slots - 1);
}

static enum kgb_timer_side side_of_step(const struct kgb_timer *timer)
{
	const bool outer = timer->step == 0 || timer->step == 3;

	if (timer->phase == KGB_PHASE_WARMUP)
		return timer->step % 2 ? KGB_SIDE_B : KGB_SIDE_A;
	return timer->phase == KGB_PHASE_ROUNDS && outer == timer->b_first ? KGB_SIDE_B
									   : KGB_SIDE_A;
}

static uint32_t pause_ms(const struct kgb_timer *timer)
{
	uint32_t ms = timer->n_throttled * PAUSE_MS;
	return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

bool kgb_timer_next(struct kgb_timer *timer, struct kgb_timer_block *out)
{
	KGB_ASSERT(!timer->waiting);
	if (timer->phase == KGB_PHASE_DONE)
		return false;
	timer->block = (struct kgb_timer_block){
		.side = side_of_step(timer),
		.phase = timer->phase,
		.round = timer->round,
		.n = block_samples(timer, side_of_step(timer)),
		.slot = first_slot(timer),
		.n_slots = timer->open_slots,
		.placement = KGB_N_SIDES * timer->placement + (uint32_t)side_of_step(timer),
		.process = timer->process,
		.with_activity = timer->config.with_activity && timer->phase == KGB_PHASE_ROUNDS &&
				 timer->round % ACTIVITY_ROUNDS == 0 &&
				 timer->step < timer->config.level.activity_blocks,
		.pause_ms = pause_ms(timer),
	};
	KGB_ASSERT(timer->n_samples + timer->block.n <= timer->config.max_samples);
	timer->waiting = true;
	*out = timer->block;
	return true;
}

/* ---- samples that count ---- */

static bool is_throttled(const struct kgb_timer *timer, const struct kgb_exec_sample *sample)
{
	uint32_t reference =
		timer->config.machine.sm_mhz ? timer->config.machine.sm_mhz : timer->top_mhz;
	return sample->sm_mhz && sample->sm_mhz < KGB_TIMER_THROTTLE * reference;
}

/* Median clock of a side's samples of the current round; NaN when unknown. */
static double round_clock(const struct kgb_timer *timer, enum kgb_timer_side side)
{
	double mhz[ROUND_BLOCKS * BLOCK_SAMPLES];
	size_t n = 0;

	for (size_t i = timer->round_begin; i < timer->n_samples; i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		if (s->side == side && s->fate == KGB_SAMPLE_KEPT && s->raw.sm_mhz)
			mhz[n++] = s->raw.sm_mhz;
	}
	return kgb_median(mhz, n);
}

/* False also if a clock is unknown (NaN). */
static bool clocks_differ(double a, double b)
{
	return fabs(a / b - 1) > KGB_TIMER_CLOCK;
}

/* The midmean of a side's kept samples in the current round. A ruler rounds its values to steps,
 * and the bootstrap of equal values would estimate an error of 0: so a random part of a step, drawn
 * by the judge, is added to each value. */
static double round_time(struct kgb_timer *timer, enum kgb_timer_side side,
			 kgb_timer_value_fn value, double step, size_t *n_kept)
{
	double ns[ROUND_BLOCKS * BLOCK_SAMPLES];
	size_t n = 0, n_known = 0;

	for (size_t i = timer->round_begin; i < timer->n_samples; i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		if (s->side != side || s->fate != KGB_SAMPLE_KEPT)
			continue;
		ns[n] = value(s);
		if (isnan(ns[n]))
			continue; /* not requested */
		n_known += ns[n] > 0 ? 1 : 0;
		ns[n++] += step * (kgb_rng_uniform(&timer->dither) - 0.5);
	}
	*n_kept = n;
	return n_known == n ? kgb_trimmed_mean(ns, n, 0.25) : (double)NAN;
}

static void drop_round(struct kgb_timer *timer, enum kgb_sample_fate fate)
{
	for (size_t i = timer->round_begin; i < timer->n_samples; i++)
		if (timer->samples[i].fate == KGB_SAMPLE_KEPT)
			timer->samples[i].fate = (uint8_t)fate;
	for (int side = 0; side < KGB_N_SIDES; side++)
		for (int ruler = 0; ruler < KGB_N_RULERS; ruler++)
			timer->rounds[timer->n_rounds].ns[side][ruler] = (double)NAN;
}

/* A change of the clock within a round makes its sides incomparable; a change between rounds does
 * not. */
static void sort_by_clock(struct kgb_timer *timer)
{
	double mhz[KGB_N_SIDES] = {round_clock(timer, KGB_SIDE_A), round_clock(timer, KGB_SIDE_B)};

	for (size_t i = timer->round_begin; i < timer->n_samples; i++) {
		struct kgb_timer_sample *s = &timer->samples[i];
		if (s->fate == KGB_SAMPLE_KEPT && s->raw.sm_mhz &&
		    clocks_differ(s->raw.sm_mhz, mhz[s->side]))
			s->fate = KGB_SAMPLE_CLOCK;
	}
	if (clocks_differ(mhz[KGB_SIDE_A], mhz[KGB_SIDE_B]))
		drop_round(timer, KGB_SAMPLE_CLOCK);
}

static void close_round(struct kgb_timer *timer)
{
	const struct kgb_timer_machine *machine = &timer->config.machine;
	const double steps[KGB_N_RULERS] = {(double)machine->event_step_ns,
					    (double)machine->activity_step_ns, 0};
	struct kgb_timer_round *round = &timer->rounds[timer->n_rounds];
	size_t n_kept[KGB_N_SIDES];

	sort_by_clock(timer);
	for (int side = 0; side < KGB_N_SIDES; side++)
		for (int ruler = 0; ruler < KGB_N_RULERS; ruler++)
			round->ns[side][ruler] =
				round_time(timer, (enum kgb_timer_side)side,
					   kgb_timer__rulers[ruler], steps[ruler], &n_kept[side]);
	if (n_kept[KGB_SIDE_A] < KEPT_MIN || n_kept[KGB_SIDE_B] < KEPT_MIN)
		drop_round(timer, KGB_SAMPLE_ROUND);
	round->process = timer->process;
	round->placement = timer->placement;
	timer->n_rounds++;
	timer->round_begin = timer->n_samples;
}

/* ---- end of the session ---- */

/* The present estimate of the logarithm of the speedup, with half the width of its interval's two
 * parts; NaN: unknown. */
struct widths {
	double within, between; /* noise within processes; choice of processes */
	double narrow; /* largest half-width of a narrow part */
	double value; /* the logarithm */
	size_t n_usable; /* placements */
};

static struct widths widths_by_now(const struct kgb_timer *timer)
{
	const struct kgb_timer_config *c = &timer->config;
	KGB_AUTO(free) double *numbers = kgb_xcalloc(timer->n_rounds, sizeof(*numbers));
	double ns[KGB_N_SIDES];
	size_t n;

	for (int side = 0; side < KGB_N_SIDES; side++) {
		n = kgb_timer__round_times(timer, (enum kgb_timer_side)side, KGB_RULER_EVENT,
					   numbers);
		ns[side] = kgb_median(numbers, n);
	}
	struct kgb_grouped seen = kgb_timer__estimate(timer, KGB_RULER_EVENT, numbers, &n);
	double margin = kgb_timer__margin(c, fmin(ns[KGB_SIDE_A], ns[KGB_SIDE_B]),
					  (double)c->machine.event_step_ns);
	return (struct widths){.within = kgb_timer__reach_by_t(c, &seen, n, 0),
			       .between = kgb_timer__choice(c, ns, &seen).reach,
			       .narrow = fmax(c->level.half_width, c->level.width * log1p(margin)),
			       .value = seen.value,
			       .n_usable = n};
}

/* Whether new processes are needed. A process adds a constant to the time of its calls, so a
 * session with other processes would find another speedup. More rounds of the same processes do not
 * show how much. */
static bool wants_processes(const struct kgb_timer *timer, const struct widths *widths)
{
	return timer->process + 1 < timer->config.level.max_processes &&
	       widths->between > widths->narrow;
}

/* Whether the current processes have had their rounds. */
static bool processes_had_their_rounds(const struct kgb_timer *timer)
{
	return timer->n_rounds - timer->process_began >=
	       timer->config.level.process_placements * timer->placement_rounds;
}

/* Whether enough rounds followed round `begin`, when the interval first was narrow. It was narrow
 * in part by chance, so some more rounds must follow, whatever they show: without them, intervals
 * of 95 % covered 90 to 92 %. */
static bool have_more_rounds(const struct kgb_timer *timer, uint32_t begin)
{
	uint32_t more = begin / timer->placement_rounds / MORE_ROUNDS * timer->placement_rounds;
	return begin > 0 && timer->n_rounds - begin >= more;
}

/* Depends only on the width of the interval, never on its place: a rule that stops at a welcome
 * answer would have a higher error rate than it claims. */
static bool is_narrow(struct kgb_timer *timer, const struct widths *widths)
{
	if (timer->narrow_at == 0 && widths->n_usable >= timer->config.level.min_placements &&
	    widths->within <= widths->narrow)
		timer->narrow_at = timer->n_rounds;
	return have_more_rounds(timer, timer->narrow_at) && !wants_processes(timer, widths);
}

/* For a speedup far from 1, a wider interval suffices. The allowed width depends on the place of
 * the interval, but only a little, so the rule hardly favours one answer over another. */
static bool is_far(struct kgb_timer *timer, const struct widths *widths)
{
	const struct kgb_timer_level *level = &timer->config.level;
	bool far = widths->n_usable >= level->far_placements &&
		   hypot(widths->within, widths->between) <= level->far * fabs(widths->value);

	if (far && timer->far_at == 0)
		timer->far_at = timer->n_rounds;
	timer->is_far = far;
	return far && have_more_rounds(timer, timer->far_at);
}

/* Whether there were enough calls on new inputs for the rule against reuse, or no input is new any
 * more. */
static bool had_new_inputs(const struct kgb_timer *timer, enum kgb_timer_side side)
{
	size_t n_new = 0, n_unseen = 0;

	for (size_t i = 0; i < timer->n_samples; i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		n_new += s->side == side && s->first_visit && s->fate == KGB_SAMPLE_KEPT;
	}
	for (uint32_t slot = 0; slot < timer->config.n_slots; slot++)
		n_unseen += timer->seen[side][slot] ? 0 : 1;
	return n_new >= KGB_TIMER_GROUP_MIN || n_unseen == 0;
}

static bool is_enough(struct kgb_timer *timer, const struct widths *widths)
{
	const bool far = is_far(timer, widths), narrow = is_narrow(timer, widths);
	const bool can_reuse = widths->value > 0; /* the gain may come from reuse */

	return (far || narrow) && processes_had_their_rounds(timer) &&
	       (!can_reuse ||
		(had_new_inputs(timer, KGB_SIDE_A) && had_new_inputs(timer, KGB_SIDE_B)));
}

/* Whether there is time, and room for samples, for new processes, one more round and the baseline
 * alone after it. */
static bool may_go_on(const struct kgb_timer *timer)
{
	const struct kgb_timer_level *l = &timer->config.level;
	bool few = timer->n_rounds < l->min_placements * timer->placement_rounds;
	uint64_t limit = few ? 4 * l->budget_ns : l->budget_ns;

	return timer->n_rounds < l->max_rounds && timer->outside_ns < limit &&
	       timer->n_samples + 2 * WARMUP_MAX * WARMUP_SAMPLES + ROUND_BLOCKS * BLOCK_SAMPLES +
			       KGB_TIMER_SOLO_BLOCKS_MAX * SOLO_SAMPLES <=
		       timer->config.max_samples;
}

static double block_median(const struct kgb_timer *timer, size_t begin, size_t end)
{
	double ns[WARMUP_SAMPLES];
	size_t n = 0;

	for (size_t i = begin; i < end; i++)
		ns[n++] = kgb_timer__event(&timer->samples[i]);
	return kgb_median(ns, n);
}

/* Whether the last two blocks of each side agree. */
static bool is_warm(const struct kgb_timer *timer)
{
	size_t ends[5] = {timer->n_samples}; /* ends of blocks, the last block first */
	size_t n = 0;

	for (size_t i = timer->n_samples; i-- > 0 && n < 4;)
		if (i == 0 || timer->samples[i - 1].last)
			ends[++n] = i;
	if (n < 4)
		return false;
	/* Blocks alternate between the sides. */
	for (int side = 0; side < 2; side++) {
		double now = block_median(timer, ends[side + 1], ends[side]);
		double before = block_median(timer, ends[side + 3], ends[side + 2]);
		if (fabs(now / before - 1) > PLATEAU)
			return false;
	}
	return true;
}

static void enter(struct kgb_timer *timer, enum kgb_timer_phase phase)
{
	if (phase == KGB_PHASE_ROUNDS && timer->n_rounds == 0 &&
	    (fair_samples(timer, KGB_SIDE_A) == 1 || fair_samples(timer, KGB_SIDE_B) == 1))
		timer->placement_rounds = 1;
	timer->phase = phase;
	timer->round = phase == KGB_PHASE_ROUNDS ? timer->n_rounds : 0;
	timer->step = 0;
	timer->round_begin = timer->n_samples;
	timer->b_first = phase == KGB_PHASE_ROUNDS && pick(timer, 0, 1);
}

static void after_warmup_block(struct kgb_timer *timer)
{
	bool over =
		timer->step >= 2 * WARMUP_MAX || timer->outside_ns > timer->config.level.budget_ns;

	if (timer->step >= 2 * WARMUP_MIN && timer->step % 2 == 0 && (over || is_warm(timer)))
		enter(timer, KGB_PHASE_ROUNDS);
}

/* New processes have no state of earlier calls: all inputs are new to them, and they need a
 * warm-up. */
static void change_processes(struct kgb_timer *timer)
{
	timer->process++;
	timer->process_began = timer->n_rounds;
	timer->open_slots = slots_at_first(&timer->config);
	for (int side = 0; side < KGB_N_SIDES; side++)
		memset(timer->seen[side], 0, timer->config.n_slots * sizeof(*timer->seen[side]));
	enter(timer, KGB_PHASE_WARMUP);
}

static void after_round_block(struct kgb_timer *timer)
{
	if (timer->step < ROUND_BLOCKS)
		return;
	close_round(timer);
	const bool moves = timer->n_rounds % timer->placement_rounds == 0;
	const struct widths widths = widths_by_now(timer);
	if ((moves && is_enough(timer, &widths)) || !may_go_on(timer)) {
		enter(timer, KGB_PHASE_SOLO_AFTER);
		return;
	}
	timer->round++;
	timer->step = 0;
	timer->placement += moves ? 1 : 0;
	timer->b_first = pick(timer, 0, 1);
	if (timer->open_slots < timer->config.n_slots)
		timer->open_slots += pick(timer, 0, 3) > 0 ? 1 : 0;
	if (moves && !timer->is_far && processes_had_their_rounds(timer) &&
	    wants_processes(timer, &widths))
		change_processes(timer);
}

static void advance(struct kgb_timer *timer)
{
	timer->step++;
	if (timer->phase == KGB_PHASE_WARMUP) {
		after_warmup_block(timer);
	} else if (timer->phase == KGB_PHASE_ROUNDS) {
		after_round_block(timer);
	} else {
		timer->placement++;
		if (timer->step == timer->config.level.solo_blocks)
			enter(timer, timer->phase == KGB_PHASE_SOLO_BEFORE ? KGB_PHASE_WARMUP
									   : KGB_PHASE_DONE);
	}
}

/* ---- answers ---- */

static int check_samples(const struct kgb_timer *timer, const struct kgb_exec_sample *samples,
			 size_t n, struct kgb_err *err)
{
	const struct kgb_timer_block *block = &timer->block;

	if (n != block->n)
		return kgb_fail(err, KGB_ERR_INVALID, "%u samples asked for, %zu given", block->n,
				n);
	for (size_t i = 0; i < n; i++) {
		uint32_t slot = (uint32_t)((block->slot + i) % block->n_slots);
		if (samples[i].slot != slot)
			return kgb_fail(err, KGB_ERR_INVALID,
					"sample %zu ran on input set %u, not on %u", i,
					samples[i].slot, slot);
		if (samples[i].event_ns == 0 || samples[i].host_ns == 0 ||
		    samples[i].event_ns > INT64_MAX || samples[i].host_ns > INT64_MAX ||
		    samples[i].activity_ns > INT64_MAX)
			return kgb_fail(err, KGB_ERR_INVALID, "sample %zu has no possible time", i);
	}
	return 0;
}

static enum kgb_sample_fate fate_of_phase(const struct kgb_timer *timer)
{
	if (timer->phase == KGB_PHASE_ROUNDS)
		return KGB_SAMPLE_KEPT;
	return timer->phase == KGB_PHASE_WARMUP || timer->step == 0 ? KGB_SAMPLE_WARMUP
								    : KGB_SAMPLE_SOLO;
}

/* Whether the samples claim more time than the whole block took by the judge's clock. Both
 * processes read the same clock. */
static bool contradicts(const struct kgb_exec_sample *samples, size_t n, uint64_t outside_ns)
{
	double inside = 0;

	for (size_t i = 0; i < n; i++)
		inside += (double)(samples[i].host_ns > samples[i].event_ns ? samples[i].host_ns
									    : samples[i].event_ns);
	return inside > 1.001 * (double)outside_ns + 100e3;
}

static void keep(struct kgb_timer *timer, const struct kgb_exec_sample *raw, bool last)
{
	const struct kgb_timer_block *block = &timer->block;
	bool *seen = &timer->seen[block->side][raw->slot];
	enum kgb_sample_fate fate = fate_of_phase(timer);

	if (block->phase == KGB_PHASE_SOLO_BEFORE && raw->sm_mhz > timer->top_mhz)
		timer->top_mhz = raw->sm_mhz;
	if (fate != KGB_SAMPLE_WARMUP && is_throttled(timer, raw))
		fate = KGB_SAMPLE_THROTTLED;
	timer->samples[timer->n_samples++] = (struct kgb_timer_sample){
		.raw = *raw,
		.round = block->round,
		.side = (uint8_t)block->side,
		.fate = (uint8_t)fate,
		.phase = (uint8_t)block->phase,
		.last = last,
		.first_visit = !*seen,
		.with_activity = block->with_activity,
	};
	*seen = true;
}

int kgb_timer_give(struct kgb_timer *timer, const struct kgb_exec_sample *samples, size_t n,
		   uint64_t outside_ns, struct kgb_err *err)
{
	enum kgb_timer_side side = timer->block.side;
	bool throttled = false;

	KGB_ASSERT(timer->waiting);
	if (check_samples(timer, samples, n, err) < 0)
		return kgb_ctx(err, "timer of '%s': block of the %s", timer->config.case_name,
			       kgb_timer_side_name(side));
	for (size_t i = 0; i < n; i++) {
		throttled = throttled || is_throttled(timer, &samples[i]);
		keep(timer, &samples[i], i + 1 == n);
	}
	timer->n_throttled = throttled ? timer->n_throttled + 1 : 0;
	timer->n_contradicted[side] += contradicts(samples, n, outside_ns) ? 1 : 0;
	timer->outside_ns += outside_ns;
	KGB_ASSERT(n > 0);
	timer->sample_ns[side] = outside_ns / n;
	timer->waiting = false;
	advance(timer);
	return 0;
}

int kgb_timer_run(struct kgb_timer *timer, kgb_timer_source_fn source, void *payload,
		  struct kgb_timer_result *out, struct kgb_err *err)
{
	struct kgb_exec_sample samples[WARMUP_SAMPLES];
	struct kgb_timer_block block;

	while (kgb_timer_next(timer, &block)) {
		uint64_t outside_ns = 0;
		KGB_ASSERT(block.n <= KGB_ARRAY_LEN(samples));
		memset(samples, 0, sizeof(samples));
		if (source(payload, &block, samples, &outside_ns, err) < 0 ||
		    kgb_timer_give(timer, samples, block.n, outside_ns, err) < 0)
			return -1;
	}
	kgb_timer_finish(timer, out);
	return 0;
}
