/* SPDX-License-Identifier: MIT */
#include "tests/helpers/timer_source.h"

#include <math.h>

#include "base/mem.h"

void world_start(struct world *world, uint32_t seed)
{
	const struct kgb_seed zero = {{0}};

	kgb_rng_init(&world->rng, &zero, "world", seed);
	world->seed = seed;
}

static double chance(struct world *world)
{
	return kgb_rng_uniform(&world->rng);
}

/* Episodes that take `share` of the samples and `length` samples each on average. */
static bool episode(struct world *world, bool on, double share, double length)
{
	if (share <= 0)
		return false;
	double p = on ? 1 / length : share / (1 - share) / length;
	return chance(world) < p ? !on : on;
}

/* How much slower both sides are now than at the start. */
static double surroundings(const struct world *world)
{
	double at = (double)world->n_samples;
	double slower = 1 + world->drift * at / 1000 + world->wander * sin(at * 2 * M_PI / 150);

	if (world->clock_step > 0 && world->n_samples >= 300)
		slower *= 1 + world->clock_step;
	if (world->neighbour)
		slower *= 1 + world->neighbour_slower;
	if (world->throttled)
		slower /= 0.6;
	return slower;
}

static double noisy(struct world *world, double ns)
{
	double out = ns * exp(world->noise * kgb_rng_normal(&world->rng)) +
		     world->noise_ns * kgb_rng_normal(&world->rng);

	if (world->outlier_share > 0 && chance(world) < world->outlier_share)
		out *= 1 + world->outlier_scale * (1 / sqrt(1 - chance(world)) - 1);
	return fmax(out, 1);
}

/* The part of its work that a candidate does in this call. */
static double diligence(struct world *world, uint32_t slot, bool last)
{
	double part = world->cheat_part > 0 ? world->cheat_part : 0.4;
	bool seen = world->seen[slot];

	world->seen[slot] = true;
	switch (world->cheat) {
	case WORLD_CHECKED_SLOW:
		return last ? 1 : part;
	case WORLD_FIRST_FAST:
		return world->n_calls[KGB_SIDE_B] < world->first_calls ? part : 1;
	case WORLD_REUSE:
		return seen ? part : 1;
	case WORLD_HONEST:
	case WORLD_FORGED_EVENTS:
	case WORLD_FORGED_DEVICE:
	case WORLD_HOST_SHORT:
	case WORLD_OUTSIDE_SHORT:
	case WORLD_BASELINE_OUTSIDE_SHORT:
	case WORLD_ACTIVITY_LOST:
	case WORLD_SLOW_BASELINE:
	case WORLD_HOT:
		return 1;
	}
	KGB_UNREACHABLE();
}

static uint64_t rounded(double ns, double step)
{
	double s = step > 0 ? step : 32;
	return (uint64_t)fmax(floor(ns / s + 0.5) * s, s);
}

/* Is this time of the candidate forged? */
static bool forges(struct world *world, enum kgb_timer_side side, bool activity)
{
	if (side != KGB_SIDE_B || (world->cheat != WORLD_FORGED_DEVICE &&
				   (activity || world->cheat != WORLD_FORGED_EVENTS)))
		return false;
	return world->cheat_part <= 0 || chance(world) < world->cheat_part;
}

/* What the rulers say of a call that took `ns`, and of the same again, under CUPTI, that took
 * `active_ns`. */
static void read_rulers(struct world *world, enum kgb_timer_side side, double ns, double active_ns,
			struct kgb_exec_sample *out)
{
	double events = ns + 3000 + 150 * kgb_rng_normal(&world->rng);
	double host = events + 11000 + 1500 * fabs(kgb_rng_normal(&world->rng));

	if (world->late_share > 0 && chance(world) < world->late_share)
		host += 50e3;
	if (forges(world, side, false))
		events /= 2;
	if (forges(world, side, true))
		active_ns /= 2;
	if (side == KGB_SIDE_B && world->cheat == WORLD_HOST_SHORT)
		host = events / 2;
	out->event_ns = rounded(events, world->event_step);
	out->host_ns = rounded(host, 1);
	if (active_ns > 0 && world->cheat != WORLD_ACTIVITY_LOST)
		out->activity_ns =
			rounded(active_ns + world->profiled_ns[side], world->activity_step);
}

static uint32_t clock_now(const struct world *world, enum kgb_timer_side side)
{
	double mhz = world->throttled ? 0.6 * 1980 : 1980;

	if (world->clock_step > 0 && world->n_samples >= 300)
		mhz /= 1 + world->clock_step;
	if (world->cheat == WORLD_HOT && side == KGB_SIDE_B)
		mhz *= 0.9;
	return (uint32_t)mhz;
}

/* Random numbers that belong to a thing of this session: the same number is the same thing. */
static struct kgb_rng rng_of(const struct world *world, const char *what, enum kgb_timer_side side,
			     uint32_t number)
{
	const struct kgb_seed zero = {{0}};
	struct kgb_rng rng;

	KGB_AUTO(free) char *label = kgb_xasprintf("%s %u %u", what, side, number);
	kgb_rng_init(&rng, &zero, label, world->seed);
	return rng;
}

/* In ns. */
static double process_effect(const struct world *world, enum kgb_timer_side side, uint32_t process)
{
	if (world->process_sd_ns <= 0)
		return 0;
	struct kgb_rng rng = rng_of(world, "process", side, process);
	return world->process_sd_ns * kgb_rng_normal(&rng);
}

