/* SPDX-License-Identifier: MIT */
#include "verify/timer/timer.h"

#include <math.h>

#include "base/formats/json.h"
#include "base/system/fs.h"
#include "tests/helpers/timer_source.h"
#include "tests/unit/base/support.h"

/* ---- rates ---- */

enum { RUNS = 20, FEW_RUNS = 6 };

static void test_identical_kernels_are_the_same(KGB_UNUSED void **state)
{
	static const struct {
		const char *name;
		struct world world;
	} rows[] = {
		{"2 ms", {.ns = {2e6, 2e6}, .noise = 0.005}},
		{"200 us", {.ns = {2e5, 2e5}, .noise = 0.005}},
		{"20 us", {.ns = {2e4, 2e4}, .noise = 0.01}},
		{"2 us", {.ns = {2e3, 2e3}, .noise_ns = 100}},
		{"drift", {.ns = {2e5, 2e5}, .noise = 0.005, .drift = 0.03}},
		{"waves", {.ns = {2e5, 2e5}, .noise = 0.005, .wander = 0.02}},
		{"clock step", {.ns = {2e5, 2e5}, .noise = 0.005, .clock_step = 0.08}},
		{"outliers",
		 {.ns = {2e5, 2e5}, .noise = 0.005, .outlier_share = 0.03, .outlier_scale = 0.5}},
		{"late host", {.ns = {2e5, 2e5}, .noise = 0.005, .late_share = 0.05}},
		{"throttled", {.ns = {2e5, 2e5}, .noise = 0.005, .throttle_share = 0.1}},
		{"steps of 0.5 us", {.ns = {200100, 200100}, .noise = 0.0005, .event_step = 500}},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_timer_config config = world_config();
		struct world world = rows[i].world;
		world.sample_ns = 300e3;
		world.process_sd_ns = 65;
		if (world.event_step > 0)
			config.machine.event_step_ns = (uint64_t)world.event_step;
		struct world_tally tally = world_run_many(&world, &config, RUNS);
		if (tally.results[KGB_TIMING_SAME] < RUNS * 85 / 100 ||
		    tally.results[KGB_TIMING_FASTER] + tally.results[KGB_TIMING_SLOWER] +
				    tally.results[KGB_TIMING_UNTRUSTED] >
			    0)
			fail_msg("%s: %d SAME, %d UNDECIDED, %d UNTRUSTED of %d", rows[i].name,
				 tally.results[KGB_TIMING_SAME],
				 tally.results[KGB_TIMING_UNDECIDED],
				 tally.results[KGB_TIMING_UNTRUSTED], RUNS);
	}
}

static void test_one_percent_at_200_us_is_found(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1.01);

	assert_int_equal(world_run_many(&world, &config, RUNS).results[KGB_TIMING_SLOWER], RUNS);
	world.noise = 0.01;
	assert_int_equal(world_run_many(&world, &config, RUNS).results[KGB_TIMING_SLOWER], RUNS);
	world.ns[KGB_SIDE_B] = 198e3;
	world.drift = 0.03;
	assert_true(world_run_many(&world, &config, RUNS).results[KGB_TIMING_FASTER] >=
		    RUNS * 95 / 100);
}

/* Between the margin's middle and its border there is no wrong answer, only none. */
static void test_an_effect_below_the_margin_is_never_a_gain(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 0.997);
	struct world_tally tally = world_run_many(&world, &config, RUNS);

	assert_int_equal(tally.results[KGB_TIMING_FASTER], 0);
	assert_int_equal(tally.results[KGB_TIMING_SLOWER], 0);
	assert_true(tally.results[KGB_TIMING_UNDECIDED] > RUNS / 4);
}

static void test_intervals_cover_the_true_speedup(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(500, 0.8);

	struct world_tally tally = world_run_many(&world, &config, 3 * RUNS);
	assert_true(tally.n_covered >= 3 * RUNS * 85 / 100);
	assert_true(tally.n_covered < 3 * RUNS);
}

/* What the processes of this session happened to add must not pass for the kernel's: without it
 * half the intervals miss. One process of each side tells nothing of the others, eight a little. */
static void test_intervals_admit_what_other_processes_would_show(KGB_UNUSED void **state)
{
	static const struct {
		double us, process_sd_ns;
	} rows[] = {{10, 65}, {10, 100}, {60, 65}, {130, 65}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_timer_config config = world_config();
		struct world world = world_new(rows[i].us, 0.8);
		struct kgb_timer_result result;
		world.noise = 0.001;
		world.process_sd_ns = rows[i].process_sd_ns;
		struct world_tally tally = world_run_many(&world, &config, RUNS);
		if (tally.n_covered < RUNS * 75 / 100)
			fail_msg("%g us, processes %g ns: %d covered of %d", rows[i].us,
				 rows[i].process_sd_ns, tally.n_covered, RUNS);
		world_run(&world, &config, 1, &result);
		double known = 65 / result.median_ns[KGB_SIDE_B][KGB_RULER_EVENT];
		assert_true(result.speedup.high > result.speedup.value * (1 + known));
		assert_true(result.speedup.low < result.speedup.value * (1 - known));
		assert_true(result.speedup_device.high > result.speedup_device.value * (1 + known));
		assert_true(result.median_ratio.high > result.median_ratio.value * (1 + known));
		assert_true(result.median_ratio.low < result.median_ratio.value * (1 - known));
		assert_true(result.detectable > result.margin + known);
	}
}

