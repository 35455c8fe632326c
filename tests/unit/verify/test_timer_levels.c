/* SPDX-License-Identifier: MIT */
/** \file
 * The precisions: what each promises, and what ends a session early.
 */
#include <math.h>

#include "base/mem.h"
#include "tests/helpers/timer_source.h"
#include "tests/unit/base/support.h"

enum { RUNS = 20, FEW_RUNS = 6 };

static struct kgb_timer_config config_of(enum kgb_timing_precision precision)
{
	struct kgb_timer_config config = world_config();

	config.level = kgb_timer_levels[precision];
	return config;
}

/* Less precise is less certain, not wrong: what it costs is an answer, now and then. */
static void test_every_precision_keeps_its_promise(KGB_UNUSED void **state)
{
	static const struct {
		double us, noise;
		double half_width[KGB_N_PRECISIONS]; /* on average */
	} rows[] = {{30, 0.005, {0.02, 0.01, 0.005}}, {200, 0.005, {0.02, 0.01, 0.002}}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		for (int precision = 0; precision < KGB_N_PRECISIONS; precision++) {
			struct kgb_timer_config config =
				config_of((enum kgb_timing_precision)precision);
			struct world world = world_new(rows[i].us, 1);
			world.noise = rows[i].noise;
			struct world_tally same = world_run_many(&world, &config, RUNS);
			world.ns[KGB_SIDE_B] *= 1.03;
			struct world_tally slower = world_run_many(&world, &config, RUNS);
			if (same.results[KGB_TIMING_FASTER] + same.results[KGB_TIMING_SLOWER] > 0 ||
			    same.n_accused + slower.n_accused > 0 ||
			    same.n_covered + slower.n_covered < 2 * RUNS * 90 / 100 ||
			    slower.results[KGB_TIMING_SLOWER] < RUNS * 95 / 100 ||
			    same.half_width / RUNS > rows[i].half_width[precision] ||
			    same.outside_ns / RUNS > config.level.budget_ns)
				fail_msg("%g us at %s: %d FASTER, %d SLOWER, %d accused, %d + %d "
					 "covered, 3 %% found in %d, half width %g, %g ms",
					 rows[i].us, kgb_timing_precision_names[precision],
					 same.results[KGB_TIMING_FASTER],
					 same.results[KGB_TIMING_SLOWER], same.n_accused,
					 same.n_covered, slower.n_covered,
					 slower.results[KGB_TIMING_SLOWER], same.half_width / RUNS,
					 (double)same.outside_ns / RUNS / 1e6);
		}
}

/* Rounds at one place repeat what that place does: they must not pass for as many places. */
static void test_intervals_cover_where_rounds_share_placements(KGB_UNUSED void **state)
{
	for (int precision = 0; precision < KGB_N_PRECISIONS; precision++) {
		struct kgb_timer_config config = config_of((enum kgb_timing_precision)precision);
		struct world world = world_new(200, 0.8);
		config.level.placement_rounds = 4;
		world.noise = 0.001;
		world.placement_sd = 0.005;
		struct world_tally tally = world_run_many(&world, &config, 2 * RUNS);
		if (tally.n_covered < 2 * RUNS * 85 / 100)
			fail_msg("%s: %d of %d covered", kgb_timing_precision_names[precision],
				 tally.n_covered, 2 * RUNS);
	}
}

/* With the look that ended it, a session of few placements has one degree of freedom less. */
static void test_intervals_of_few_placements_cover(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = config_of(KGB_PRECISION_QUICK);
	struct world world = world_new(200, 1);

	world.noise = 0.01;
	world.sample_ns = 3e6;
	assert_true(world_run_many(&world, &config, 30 * RUNS).n_covered >= 30 * RUNS * 95 / 100);
}

static void test_a_speedup_far_from_1_ends_early(KGB_UNUSED void **state)
{
	static const double slower[] = {1 / 3.0, 50};

	for (int precision = 0; precision < KGB_N_PRECISIONS; precision++)
		for (size_t i = 0; i < KGB_ARRAY_LEN(slower); i++) {
			struct kgb_timer_config config =
				config_of((enum kgb_timing_precision)precision);
			struct world world = world_new(100, slower[i]);
			struct kgb_timer_result result;
			struct world_tally tally = world_run_many(&world, &config, RUNS);
			assert_true(tally.n_covered >= RUNS * 85 / 100);
			assert_int_equal(tally.results[slower[i] < 1 ? KGB_TIMING_FASTER
								     : KGB_TIMING_SLOWER],
					 RUNS);
			world_run(&world, &config, 1, &result);
			double log_width = log(result.speedup.high / result.speedup.value);
			assert_true(log_width <= config.level.far * fabs(log(slower[i])) * 1.5);
			assert_true(result.narrow);
			world.noise = 0.03; /* so that it takes long otherwise */
			world_run(&world, &config, 1, &result);
			uint32_t n_rounds = result.n_rounds;
			config.level.far = 0;
			world_run(&world, &config, 1, &result);
			assert_true(result.n_rounds > n_rounds);
		}
}

/* With fewer the timer could not detect that results are kept for inputs that come back. */
static void test_a_gain_is_not_believed_before_new_inputs_came(KGB_UNUSED void **state)
{
	for (int precision = 0; precision < KGB_N_PRECISIONS; precision++) {
		struct kgb_timer_config config = config_of((enum kgb_timing_precision)precision);
		struct world world = world_new(200, 1);
		world.cheat = WORLD_REUSE;
		config.n_slots = config.level.max_slots;
		struct world_tally tally = world_run_many(&world, &config, 2 * RUNS);
		assert_int_equal(tally.whys[KGB_WHY_REUSE], 2 * RUNS);
		/* Nor does it wait for those that never come. */
		config.n_slots = 4;
		world = world_new(200, 0.5);
		tally = world_run_many(&world, &config, FEW_RUNS);
		assert_int_equal(tally.results[KGB_TIMING_FASTER], FEW_RUNS);
		assert_true(tally.outside_ns / FEW_RUNS < config.level.budget_ns * 6 / 10);
	}
}

static void test_few_calls_accuse_nobody(KGB_UNUSED void **state)
{
	for (int precision = 0; precision < KGB_N_PRECISIONS; precision++) {
		struct kgb_timer_config config = config_of((enum kgb_timing_precision)precision);
		struct world world = world_new(2000, 50);
		world.sample_ns = 10e6;
		struct world_tally tally = world_run_many(&world, &config, 5 * RUNS);
		assert_int_equal(tally.n_accused, 0);
		assert_true(tally.results[KGB_TIMING_SLOWER] >= 5 * RUNS * 98 / 100);
		/* A third of so few rounds is one: no drift. */
		world = world_new(100, 50);
		world.noise = 0.1;
		assert_int_equal(world_run_many(&world, &config, RUNS).whys[KGB_WHY_DRIFT], 0);
	}
}

struct log {
	struct world world;
	struct kgb_timer_block blocks[256];
	size_t n;
};

static int log_sample(void *payload, const struct kgb_timer_block *block,
		      struct kgb_exec_sample *samples, uint64_t *outside_ns, struct kgb_err *err)
{
	struct log *log = payload;

	assert_true(log->n < KGB_ARRAY_LEN(log->blocks));
	log->blocks[log->n++] = *block;
	return world_sample(&log->world, block, samples, outside_ns, err);
}

/* Between such rounds nothing moves; a placement of slow calls costs little beside them. */
static void test_rounds_share_a_placement_unless_calls_are_slow(KGB_UNUSED void **state)
{
	static const struct {
		double us, sample_ns;
		uint32_t rounds;
	} rows[] = {{200, 300e3, 3}, {2000, 50e6, 1}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_timer_config config = world_config();
		struct log log = {.world = world_new(rows[i].us, 1)};
		struct kgb_timer timer;
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_timer_result result;
		config.level = kgb_timer_levels[KGB_PRECISION_STANDARD];
		config.level.placement_rounds = 3;
		log.world.sample_ns = rows[i].sample_ns;
		world_start(&log.world, 1);
		assert_ok(kgb_timer_init(&timer, &config, &err), err);
		assert_ok(kgb_timer_run(&timer, log_sample, &log, &result, &err), err);
		const struct kgb_timer_block *first = log.blocks;
		while (first->phase != KGB_PHASE_ROUNDS)
			first++;
		for (const struct kgb_timer_block *b = first; b->phase == KGB_PHASE_ROUNDS; b++)
			assert_int_equal(b->placement / KGB_N_SIDES,
					 first->placement / KGB_N_SIDES +
						 b->round / rows[i].rounds);
		assert_int_equal(result.n_rounds, rows[i].rounds * result.n_placements);
		assert_true(result.n_placements >= config.level.min_placements);
		kgb_timer_release(&timer);
	}
}

/* dsbmv on an H200: a baseline of 73 ms, a kernel of 0.14 ms. */
static void test_a_slow_side_has_small_blocks_whatever_the_other_costs(KGB_UNUSED void **state)
{
	struct kgb_timer_config config = world_config();
	struct log log = {.world = world_new(73000, 1)};
	struct kgb_timer timer;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_timer_result result;
	uint32_t most[KGB_N_SIDES] = {0};

	config.level = kgb_timer_levels[KGB_PRECISION_STANDARD];
	log.world.ns[KGB_SIDE_B] = 140e3;
	world_start(&log.world, 1);
	assert_ok(kgb_timer_init(&timer, &config, &err), err);
	assert_ok(kgb_timer_run(&timer, log_sample, &log, &result, &err), err);
	for (size_t i = 0; i < log.n; i++)
		if (log.blocks[i].n > most[log.blocks[i].side])
			most[log.blocks[i].side] = log.blocks[i].n;
	assert_int_equal(most[KGB_SIDE_A], 2);
	assert_in_range(most[KGB_SIDE_B], 5, 8);
	assert_int_equal(result.result, KGB_TIMING_FASTER);
	kgb_timer_release(&timer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_precision_keeps_its_promise),
		cmocka_unit_test(test_intervals_cover_where_rounds_share_placements),
		cmocka_unit_test(test_intervals_of_few_placements_cover),
		cmocka_unit_test(test_a_speedup_far_from_1_ends_early),
		cmocka_unit_test(test_a_gain_is_not_believed_before_new_inputs_came),
		cmocka_unit_test(test_few_calls_accuse_nobody),
		cmocka_unit_test(test_rounds_share_a_placement_unless_calls_are_slow),
		cmocka_unit_test(test_a_slow_side_has_small_blocks_whatever_the_other_costs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
