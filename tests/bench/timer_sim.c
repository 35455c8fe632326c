/* SPDX-License-Identifier: MIT */
/** \file
 * Decision rates of the timer on simulated devices: how often identical kernels are the SAME, what
 * it takes to see 1 %, whether intervals cover the truth, what dishonest sources get. The second
 * form compares the precisions.
 *
 *     timer_sim [RUNS [PRECISION [PART]]]
 *     timer_sim RUNS levels [PART]
 *
 * 200 runs of each row at `thorough` unless given; the seeds are fixed; PART of names.
 */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "tests/helpers/timer_source.h"

struct row {
	const char *name;
	struct world world;
	struct kgb_timer_machine machine;
	int64_t bytes;
	uint32_t min_rounds; /* 0: the usual */
};

/* What a sample costs in all, as seen on an H200: its memory is filled before it, and with longer
 * calls goes more of it. */
#define SAMPLE_NS(us) ((us) < 5 ? 0.7e6 : (us) < 100 ? 2e6 : (us) < 1000 ? 3e6 : 10e6)
/* Time on the device; events add 3 us. Processes differ by what was seen of them, or by `sd`. */
#define AT_SD(us, slower, sd) \
	.ns = {(us)*1e3, (us)*1e3 * (slower)}, .sample_ns = SAMPLE_NS(us), .process_sd_ns = (sd)
#define AT(us, slower) AT_SD(us, slower, 65)
#define H200                                 \
	.machine = {.bytes_per_s = 4.4e12,   \
		    .l2_bytes = 50u << 20,   \
		    .launch_floor_ns = 2000, \
		    .event_step_ns = 32,     \
		    .activity_step_ns = 32}