/* The first narrow look is luck, in part. */
static void test_a_narrow_interval_is_not_believed_at_once(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);
	struct kgb_timer timer;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_timer_result result;

	world_start(&world, 1);
	assert_ok(kgb_timer_init(&timer, &config, &err), err);
	assert_ok(kgb_timer_run(&timer, world_sample, &world, &result, &err), err);
	assert_true(result.narrow);
	assert_true(timer.narrow_at >= config.level.min_placements);
	assert_int_equal(timer.n_rounds, timer.narrow_at + timer.narrow_at / 2);
	kgb_timer_release(&timer);
}

/* Both sides round to the same step, 0.4 % apart though they are. */
static void test_an_interval_admits_what_a_coarse_ruler_hides(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = {
		.ns = {200100, 200900}, .noise_ns = 50, .event_step = 2000, .sample_ns = 300e3};

	config.machine.event_step_ns = 2000;
	assert_int_equal(world_run_many(&world, &config, FEW_RUNS).n_covered, FEW_RUNS);
}

static void test_dishonest_sources_get_no_number(KGB_UNUSED void **state)
{
	static const struct {
		enum world_cheat cheat;
		enum kgb_timing_why why;
		bool accuses;
		double part;
	} rows[] = {
		{WORLD_CHECKED_SLOW, KGB_WHY_CHECKED, true, 0},
		{WORLD_FIRST_FAST, KGB_WHY_TREND, true, 0.9},
		{WORLD_REUSE, KGB_WHY_REUSE, true, 0},
		{WORLD_FORGED_EVENTS, KGB_WHY_RULER_ORDER, true, 0},
		{WORLD_FORGED_EVENTS, KGB_WHY_RULER_ORDER, true, 0.4},
		{WORLD_FORGED_DEVICE, KGB_WHY_RULER_HOST, true, 0},
		{WORLD_FORGED_DEVICE, KGB_WHY_RULER_HOST, false, 0.3},
		{WORLD_HOST_SHORT, KGB_WHY_RULER_ORDER, true, 0},
		{WORLD_OUTSIDE_SHORT, KGB_WHY_RULER_OUTSIDE, true, 0},
		{WORLD_BASELINE_OUTSIDE_SHORT, KGB_WHY_RULER_OUTSIDE, false, 0},
		{WORLD_ACTIVITY_LOST, KGB_WHY_RULER_ACTIVITY, false, 0},
		{WORLD_SLOW_BASELINE, KGB_WHY_DISTURBED, false, 0},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_timer_config config = world_config();
		struct world world = world_new(200, 1);
		world.cheat = rows[i].cheat;
		world.first_calls = 250;
		if (rows[i].cheat == WORLD_FIRST_FAST) /* which end in the midst of it */
			config.level.min_placements = config.level.max_rounds = 80;
		world.cheat_part = rows[i].part;
		struct world_tally tally = world_run_many(&world, &config, FEW_RUNS);
		if (tally.results[KGB_TIMING_UNTRUSTED] < FEW_RUNS ||
		    tally.whys[rows[i].why] < FEW_RUNS ||
		    tally.n_accused != (rows[i].accuses ? FEW_RUNS : 0))
			fail_msg("%s: %d UNTRUSTED, %d for this reason, %d accused, of %d",
				 kgb_timing_why_name(rows[i].why),
				 tally.results[KGB_TIMING_UNTRUSTED], tally.whys[rows[i].why],
				 tally.n_accused, FEW_RUNS);
	}
}

/* Where calls are slow there are few: no share of forged events shall gain what the rulers' known
 * error does not allow. */
static void test_events_forged_now_and_then_gain_nothing(KGB_UNUSED void **state)
{
	static const double parts[] = {0.1, 0.15, 0.2, 0.25, 0.3, 0.4};

	for (size_t i = 0; i < KGB_ARRAY_LEN(parts); i++) {
		struct kgb_timer_config config = world_config();
		struct world world = world_new(2000, 1);
		world.cheat = WORLD_FORGED_EVENTS;
		world.cheat_part = parts[i];
		world.sample_ns = 10e6;
		assert_int_equal(world_run_many(&world, &config, RUNS).results[KGB_TIMING_FASTER],
				 0);
	}
	/* Too little on average for the host to tell, but in each of these calls too much. */
	struct kgb_timer_config config = world_config();
	struct world world = world_new(30, 1);
	world.cheat = WORLD_FORGED_DEVICE;
	world.cheat_part = 0.3;
	assert_int_equal(world_run_many(&world, &config, RUNS).whys[KGB_WHY_RULER_HOST], RUNS);
}

/* What the harness does to the last call of a block it does to both sides. */
static void test_an_effect_on_both_sides_accuses_nobody(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);

	world.last_slower = 0.1;
	assert_int_equal(world_run_many(&world, &config, FEW_RUNS).results[KGB_TIMING_UNTRUSTED],
			 0);
}