/* Where memory lies. */
static double placement_effect(const struct world *world, enum kgb_timer_side side,
			       uint32_t placement)
{
	if (world->placement_sd <= 0 && world->placement_share <= 0)
		return 1;
	struct kgb_rng rng = rng_of(world, "placement", side, placement);
	double out = exp(world->placement_sd * kgb_rng_normal(&rng));
	return kgb_rng_uniform(&rng) < world->placement_share ? out * (1 + world->placement_slower)
							      : out;
}

static void sample(struct world *world, const struct kgb_timer_block *block, uint32_t i,
		   struct kgb_exec_sample *out)
{
	enum kgb_timer_side side = block->side;
	uint32_t slot = (block->slot + i) % block->n_slots;
	double ns = world->ns[side] * placement_effect(world, side, block->placement) +
		    process_effect(world, side, block->process);

	world->neighbour = episode(world, world->neighbour, world->neighbour_share, 60);
	world->throttled = episode(world, world->throttled, world->throttle_share, 40);
	if (side == KGB_SIDE_B)
		ns *= diligence(world, slot, i + 1 == block->n);
	if (world->two_speeds > 0 && chance(world) < 0.4)
		ns *= 1 + world->two_speeds;
	if (i + 1 == block->n)
		ns *= 1 + world->last_slower;
	bool beside = block->phase == KGB_PHASE_WARMUP || block->phase == KGB_PHASE_ROUNDS;
	if (side == KGB_SIDE_A && beside && world->cheat == WORLD_SLOW_BASELINE)
		ns *= 1.1;
	*out = (struct kgb_exec_sample){.slot = slot, .sm_mhz = clock_now(world, side)};
	ns *= surroundings(world);
	read_rulers(world, side, noisy(world, ns), block->with_activity ? noisy(world, ns) : 0,
		    out);
	world->n_samples++;
	world->n_calls[side]++;
}

int world_sample(void *payload, const struct kgb_timer_block *block,
		 struct kgb_exec_sample *samples, uint64_t *outside_ns, struct kgb_err *err)
{
	struct world *world = payload;

	(void)err;
	if (block->process != world->process) {
		world->process = block->process;
		memset(world->n_calls, 0, sizeof(world->n_calls));
		memset(world->seen, 0, sizeof(world->seen));
	}
	*outside_ns = 50000;
	/* Cold clocks and caches: the first calls of a block after a pause cool nothing here, but
	 * the episode ends sooner. */
	if (block->pause_ms > 0 && chance(world) < 0.5)
		world->throttled = false;
	for (uint32_t i = 0; i < block->n; i++) {
		sample(world, block, i, &samples[i]);
		*outside_ns += samples[i].host_ns + (uint64_t)world->sample_ns;
	}
	if ((world->cheat == WORLD_OUTSIDE_SHORT && block->side == KGB_SIDE_B) ||
	    (world->cheat == WORLD_BASELINE_OUTSIDE_SHORT && block->side == KGB_SIDE_A))
		*outside_ns /= 20;
	return 0;
}

void world_run(const struct world *world, const struct kgb_timer_config *config, uint32_t seed,
	       struct kgb_timer_result *out)
{
	KGB_AUTO(free) struct world *copy = kgb_xcalloc(1, sizeof(*copy));
	struct kgb_timer_config own = *config;
	struct kgb_timer timer;
	struct kgb_err err = KGB_ERR_INIT;

	*copy = *world;
	world_start(copy, seed);
	memcpy(own.seed.bytes, &seed, sizeof(seed));
	KGB_ASSERT(kgb_timer_init(&timer, &own, &err) == 0);
	KGB_ASSERT(kgb_timer_run(&timer, world_sample, copy, out, &err) == 0);
	kgb_timer_release(&timer);
}

struct kgb_timer_config world_config(void)
{
	struct kgb_timer_config config = KGB_TIMER_CONFIG_INIT;

	config.level = kgb_timer_levels[KGB_PRECISION_THOROUGH];
	config.case_name = "add/float32/x/standard";
	config.machine = (struct kgb_timer_machine){
		.bytes_per_s = 4.4e12,
		.flops_per_s = 60e12,
		.l2_bytes = 50u << 20,
		.launch_floor_ns = 2000,
		.event_step_ns = 32,
		.activity_step_ns = 32,
	};
	return config;
}

struct world world_new(double us, double slower)
{
	return (struct world){.ns = {us * 1e3, us * 1e3 * slower},
			      .noise = 0.005,
			      .process_sd_ns = 65,
			      .sample_ns = 300e3};
}

struct world_tally world_run_many(const struct world *world, const struct kgb_timer_config *config,
				  int n)
{
	struct world_tally tally;
	double truth = (world->ns[KGB_SIDE_A] + 3000) / (world->ns[KGB_SIDE_B] + 3000);

	memset(&tally, 0, sizeof(tally));
	tally.n = n;
	for (int i = 0; i < n; i++) {
		struct kgb_timer_result result;
		world_run(world, config, (uint32_t)i, &result);
		tally.results[result.result]++;
		tally.whys[result.why]++;
		tally.n_accused += result.accuses;
		tally.half_width += (result.speedup.high - result.speedup.low) / 2;
		tally.outside_ns += result.outside_ns;
		tally.n_covered +=
			result.speedup.low <= truth && truth <= result.speedup.high ? 1 : 0;
	}
	return tally;
}