static const struct row rows[] = {
	{.name = "A/A 2 ms, noise 0.5 %", .world = {AT(2000, 1), .noise = 0.005}, H200},
	{.name = "A/A 2 ms, noise 3 %", .world = {AT(2000, 1), .noise = 0.03}, H200},
	{.name = "A/A 200 us, noise 0.3 %", .world = {AT(200, 1), .noise = 0.003}, H200},
	{.name = "A/A 200 us, noise 1 %", .world = {AT(200, 1), .noise = 0.01}, H200},
	{.name = "A/A 200 us, noise 3 %", .world = {AT(200, 1), .noise = 0.03}, H200},
	{.name = "A/A 100 us, noise 0.5 %", .world = {AT(100, 1), .noise = 0.005}, H200},
	{.name = "A/A 50 us, noise 1 %", .world = {AT(50, 1), .noise = 0.01}, H200},
	{.name = "A/A 30 us, noise 0.5 %", .world = {AT(30, 1), .noise = 0.005}, H200},
	{.name = "A/A 20 us, noise 2 %", .world = {AT(20, 1), .noise = 0.02}, H200},
	{.name = "A/A 10 us, noise 0.1 us", .world = {AT(10, 1), .noise_ns = 100}, H200},
	{.name = "A/A 5 us, noise 0.15 us", .world = {AT(5, 1), .noise_ns = 150}, H200},
	{.name = "A/A 2 us, noise 0.1 us", .world = {AT(2, 1), .noise_ns = 100}, H200},
	{.name = "A/A 200 us, 3 % outliers",
	 .world = {AT(200, 1), .noise = 0.005, .outlier_share = 0.03, .outlier_scale = 0.5},
	 H200},
	{.name = "A/A 200 us, drift 3 %",
	 .world = {AT(200, 1), .noise = 0.005, .drift = 0.03},
	 H200},
	{.name = "A/A 200 us, waves 2 %",
	 .world = {AT(200, 1), .noise = 0.005, .wander = 0.02},
	 H200},
	{.name = "A/A 200 us, clock step 8 %",
	 .world = {AT(200, 1), .noise = 0.005, .clock_step = 0.08},
	 H200},
	{.name = "A/A 200 us, throttled 10 %",
	 .world = {AT(200, 1), .noise = 0.005, .throttle_share = 0.1},
	 H200},
	{.name = "A/A 200 us, neighbour 30 %",
	 .world = {AT(200, 1), .noise = 0.005, .neighbour_share = 0.3, .neighbour_slower = 0.2},
	 H200},
	{.name = "A/A 200.1 us, steps 0.5 us",
	 .world = {AT(200.1, 1), .noise = 0.0005, .event_step = 500},
	 .machine = {.event_step_ns = 500}},
	{.name = "A/A 5.2 us, steps 0.5 us",
	 .world = {AT(5.2, 1), .noise_ns = 100, .event_step = 500},
	 .machine = {.event_step_ns = 500}},
	{.name = "0.2 % slower, 200 us", .world = {AT(200, 1.002), .noise = 0.005}, H200},
	{.name = "1 % slower, 100 us, noise 0.5 %", .world = {AT(100, 1.01), .noise = 0.005}, H200},
	{.name = "1 % slower, 200 us, noise 0.5 %", .world = {AT(200, 1.01), .noise = 0.005}, H200},
	{.name = "1 % slower, 200 us, noise 1 %", .world = {AT(200, 1.01), .noise = 0.01}, H200},
	{.name = "1 % slower, 200 us, drift 3 %",
	 .world = {AT(200, 1.01), .noise = 0.005, .drift = 0.03},
	 H200},
	{.name = "1 % slower, 200 us, outliers",
	 .world = {AT(200, 1.01), .noise = 0.005, .outlier_share = 0.03, .outlier_scale = 0.5},
	 H200},
	{.name = "1 % slower, steps 0.5 us",
	 .world = {AT(200.1, 1.01), .noise = 0.0005, .event_step = 500},
	 .machine = {.event_step_ns = 500}},
	{.name = "2 % faster, 20 us, noise 1 %", .world = {AT(20, 0.98), .noise = 0.01}, H200},
	{.name = "10 % faster, 5 us, noise 0.15 us", .world = {AT(5, 0.9), .noise_ns = 150}, H200},
	{.name = "2 times faster, 200 us", .world = {AT(200, 0.5), .noise = 0.01}, H200},
	{.name = "A/A 200 us, placements 0.3 %",
	 .world = {AT(200, 1), .noise = 0.003, .placement_sd = 0.003},
	 H200},
	{.name = "A/A 200 us, placements 1 %",
	 .world = {AT(200, 1), .noise = 0.003, .placement_sd = 0.01},
	 H200},
	{.name = "A/A 200 us, placements 3 %",
	 .world = {AT(200, 1), .noise = 0.003, .placement_sd = 0.03},
	 H200},
	{.name = "A/A 2 ms, placements 1 %",
	 .world = {AT(2000, 1), .noise = 0.001, .placement_sd = 0.01},
	 H200},
	{.name = "A/A 2 ms, placements 3 %",
	 .world = {AT(2000, 1), .noise = 0.001, .placement_sd = 0.03},
	 H200},
	{.name = "A/A 2 ms, placements of two speeds",
	 .world = {AT(2000, 1), .noise = 0.001, .placement_share = 0.3, .placement_slower = 0.1},
	 H200},
	{.name = "A/A 10 us, placements 3 %",
	 .world = {AT(10, 1), .noise_ns = 100, .placement_sd = 0.03},
	 H200},
	{.name = "A/A 10 us, placements of two speeds",
	 .world = {AT(10, 1), .noise_ns = 100, .placement_share = 0.3, .placement_slower = 0.1},
	 H200},
	{.name = "A/A 10 us, processes 0", .world = {AT_SD(10, 1, 0), .noise_ns = 100}, H200},
	{.name = "A/A 10 us, processes 30 ns", .world = {AT_SD(10, 1, 30), .noise_ns = 100}, H200},
	{.name = "A/A 10 us, processes 100 ns",
	 .world = {AT_SD(10, 1, 100), .noise_ns = 100},
	 H200},
	{.name = "A/A 10 us, processes 130 ns",
	 .world = {AT_SD(10, 1, 130), .noise_ns = 100},
	 H200},
	{.name = "A/A 50 us, processes 100 ns",
	 .world = {AT_SD(50, 1, 100), .noise_ns = 100},
	 H200},
	{.name = "5 % faster, 10 us, processes 100 ns",
	 .world = {AT_SD(10, 0.95, 100), .noise_ns = 100},
	 H200},
	{.name = "5 % faster, 10 us", .world = {AT(10, 0.95), .noise_ns = 100}, H200},
	{.name = "5 % faster, 10 us, placements 3 %",
	 .world = {AT(10, 0.95), .noise_ns = 100, .placement_sd = 0.03},
	 H200},
	{.name = "cheat: checked calls only",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_CHECKED_SLOW},
	 H200},
	{.name = "cheat: first 60 calls fast",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_FIRST_FAST, .first_calls = 60},
	 H200},
	{.name = "cheat: first 250 calls fast",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_FIRST_FAST, .first_calls = 250},
	 H200,
	 .min_rounds = 60},
	{.name = "cheat: first 250 calls 5 % faster",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_FIRST_FAST, .first_calls = 250,
		   .cheat_part = 0.95},
	 H200,
	 .min_rounds = 60},
	{.name = "cheat: checked calls 5 % slower",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_CHECKED_SLOW, .cheat_part = 0.95},
	 H200},
	{.name = "cheat: kept by slot, 20 % faster",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_REUSE, .cheat_part = 0.8},
	 H200},
	{.name = "cheat: results kept by slot",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_REUSE},
	 H200},
	{.name = "cheat: events forged",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_FORGED_EVENTS},
	 H200},
	{.name = "cheat: a third of the events forged",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_FORGED_EVENTS, .cheat_part = 0.333},
	 H200},
	{.name = "cheat: a third of the events forged, 10 us",
	 .world = {AT(10, 1), .noise = 0.01, .cheat = WORLD_FORGED_EVENTS, .cheat_part = 0.333},
	 H200},
	{.name = "cheat: a fifth of the events forged, 2 ms",
	 .world = {AT(2000, 1), .noise = 0.001, .cheat = WORLD_FORGED_EVENTS, .cheat_part = 0.2},
	 H200},
	{.name = "cheat: a third of the events forged, 2 ms",
	 .world = {AT(2000, 1), .noise = 0.001, .cheat = WORLD_FORGED_EVENTS, .cheat_part = 0.333},
	 H200},
	{.name = "cheat: a tenth of the events forged",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_FORGED_EVENTS, .cheat_part = 0.1},
	 H200},
	{.name = "cheat: events, activity forged",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_FORGED_DEVICE},
	 H200},
	{.name = "cheat: a third of both forged",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_FORGED_DEVICE, .cheat_part = 0.333},
	 H200},
	{.name = "cheat: host too short",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_HOST_SHORT},
	 H200},
	{.name = "cheat: more than passed",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_OUTSIDE_SHORT},
	 H200},
	{.name = "cheat: below the floor",
	 .world = {AT(200, 0.1), .noise = 0.01},
	 H200,
	 .bytes = 500000000},
	{.name = "cheat: slows the baseline",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_SLOW_BASELINE},
	 H200},
	{.name = "activity lost",
	 .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_ACTIVITY_LOST},
	 H200},
	{.name = "clocks differ", .world = {AT(200, 1), .noise = 0.01, .cheat = WORLD_HOT}, H200},
};