/* rms_norm's baseline on an H200: 1047 us by events, 1070 us under the profiler. */
static void test_what_the_profiler_delays_contradicts_nothing(KGB_UNUSED void **state)
{
	static const struct {
		double profiled_ns[KGB_N_SIDES];
		uint32_t n_ops[KGB_N_SIDES];
	} rows[] = {
		{{40e3, 0}, {1, 1}},
		{{40e3, 0}, {12, 1}},
		{{0, 44e3}, {1, 12}},
		{{44e3, 44e3}, {12, 12}},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_timer_config config = world_config();
		struct world world = world_new(200, 1);
		memcpy(config.n_ops, rows[i].n_ops, sizeof(config.n_ops));
		memcpy(world.profiled_ns, rows[i].profiled_ns, sizeof(world.profiled_ns));
		struct world_tally tally = world_run_many(&world, &config, RUNS);
		assert_int_equal(tally.results[KGB_TIMING_UNTRUSTED], 0);
		assert_int_equal(tally.whys[KGB_WHY_OPPOSED], 0);
		struct kgb_timer_result result;
		world_run(&world, &config, 7, &result);
		assert_true(isnan(result.speedup_device.value));
	}
}

static void test_a_neighbour_in_turns_is_seen(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);

	config.level.min_placements = 40;
	world.neighbour_share = 0.4;
	world.neighbour_slower = 0.2;
	struct world_tally tally = world_run_many(&world, &config, RUNS);
	assert_true(tally.whys[KGB_WHY_NEIGHBOUR] >= RUNS * 3 / 4);
	assert_int_equal(tally.n_accused, 0);
	/* Two speeds that change from call to call are noise. */
	world.neighbour_share = 0;
	world.two_speeds = 0.08;
	assert_int_equal(world_run_many(&world, &config, FEW_RUNS).results[KGB_TIMING_UNTRUSTED],
			 0);
}

/* Where memory lies is no neighbour and no gain, though it moves the baseline by 3 %. */
static void test_placements_are_part_of_the_interval(KGB_UNUSED void **state)
{
	static const struct {
		const char *name;
		struct world world;
	} rows[] = {
		{"3 %", {.ns = {2e5, 2e5}, .noise = 0.003, .placement_sd = 0.03}},
		{"two speeds",
		 {.ns = {2e5, 2e5},
		  .noise = 0.003,
		  .placement_share = 0.3,
		  .placement_slower = 0.07}},
		{"10 us", {.ns = {1e4, 1e4}, .noise_ns = 100, .placement_sd = 0.03}},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_timer_config config = world_config();
		struct world world = rows[i].world;
		world.sample_ns = 300e3;
		config.max_samples = 1200;
		struct world_tally tally = world_run_many(&world, &config, RUNS);
		if (tally.n_covered < RUNS * 80 / 100 ||
		    tally.results[KGB_TIMING_FASTER] + tally.results[KGB_TIMING_SLOWER] > 1 ||
		    tally.results[KGB_TIMING_UNTRUSTED] > 0)
			fail_msg("%s: %d covered, %d FASTER, %d SLOWER, %d UNTRUSTED of %d",
				 rows[i].name, tally.n_covered, tally.results[KGB_TIMING_FASTER],
				 tally.results[KGB_TIMING_SLOWER],
				 tally.results[KGB_TIMING_UNTRUSTED], RUNS);
	}
}

static void test_a_large_drift_is_refused_unless_the_clock_explains_it(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);

	config.level.min_placements = 40;
	world.drift = 0.4;
	struct world_tally tally = world_run_many(&world, &config, FEW_RUNS);
	assert_int_equal(tally.whys[KGB_WHY_DRIFT], FEW_RUNS);
	assert_int_equal(tally.n_accused, 0);
	world.drift = 0;
	world.clock_step = 0.2;
	tally = world_run_many(&world, &config, FEW_RUNS);
	assert_int_equal(tally.results[KGB_TIMING_SAME], FEW_RUNS);
}

static void test_clocks_that_never_agree_leave_it_undecided(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 0.5);
	struct kgb_timer_result result;

	world.cheat = WORLD_HOT;
	world_run(&world, &config, 1, &result);
	assert_int_equal(result.result, KGB_TIMING_UNDECIDED);
	assert_int_equal(result.why, KGB_WHY_CLOCK);
	assert_int_equal(result.n_rounds, 0);
}

/* ---- the floor ---- */

static struct kgb_timer_result run_once(const struct world *world,
					const struct kgb_timer_config *config)
{
	struct kgb_timer_result result;

	world_run(world, config, 1, &result);
	return result;
}

static void test_the_physical_floor_counts_what_must_leave_the_chip(KGB_UNUSED void **state)
{
	struct world world = world_new(200, 1);
	struct kgb_timer_config config = world_config();

	assert_true(run_once(&world, &config).floor_ns == 2000);
	const double left_ns = 50 * 1048576 / 8.0 / 4400; /* of the inputs, by the flush */
	config.bytes = 440 * 1000 * 1000; /* 100 us at 4.4 TB/s */
	assert_true(fabs(run_once(&world, &config).floor_ns + left_ns - 100e3) < 1);
	/* Results that fit into the cache need not have left it. */
	config.written_bytes = 44 * 1000 * 1000;
	assert_true(fabs(run_once(&world, &config).floor_ns + left_ns - 90e3) < 1);
	config.written_bytes = 220 * 1000 * 1000;
	assert_true(fabs(run_once(&world, &config).floor_ns + 9 * left_ns - 100e3) < 1);
	/* All of it may lie there. */
	config.bytes = 40 * 1000 * 1000;
	config.written_bytes = 36 * 1000 * 1000;
	assert_true(run_once(&world, &config).floor_ns == 2000);
	config.flops = 12 * INT64_C(1000000000); /* 200 us at 60 TFLOPS, less an eighth */
	assert_true(fabs(run_once(&world, &config).floor_ns - 175e3) < 1);
	assert_int_equal(run_once(&world, &config).result, KGB_TIMING_SAME);
}

static void test_times_below_the_floor_are_no_times(KGB_UNUSED void **state)
{
	struct world world = world_new(200, 0.1);
	struct kgb_timer_config config = world_config();

	config.bytes = 440 * 1000 * 1000;
	struct kgb_timer_result result = run_once(&world, &config);
	assert_int_equal(result.result, KGB_TIMING_UNTRUSTED);
	assert_int_equal(result.why, KGB_WHY_BELOW_FLOOR);
	assert_true(result.accuses);
	assert_true(isnan(result.speedup.value) && isnan(result.median_ratio.value));
	assert_contains(result.text, "of the candidate are below the physical floor of 98.51 us");
	/* A baseline below it says that the floor is wrong. */
	world.ns[KGB_SIDE_A] = world.ns[KGB_SIDE_B];
	result = run_once(&world, &config);
	assert_int_equal(result.why, KGB_WHY_FLOOR_WRONG);
	assert_false(result.accuses);
	/* A kernel that takes 2 % less than the floor is within what a measured rate can be off. */
	world = world_new(100, 0.97);
	config.bytes = 440 * 1000 * 1000;
	assert_int_equal(run_once(&world, &config).result, KGB_TIMING_FASTER);
}

/* ---- the plan ---- */

struct log {
	struct kgb_timer_block blocks[4096];
	size_t n;
	struct world world;
	size_t fail_at;
};

static int log_sample(void *payload, const struct kgb_timer_block *block,
		      struct kgb_exec_sample *samples, uint64_t *outside_ns, struct kgb_err *err)
{
	struct log *log = payload;

	assert_true(log->n < KGB_ARRAY_LEN(log->blocks));
	log->blocks[log->n++] = *block;
	if (log->n == log->fail_at)
		return kgb_fail(err, KGB_ERR_FAILED, "the device is gone");
	return world_sample(&log->world, block, samples, outside_ns, err);
}

static struct log *run_logged(const struct world *world, const struct kgb_timer_config *config,
			      struct kgb_timer *timer, struct kgb_timer_result *result)
{
	struct log *log = kgb_xcalloc(1, sizeof(*log));
	struct kgb_err err = KGB_ERR_INIT;

	log->world = *world;
	world_start(&log->world, 1);
	assert_ok(kgb_timer_init(timer, config, &err), err);
	assert_ok(kgb_timer_run(timer, log_sample, log, result, &err), err);
	return log;
}

static void test_rounds_are_abba_in_random_order_with_random_sizes(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);
	struct kgb_timer timer;
	struct kgb_timer_result result;
	size_t n_sizes[8] = {0}, n_first[KGB_N_SIDES] = {0}, i = 0, n_rounds = 0;

	world.noise = 0.02;
	struct log *log = run_logged(&world, &config, &timer, &result);
	while (log->blocks[i].phase != KGB_PHASE_ROUNDS)
		i++;
	for (; log->blocks[i].phase == KGB_PHASE_ROUNDS; i += 4, n_rounds++) {
		const struct kgb_timer_block *b = &log->blocks[i];
		assert_int_equal(b[0].side, b[3].side);
		assert_int_equal(b[1].side, b[2].side);
		assert_int_not_equal(b[0].side, b[1].side);
		n_first[b[0].side]++;
		for (int k = 0; k < 4; k++) {
			assert_int_equal(b[k].round, n_rounds);
			assert_true(b[k].n >= 2 && b[k].n <= 6);
			assert_true(b[k].slot < b[k].n_slots && b[k].n_slots <= config.n_slots);
			assert_int_equal(kgb_timer_last_slot(&b[k]),
					 (b[k].slot + b[k].n - 1) % b[k].n_slots);
			n_sizes[b[k].n]++;
		}
	}
	assert_true(n_rounds > 50);
	assert_true(n_first[0] > n_rounds / 4 && n_first[1] > n_rounds / 4);
	for (size_t n = 2; n <= 6; n++)
		assert_true(n_sizes[n] > n_rounds / 3);
	kgb_timer_release(&timer);
	kgb_free(log);
}

/* Both sides change together, at the beginning of every round, and share no number. */
static void test_every_round_has_a_placement_of_its_own(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);
	struct kgb_timer timer;
	struct kgb_timer_result result;
	struct log *log = run_logged(&world, &config, &timer, &result);
	const struct kgb_timer_block *first = log->blocks;

	while (first->phase != KGB_PHASE_ROUNDS)
		first++;
	for (size_t i = 0; i < log->n; i++) {
		const struct kgb_timer_block *b = &log->blocks[i];
		assert_int_equal(b->placement % KGB_N_SIDES, b->side);
		if (b->phase == KGB_PHASE_ROUNDS)
			assert_int_equal(b->placement / KGB_N_SIDES,
					 first->placement / KGB_N_SIDES + b->round);
		if (b->phase == KGB_PHASE_SOLO_BEFORE)
			assert_int_equal(b->placement / KGB_N_SIDES, i);
	}
	assert_int_equal(result.n_placements, result.n_rounds);
	kgb_timer_release(&timer);
	kgb_free(log);
}