struct tally {
	int results[KGB_N_TIMING_RESULTS], whys[KGB_N_TIMING_WHYS];
	int n_intervals, n_covered, n_median_covered, n_device_covered;
	int n_accused;
	int n_pairs, n_next_covered; /* of sessions one after the other */
	struct kgb_interval before; /* of the last session that gave one */
	double half_width, detectable, samples, rounds, placements, processes, ms;
};

static bool covers(struct kgb_interval x, double truth)
{
	return x.low <= truth && truth <= x.high;
}

static void count(const struct row *row, const struct kgb_timer_result *r, struct tally *t)
{
	const double *ns = row->world.ns;
	double truth = (ns[KGB_SIDE_A] + 3000) / (ns[KGB_SIDE_B] + 3000);

	t->results[r->result]++;
	t->whys[r->why]++;
	for (int side = 0; side < KGB_N_SIDES; side++)
		for (int fate = 0; fate < KGB_N_SAMPLE_FATES; fate++)
			t->samples += r->n_fates[side][fate];
	t->n_accused += r->accuses;
	t->rounds += r->n_rounds;
	t->placements += r->n_placements;
	t->processes += r->n_processes;
	t->ms += (double)r->outside_ns / 1e6;
	if (isnan(r->speedup.low))
		return;
	t->n_intervals++;
	t->n_covered += covers(r->speedup, truth);
	t->n_median_covered += covers(r->median_ratio, truth);
	t->n_device_covered += covers(r->speedup_device, ns[KGB_SIDE_A] / ns[KGB_SIDE_B]);
	t->half_width += (r->speedup.high - r->speedup.low) / 2;
	t->detectable += r->detectable;
	if (t->n_intervals > 1) {
		t->n_pairs++;
		t->n_next_covered += covers(t->before, r->speedup.value);
	}
	t->before = r->speedup;
}

static double percent(int n, int of)
{
	return of > 0 ? 100.0 * n / of : 0;
}

static const char *commonest(const struct tally *t)
{
	int best = KGB_WHY_NONE + 1;

	for (int why = best; why < KGB_N_TIMING_WHYS; why++)
		if (t->whys[why] > t->whys[best])
			best = why;
	return t->whys[best] ? kgb_timing_why_name((enum kgb_timing_why)best) : "";
}

static void run_row(const struct row *row, const struct kgb_timer_level *level, int n_runs,
		    struct tally *out)
{
	struct kgb_timer_config config = KGB_TIMER_CONFIG_INIT;