/* The more of them, the shorter the calls and the more they differ; each warmed up, on inputs that
 * it has not seen, and asked for a fair number of rounds. */
static void test_processes_change_where_calls_are_short(KGB_UNUSED void **state)
{
	static const struct {
		double us, slower; /* event times are 3 us longer */
		double sd_ns;
		uint32_t max_processes, least, most;
	} rows[] = {{10, 1, 65, 8, 4, 8},   {10, 1, 65, 1, 1, 1}, {10, 1, 65, 3, 3, 3},
		    {40, 0.5, 65, 8, 3, 8}, {40, 1, 65, 8, 2, 7}, {10, 1, 0, 8, 3, 5},
		    {10, 1, 400, 8, 8, 8},  {60, 1, 65, 8, 2, 6}, {150, 1, 65, 8, 1, 1},
		    {200, 1, 65, 8, 1, 1}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_timer_config config = world_config();
		struct world world = world_new(rows[i].us, rows[i].slower);
		struct kgb_timer timer;
		struct kgb_timer_result result;
		uint32_t process = 0, began = 0;
		world.process_sd_ns = rows[i].sd_ns;
		config.level.max_processes = rows[i].max_processes;
		struct log *log = run_logged(&world, &config, &timer, &result);
		for (size_t k = 0, sample = 0; k < log->n; sample += log->blocks[k++].n) {
			const struct kgb_timer_block *b = &log->blocks[k];
			if (b->process == process)
				continue;
			assert_int_equal(b->process, ++process);
			assert_int_equal(b->phase, KGB_PHASE_WARMUP);
			assert_int_equal(b[-1].phase, KGB_PHASE_ROUNDS);
			assert_in_range(b[-1].round + 1, began + config.level.process_placements,
					UINT32_MAX);
			assert_int_equal(b->n_slots, (config.n_slots + 1) / 2);
			assert_true(timer.samples[sample].first_visit);
			began = b[-1].round + 1;
		}
		assert_int_equal(result.n_processes, process + 1);
		assert_in_range(result.n_processes, rows[i].least, rows[i].most);
		/* The last ones had their rounds, too. */
		assert_in_range(timer.n_rounds, began + config.level.process_placements,
				UINT32_MAX);
		kgb_timer_release(&timer);
		kgb_free(log);
	}
}

/* Largest distance of a session's speedup from the median of five. */
static double worst_of_five(struct kgb_timer_config *config, const struct world *world,
			    uint32_t first_seed)
{
	double speedups[5], worst = 0;

	for (uint32_t i = 0; i < 5; i++) {
		struct kgb_timer_result result;
		world_run(world, config, first_seed + i, &result);
		assert_int_not_equal(result.result, KGB_TIMING_UNTRUSTED);
		speedups[i] = result.speedup.value;
	}
	double middle = kgb_median(speedups, 5);
	for (size_t i = 0; i < 5; i++)
		worst = fmax(worst, fabs(speedups[i] / middle - 1));
	return worst;
}

/* What processes differ by accuses nobody, and sessions repeat better for their number. */
static void test_sessions_repeat_better_with_more_processes(KGB_UNUSED void **state)
{
	enum { SERIES = 8 };
	struct kgb_timer_config config = world_config();
	struct world world = world_new(15, 0.9);
	double one[SERIES], eight[SERIES];

	world.process_sd_ns = 150;
	for (uint32_t i = 0; i < SERIES; i++) {
		config.level.max_processes = 1;
		one[i] = worst_of_five(&config, &world, 100 * i);
		config.level.max_processes = 8;
		eight[i] = worst_of_five(&config, &world, 100 * i);
	}
	assert_true(kgb_median(eight, SERIES) < 0.75 * kgb_median(one, SERIES));
}

static void test_the_baseline_runs_alone_before_and_after(KGB_UNUSED void **state)
{
	static const enum kgb_timer_phase order[] = {KGB_PHASE_SOLO_BEFORE, KGB_PHASE_WARMUP,
						     KGB_PHASE_ROUNDS, KGB_PHASE_SOLO_AFTER};
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);
	struct kgb_timer timer;
	struct kgb_timer_result result;
	struct log *log = run_logged(&world, &config, &timer, &result);
	size_t at = 0;

	for (size_t i = 0; i < log->n; i++) {
		const struct kgb_timer_block *b = &log->blocks[i];
		if (b->phase != order[at])
			assert_int_equal(b->phase, order[++at]);
		if (b->phase == KGB_PHASE_SOLO_BEFORE || b->phase == KGB_PHASE_SOLO_AFTER)
			assert_int_equal(b->side, KGB_SIDE_A);
	}
	assert_int_equal(at, 3);
	assert_true(fabs(result.solo_ns[0] / 203e3 - 1) < 0.01);
	assert_true(fabs(result.solo_ns[1] / 203e3 - 1) < 0.01);
	/* Half the input sets are kept back, to be new later. */
	assert_int_equal(log->blocks[0].n_slots, config.n_slots / 2);
	kgb_timer_release(&timer);
	kgb_free(log);
}

static void test_the_same_seed_gives_the_same_plan_and_another_one_does_not(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);
	struct kgb_timer_result results[3];
	struct log *logs[3];

	for (int i = 0; i < 3; i++) {
		struct kgb_timer timer;
		config.seed.bytes[3] = i == 2;
		logs[i] = run_logged(&world, &config, &timer, &results[i]);
		kgb_timer_release(&timer);
	}
	assert_int_equal(logs[0]->n, logs[1]->n);
	assert_memory_equal(logs[0]->blocks, logs[1]->blocks,
			    logs[0]->n * sizeof(logs[0]->blocks[0]));
	assert_memory_equal(&results[0].speedup, &results[1].speedup, sizeof(results[0].speedup));
	assert_memory_not_equal(logs[0]->blocks, logs[2]->blocks, 20 * sizeof(logs[0]->blocks[0]));
	for (int i = 0; i < 3; i++)
		kgb_free(logs[i]);
}

static void test_throttled_samples_do_not_count_and_the_device_may_rest(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(200, 1);
	struct kgb_timer timer;
	struct kgb_timer_result result;
	uint32_t longest = 0;

	world.throttle_share = 0.4;
	struct log *log = run_logged(&world, &config, &timer, &result);
	for (size_t i = 0; i < log->n; i++)
		longest = log->blocks[i].pause_ms > longest ? log->blocks[i].pause_ms : longest;
	assert_true(longest >= 50);
	assert_true(result.n_fates[KGB_SIDE_A][KGB_SAMPLE_THROTTLED] > 0);
	assert_true(result.clock_mhz[KGB_SIDE_A] == 1980);
	assert_int_equal(result.result, KGB_TIMING_SAME);
	for (size_t i = 0; i < timer.n_samples; i++)
		if (timer.samples[i].fate == KGB_SAMPLE_KEPT)
			assert_int_equal(timer.samples[i].raw.sm_mhz, 1980);
	kgb_timer_release(&timer);
	kgb_free(log);
}

static void test_slow_kernels_get_fewer_samples_and_the_budget_ends_it(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(30000, 1);
	struct kgb_timer_result result = run_once(&world, &config);

	/* Twelve rounds of at least four calls, whatever the budget. */
	assert_true(result.n_rounds >= config.level.min_placements && result.n_rounds < 20);
	assert_true(result.outside_ns < 2 * config.level.budget_ns);
	world = world_new(200, 1);
	world.noise = 0.1;
	config.level.budget_ns = 400 * 1000 * 1000;
	result = run_once(&world, &config);
	assert_true(result.outside_ns < config.level.budget_ns * 11 / 10);
	assert_int_equal(result.result, KGB_TIMING_UNDECIDED);
	assert_int_equal(result.why, KGB_WHY_WIDE);
	assert_false(result.narrow);
	config.max_samples = KGB_TIMER_SAMPLES_MIN;
	config.level.min_placements = config.level.far_placements = 6;
	assert_true(run_once(&world, &config).outside_ns < config.level.budget_ns);
}

/* Such kernels get as many rounds as the budget four times over has room for. */
static void test_too_few_rounds_decide_nothing_however_clear_they_are(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct world world = world_new(4000, 0.5);

	config.level.far = 0;
	config.level.budget_ns = 60 * 1000 * 1000;
	struct kgb_timer_result result = run_once(&world, &config);
	assert_true(result.n_rounds >= 4 && result.n_rounds < config.level.min_placements);
	assert_int_equal(result.result, KGB_TIMING_UNDECIDED);
	assert_int_equal(result.why, KGB_WHY_FEW);
}

/* ---- answers that cannot be ---- */