	memset(out, 0, sizeof(*out));
	config.level = *level;
	config.case_name = row->name;
	config.machine = row->machine;
	config.bytes = row->bytes;
	if (row->min_rounds) {
		config.level.min_placements = row->min_rounds / level->placement_rounds;
		config.level.max_rounds = kgb_timer_levels[KGB_PRECISION_THOROUGH].max_rounds;
	}
	for (int i = 0; i < n_runs; i++) {
		struct kgb_timer_result result;
		world_run(&row->world, &config, (uint32_t)i, &result);
		count(row, &result, out);
	}
}

static void print_row(const struct row *row, const struct kgb_timer_level *level, int n_runs)
{
	struct tally t;
	int64_t begun = kgb_mono_ms();

	run_row(row, level, n_runs, &t);
	printf("| %-32s |", row->name);
	for (int i = 0; i < KGB_N_TIMING_RESULTS; i++)
		printf(" %5.1f |", percent(t.results[i], n_runs));
	if (t.n_intervals > 0)
		printf(" %5.1f | %5.1f | %5.1f | %5.1f | %6.3f | %6.2f |",
		       percent(t.n_covered, t.n_intervals), percent(t.n_next_covered, t.n_pairs),
		       percent(t.n_median_covered, t.n_intervals),
		       percent(t.n_device_covered, t.n_intervals),
		       100 * t.half_width / t.n_intervals, 100 * t.detectable / t.n_intervals);
	else
		printf("     - |     - |     - |     - |      - |      - |");
	printf(" %5.0f | %3.1f | %5.0f | %-14s | %4.0f |\n", t.samples / n_runs,
	       t.processes / n_runs, t.ms / n_runs, commonest(&t),
	       (double)(kgb_mono_ms() - begun) / n_runs);
	fflush(stdout);
}

static void print_rows(const struct kgb_timer_level *level, const char *part, int n_runs)
{
	printf("%d runs of each row at %s; percent of them, covered: percent of intervals\n\n",
	       n_runs, kgb_timing_precision_names[level->precision]);
	printf("| %-32s | undec | faster | slower | same | untr. | cover | next | median | device | width | "
	       "detectable | samples | processes | ms | why | cpu ms |\n",
	       "world");
	printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		if (strstr(rows[i].name, part))
			print_row(&rows[i], level, n_runs);
}

/* ---- the precisions side by side ---- */

static const struct row pairs[] = {
	{.name = "2 us, noise 0.1 us", .world = {AT(2, 1), .noise_ns = 100}, H200},
	{.name = "5 us, noise 0.15 us", .world = {AT(5, 1), .noise_ns = 150}, H200},
	{.name = "10 us, noise 0.1 us", .world = {AT(10, 1), .noise_ns = 100}, H200},
	{.name = "20 us, noise 1 %", .world = {AT(20, 1), .noise = 0.01}, H200},
	{.name = "30 us, noise 0.5 %", .world = {AT(30, 1), .noise = 0.005}, H200},
	{.name = "30 us, noise 2 %", .world = {AT(30, 1), .noise = 0.02}, H200},
	{.name = "50 us, noise 1 %", .world = {AT(50, 1), .noise = 0.01}, H200},
	{.name = "100 us, noise 0.5 %", .world = {AT(100, 1), .noise = 0.005}, H200},
	{.name = "200 us, noise 0.3 %", .world = {AT(200, 1), .noise = 0.003}, H200},
	{.name = "200 us, noise 1 %", .world = {AT(200, 1), .noise = 0.01}, H200},
	{.name = "200 us, noise 3 %", .world = {AT(200, 1), .noise = 0.03}, H200},
	{.name = "2 ms, noise 0.5 %", .world = {AT(2000, 1), .noise = 0.005}, H200},
	{.name = "200 us, 3 % outliers",
	 .world = {AT(200, 1), .noise = 0.005, .outlier_share = 0.03, .outlier_scale = 0.5},
	 H200},
	{.name = "200 us, waves 2 %", .world = {AT(200, 1), .noise = 0.005, .wander = 0.02}, H200},
	{.name = "200 us, placements 0.3 %",
	 .world = {AT(200, 1), .noise = 0.003, .placement_sd = 0.003},
	 H200},
	{.name = "200 us, placements 1 %",
	 .world = {AT(200, 1), .noise = 0.003, .placement_sd = 0.01},
	 H200},
	{.name = "200 us, placements of two speeds",
	 .world = {AT(200, 1), .noise = 0.003, .placement_share = 0.3, .placement_slower = 0.03},
	 H200},
	{.name = "10 us, placements 1 %",
	 .world = {AT(10, 1), .noise_ns = 100, .placement_sd = 0.01},
	 H200},
	{.name = "1.2 times faster, 30 us", .world = {AT(30, 1 / 1.2), .noise = 0.01}, H200},
	{.name = "1.2 times faster, 200 us", .world = {AT(200, 1 / 1.2), .noise = 0.01}, H200},
	{.name = "2 times faster, 10 us", .world = {AT(10, 0.5), .noise_ns = 100}, H200},
	{.name = "2 times faster, 200 us", .world = {AT(200, 0.5), .noise = 0.01}, H200},
	{.name = "2 times faster, 200 us, noise 5 %", .world = {AT(200, 0.5), .noise = 0.05}, H200},
	{.name = "2 times faster, placements 1 %",
	 .world = {AT(200, 0.5), .noise = 0.003, .placement_sd = 0.01},
	 H200},
	{.name = "2 times faster, placements 3 %",
	 .world = {AT(200, 0.5), .noise = 0.003, .placement_sd = 0.03},
	 H200},
	{.name = "50 times slower, 30 us", .world = {AT(30, 50), .noise = 0.01}, H200},
	{.name = "50 times slower, 2 ms", .world = {AT(2000, 50), .noise = 0.005}, H200},
};