static void test_answers_that_do_not_fit_the_question_are_refused(KGB_UNUSED void **state)
{
	static const struct {
		int what;
		const char *message;
	} rows[] = {
		{0, "2 samples asked for, 1 given"},  {1, "sample 1 ran on input set 99, not on "},
		{2, "sample 0 has no possible time"}, {3, "sample 1 has no possible time"},
		{4, "sample 1 has no possible time"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_timer_config config = world_config();
		struct kgb_timer timer;
		struct kgb_timer_block block;
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_exec_sample samples[8];
		assert_ok(kgb_timer_init(&timer, &config, &err), err);
		assert_true(kgb_timer_next(&timer, &block));
		assert_int_equal(block.n, 2);
		for (uint32_t k = 0; k < block.n; k++)
			samples[k] = (struct kgb_exec_sample){
				.event_ns = 1000,
				.host_ns = 2000,
				.slot = (block.slot + k) % block.n_slots,
			};
		if (rows[i].what == 1)
			samples[1].slot = 99;
		if (rows[i].what == 2)
			samples[0].event_ns = 0;
		if (rows[i].what == 3)
			samples[1].host_ns = 0;
		if (rows[i].what == 4)
			samples[1].activity_ns = UINT64_MAX;
		assert_int_equal(
			kgb_timer_give(&timer, samples, rows[i].what == 0 ? 1 : 2, 10000, &err),
			-1);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_contains(err.msg,
				"timer of 'add/float32/x/standard': block of the baseline: ");
		assert_contains(err.msg, rows[i].message);
		assert_int_equal(timer.n_samples, 0);
		kgb_timer_release(&timer);
	}
}

static void test_a_source_that_fails_ends_it_without_a_result(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct kgb_timer timer;
	struct kgb_timer_result result = {.n_rounds = 77};
	struct kgb_err err = KGB_ERR_INIT;
	struct log *log = kgb_xcalloc(1, sizeof(*log));

	log->world = world_new(200, 1);
	log->fail_at = 30;
	world_start(&log->world, 1);
	assert_ok(kgb_timer_init(&timer, &config, &err), err);
	assert_fails(kgb_timer_run(&timer, log_sample, log, &result, &err), err,
		     "the device is gone");
	assert_int_equal(result.n_rounds, 77);
	kgb_timer_release(&timer);
	kgb_free(log);
}

static void test_settings_out_of_range_are_refused(KGB_UNUSED void **state)
{
	struct kgb_timer_config rows[23];
	struct kgb_timer timer;

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		rows[i] = world_config();
	rows[0].n_slots = 1;
	rows[1].level.min_placements = 5;
	rows[2].level.max_rounds = KGB_TIMER_ROUNDS_MAX + 1;
	rows[3].max_samples = KGB_TIMER_SAMPLES_MIN - 1;
	rows[4].n_ops[KGB_SIDE_B] = 0;
	rows[5].confidence = 1;
	rows[6].level.width = 1;
	rows[7].margin_relative = rows[7].margin_ns = 0;
	rows[8].machine.bytes_per_s = (double)NAN;
	rows[9].written_bytes = 1;
	rows[10].level.budget_ns = 0;
	rows[11].max_samples = KGB_TIMER_SAMPLES_MAX + 1;
	rows[12].level.process_placements = 0;
	rows[13].level.max_processes = 0;
	rows[14].level.half_width = (double)NAN;
	rows[15].process_sd_ns = -1;
	rows[16].process_sd_ns = (double)INFINITY;
	rows[17].level.placement_rounds = 0;
	rows[18].level.far_placements = 2;
	rows[19].level.solo_blocks = 6;
	rows[20].level.far = 1;
	rows[21].level.max_rounds = rows[21].level.min_placements - 1;
	rows[22].level.activity_blocks = 1; /* of one side */
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		assert_int_equal(kgb_timer_init(&timer, &rows[i], &err), -1);
		assert_contains(err.msg, "out of range");
	}
}

/* ---- the document ---- */

static cJSON *document(const struct world *world, bool samples, size_t *n_samples)
{
	struct kgb_timer_config config = world_config();
	struct kgb_timer timer;
	struct kgb_timer_result result;
	struct kgb_jsonw w;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	cJSON *out = NULL;

	kgb_free(run_logged(world, &config, &timer, &result));
	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_object(&w);
	kgb_timing_write(&timer, &result, samples, &w);
	kgb_jsonw_object_end(&w);
	*n_samples = timer.n_samples;
	kgb_timer_release(&timer);
	assert_ok(kgb_json_parse(text.ptr, text.len, &out, &err), err);
	return out;
}

static void test_the_document_keeps_every_sample(KGB_UNUSED void **state)
{
	static const char *const letters[] = {"samples.side", "samples.phase", "samples.fate",
					      "samples.place"};
	static const char *const numbers[] = {"samples.round",    "samples.slot",
					      "samples.event_ns", "samples.activity_ns",
					      "samples.host_ns",  "samples.sm_mhz"};
	struct world world = world_new(200, 0.5);
	size_t n;
	KGB_AUTO(json) cJSON *json = document(&world, true, &n);

	for (size_t i = 0; i < KGB_ARRAY_LEN(letters); i++)
		assert_int_equal(strlen(kgb_json_str(json, letters[i], "")), n);
	for (size_t i = 0; i < KGB_ARRAY_LEN(numbers); i++)
		assert_int_equal(cJSON_GetArraySize(kgb_json_get(json, numbers[i])), n);
	assert_int_equal(strspn(kgb_json_str(json, "samples.fate", ""), "kswtcr"), n);
	assert_string_equal(kgb_json_str(json, "result", ""), "FASTER");
	assert_true(kgb_json_num(json, "speedup.low", 0) > 1.9);
	assert_true(kgb_json_num(json, "candidate_ms", 0) < kgb_json_num(json, "baseline_ms", 0));
	assert_true(fabs(kgb_json_num(json, "baseline.activity_ns", 0) - 200e3) < 2e3);
	assert_null(kgb_json_get(json, "baseline.samples.event_ns"));
	assert_true(kgb_json_i64(json, "candidate.samples.kept", 0) > 60);
}

static void test_what_is_untrusted_has_no_times_to_divide(KGB_UNUSED void **state)
{
	struct world world = world_new(200, 1);
	size_t n;

	world.cheat = WORLD_FORGED_EVENTS;
	KGB_AUTO(json) cJSON *json = document(&world, false, &n);
	assert_string_equal(kgb_json_str(json, "result", ""), "UNTRUSTED");
	assert_string_equal(kgb_json_str(json, "why", ""), "ruler_order");
	assert_true(kgb_json_bool(json, "accuses", false));
	assert_true(cJSON_IsNull(kgb_json_get(json, "speedup")));
	assert_true(cJSON_IsNull(kgb_json_get(json, "speedup_device")));
	assert_true(cJSON_IsNull(kgb_json_get(json, "median_ratio")));
	assert_true(cJSON_IsNull(kgb_json_get(json, "candidate_ms")));
	assert_true(cJSON_IsNull(kgb_json_get(json, "baseline_ms")));
	assert_null(kgb_json_get(json, "samples"));
}

/* The schema and the writer name the same members. */
static void assert_described(const cJSON *schema, const char *definition, const cJSON *object,
			     const char *optional)
{
	KGB_AUTO(free) char *path = kgb_xasprintf("$defs.%s.properties", definition);
	const cJSON *properties = kgb_json_get(schema, path), *item;

	assert_non_null(properties);
	cJSON_ArrayForEach(item, object) {
		if (!cJSON_HasObjectItem(properties, item->string))
			fail_msg("the schema's %s has no '%s'", definition, item->string);
	}
	cJSON_ArrayForEach(item, properties) {
		if (!cJSON_HasObjectItem(object, item->string) &&
		    !(optional && strcmp(item->string, optional) == 0))
			fail_msg("nobody writes %s.%s", definition, item->string);
	}
}

static bool lists(const cJSON *names, const char *name)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, names) {
		if (name ? cJSON_IsString(item) && strcmp(item->valuestring, name) == 0
			 : cJSON_IsNull(item))
			return true;
	}
	return false;
}

static void test_the_schema_describes_the_document(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(1 << 20);
	struct world world = world_new(200, 0.5);
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *schema = NULL;
	size_t n;
	KGB_AUTO(json) cJSON *json = document(&world, true, &n);
	KGB_AUTO(json) cJSON *brief = document(&world, false, &n);

	assert_ok(kgb_fs_read(AT_FDCWD, KGB_TEST_SOURCE_DIR "/docs/schemas/verdict.schema.json",
			      1 << 20, &text, &err),
		  err);
	assert_ok(kgb_json_parse(text.ptr, text.len, &schema, &err), err);
	assert_described(schema, "timed_case", json, NULL);
	assert_described(schema, "timed_case", brief, "samples");
	assert_described(schema, "timed_side", kgb_json_get(json, "baseline"), NULL);
	assert_described(schema, "raw_samples", kgb_json_get(json, "samples"), NULL);
	const cJSON *results = kgb_json_get(schema, "$defs.timed_case.properties.result.enum");
	const cJSON *whys = kgb_json_get(schema, "$defs.timed_case.properties.why.enum");
	assert_int_equal(cJSON_GetArraySize(results), KGB_N_TIMING_RESULTS);
	assert_int_equal(cJSON_GetArraySize(whys), KGB_N_TIMING_WHYS);
	for (int i = 0; i < KGB_N_TIMING_RESULTS; i++)
		assert_true(lists(results, kgb_timing_result_name((enum kgb_timing_result)i)));
	for (int i = 0; i < KGB_N_TIMING_WHYS; i++)
		assert_true(lists(whys, kgb_timing_why_name((enum kgb_timing_why)i)));
}

/* With an argument only the tests whose names it matches: most of the time goes into a few. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identical_kernels_are_the_same),
		cmocka_unit_test(test_one_percent_at_200_us_is_found),
		cmocka_unit_test(test_an_effect_below_the_margin_is_never_a_gain),
		cmocka_unit_test(test_intervals_cover_the_true_speedup),
		cmocka_unit_test(test_intervals_admit_what_other_processes_would_show),
		cmocka_unit_test(test_a_narrow_interval_is_not_believed_at_once),
		cmocka_unit_test(test_an_interval_admits_what_a_coarse_ruler_hides),
		cmocka_unit_test(test_dishonest_sources_get_no_number),
		cmocka_unit_test(test_events_forged_now_and_then_gain_nothing),
		cmocka_unit_test(test_an_effect_on_both_sides_accuses_nobody),
		cmocka_unit_test(test_what_the_profiler_delays_contradicts_nothing),
		cmocka_unit_test(test_a_neighbour_in_turns_is_seen),
		cmocka_unit_test(test_placements_are_part_of_the_interval),
		cmocka_unit_test(test_a_large_drift_is_refused_unless_the_clock_explains_it),
		cmocka_unit_test(test_clocks_that_never_agree_leave_it_undecided),
		cmocka_unit_test(test_the_physical_floor_counts_what_must_leave_the_chip),
		cmocka_unit_test(test_times_below_the_floor_are_no_times),
		cmocka_unit_test(test_rounds_are_abba_in_random_order_with_random_sizes),
		cmocka_unit_test(test_every_round_has_a_placement_of_its_own),
		cmocka_unit_test(test_processes_change_where_calls_are_short),
		cmocka_unit_test(test_sessions_repeat_better_with_more_processes),
		cmocka_unit_test(test_the_baseline_runs_alone_before_and_after),
		cmocka_unit_test(test_the_same_seed_gives_the_same_plan_and_another_one_does_not),
		cmocka_unit_test(test_throttled_samples_do_not_count_and_the_device_may_rest),
		cmocka_unit_test(test_slow_kernels_get_fewer_samples_and_the_budget_ends_it),
		cmocka_unit_test(test_too_few_rounds_decide_nothing_however_clear_they_are),
		cmocka_unit_test(test_answers_that_do_not_fit_the_question_are_refused),
		cmocka_unit_test(test_a_source_that_fails_ends_it_without_a_result),
		cmocka_unit_test(test_settings_out_of_range_are_refused),
		cmocka_unit_test(test_the_document_keeps_every_sample),
		cmocka_unit_test(test_what_is_untrusted_has_no_times_to_divide),
		cmocka_unit_test(test_the_schema_describes_the_document),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