/* The row as it is, then the candidate slower by 3 and by 1 %. */
static void print_pair(const struct row *row, const struct kgb_timer_level *level, int n_runs)
{
	struct row slower = *row;
	struct tally t[3];

	run_row(row, level, n_runs, &t[0]);
	for (int i = 1; i < 3; i++) {
		slower.world.ns[KGB_SIDE_B] = row->world.ns[KGB_SIDE_B] * (i == 1 ? 1.03 : 1.01);
		run_row(&slower, level, n_runs, &t[i]);
	}
	printf("| %-34s | %-8s |", row->name, kgb_timing_precision_names[level->precision]);
	printf(" %5.1f | %5.1f | %5.1f | %5d |", percent(t[0].results[KGB_TIMING_SAME], n_runs),
	       percent(t[0].results[KGB_TIMING_FASTER], n_runs),
	       percent(t[0].results[KGB_TIMING_SLOWER], n_runs), t[0].n_accused);
	printf(" %5.1f | %5.1f | %5.1f | %5.1f |", percent(t[1].results[KGB_TIMING_SLOWER], n_runs),
	       percent(t[2].results[KGB_TIMING_SLOWER], n_runs),
	       percent(t[0].n_covered, t[0].n_intervals),
	       percent(t[1].n_covered + t[2].n_covered, t[1].n_intervals + t[2].n_intervals));
	printf(" %6.2f | %5.1f | %5.1f | %3.1f | %5.0f |\n", 100 * t[0].half_width / n_runs,
	       t[0].rounds / n_runs, t[0].placements / n_runs, t[0].processes / n_runs,
	       t[0].ms / n_runs);
	fflush(stdout);
}

static void print_levels(const char *part, int n_runs)
{
	printf("| %-34s | precision | same | faster | slower | accused | 3 %% | 1 %% | cover | "
	       "cover 3, 1 %% | width | rounds | placements | processes | ms |\n",
	       "world");
	printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < KGB_ARRAY_LEN(pairs); i++)
		for (int level = 0; level < KGB_N_PRECISIONS; level++)
			if (strstr(pairs[i].name, part))
				print_pair(&pairs[i], &kgb_timer_levels[level], n_runs);
}

static const struct kgb_timer_level *find_level(const char *name)
{
	for (int i = 0; i < KGB_N_PRECISIONS; i++)
		if (strcmp(kgb_timing_precision_names[i], name) == 0)
			return &kgb_timer_levels[i];
	return NULL;
}

int main(int argc, char **argv)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t n_runs = 200;
	const char *name = argc > 2 ? argv[2] : "thorough", *part = argc > 3 ? argv[3] : "";
	const bool levels = strcmp(name, "levels") == 0;
	const struct kgb_timer_level *level = find_level(name);

	if (argc > 4 || (argc > 1 && kgb_parse_i64(argv[1], 1, 1000000, &n_runs, &err) < 0) ||
	    (!levels && !level)) {
		fprintf(stderr, "usage: timer_sim [RUNS [PRECISION|levels [PART OF A NAME]]]\n");
		return KGB_EXIT_USAGE;
	}
	if (levels)
		print_levels(part, (int)n_runs);
	else
		print_rows(level, part, (int)n_runs);
	return KGB_EXIT_OK;
}
