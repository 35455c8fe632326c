/* SPDX-License-Identifier: MIT */
/** \file
 * The judge's side of timing on kgb-exec processes, without torch and without a runner: benchmarks
 * that are rehearsed together and measured one after the other, and candidates that the results of
 * timed calls give away. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/memfd.h"
#include "tests/gpu/exec_support.h"
#include "verify/stages/timed_results.h"

enum { BENCHMARKS = 3, PAIRS = 2, SLOTS_TIMED = 8 };
#define LARGE_FLOATS ((size_t)640 << 10) /* a result of 2.5 MiB is compared in windows */
#define SMALL_FLOATS ((size_t)1000)

static struct {
	struct kgb_judge judge;
	struct kgb_judge_options options;
	struct kgb_interface interface;
	struct kgb_case cases[BENCHMARKS];
	struct kgb_benchmark items[BENCHMARKS];
	struct kgb_benchmarks benchmarks;
	struct kgb_lane lane;
	struct kgb_verdict verdict;
} t;

/* The inputs are all of the arena, and the result is a block. */
static void make_plan(struct kgb_replay_plan *plan, const char *kernel, size_t n)
{
	plan->record = record_begin();
	put_block(&plan->record, POOL, n * sizeof(float));
	put_add_by(&plan->record, kernel, ARENA, ARENA + n * sizeof(float), POOL, n);
	kgb_record_put_window_end(&plan->record);
	plan->n_ops = 1;
}

/* Returns the images. */
static char *make_inputs(struct kgb_benchmark *b, size_t n)
{
	const bool turns = n == LARGE_FLOATS;
	char *input;

	b->arena_bytes = b->rcase.call.arena_bytes = 2 * n * sizeof(float);
	b->n_slots = SLOTS_TIMED;
	b->n_images = turns ? 2 : SLOTS_TIMED;
	b->n_turned = turns ? 2 : 0;
	for (size_t i = 0; i < b->n_turned; i++)
		b->turned[i] =
			(struct kgb_exec_range){ARENA + i * n * sizeof(float), n * sizeof(float)};
	b->input_bytes = b->arena_bytes * b->n_images;
	if (kgb_memfd_mapped("timed-in", b->input_bytes, true, &input, &b->input_fd, &g.err) < 0)
		give_up("inputs");
	for (size_t i = 0; i < b->input_bytes / sizeof(float); i++) {
		const float value = (float)(i * 2654435761u % 65536);
		memcpy(input + i * sizeof(value), &value, sizeof(value));
	}
	return input;
}

/* The results on a slot, computed here. */
static void keep_right(struct kgb_benchmark *b, const char *input, uint32_t slot, size_t n)
{
	const size_t bytes = n * sizeof(float);
	const char *image = input + slot % b->n_images * b->arena_bytes;
	const size_t turn =
		slot < b->n_images ? 0 : kgb_exec_turn(bytes, slot, b->n_slots) / sizeof(float);
	KGB_AUTO(free) float *sums = kgb_xcalloc(n, sizeof(*sums));
	struct kgb_window_draw part;
	struct kgb_exec_layout layout;

	for (size_t i = 0; i < n; i++)
		sums[i] = float_at(image, (i + turn) % n) + float_at(image + bytes, (i + turn) % n);
	kgb_result_windows_choose(b, slot, &b->windows[slot]);
	for (uint32_t first = 0; first < b->windows[slot].n; first += part.n) {
		kgb_result_windows_from(&b->windows[slot], first, &part);
		for (uint32_t k = 0; k < part.n; k++)
			layout.ranges[k] = part.ranges[k].address - POOL;
		kgb_result_windows_keep(b, slot, &part, (const char *)sums, &layout);
	}
}

static void make_benchmark(uint32_t i, size_t n, const char *kernel)
{
	struct kgb_benchmark *b = &t.items[i];
	struct kgb_wire_output *output = &b->rcase.call.reply.outputs[0];

	t.cases[i] = (struct kgb_case){.name = kgb_xasprintf("benchmark %u", i),
				       .interface = &t.interface,
				       .mode = KGB_MODE_BENCHMARK,
				       .dtype = KGB_DTYPE_FLOAT32};
	*b = (struct kgb_benchmark){
		.kase = &t.cases[i], .set = i, .state = KGB_BENCHMARK_READY, .n_ranges = 1};
	b->data.kase = &t.cases[i];
	b->data.n_results = 1;
	b->data.results[0].view = (struct kgb_tensor_view){.dtype = KGB_DTYPE_FLOAT32,
							   .ndim = 1,
							   .sizes = {(int64_t)n},
							   .strides = {1},
							   .storage_elements = (int64_t)n};
	output->kind = KGB_WIRE_TENSOR;
	output->dtype = KGB_DTYPE_FLOAT32;
	output->ndim = 1;
	output->sizes[0] = (int64_t)n;
	output->strides[0] = 1;
	b->rcase.ranges[0] = b->ranges[0] = (struct kgb_exec_range){POOL, n * sizeof(float)};
	make_plan(&b->rcase.plan, kernel, n);
	make_plan(&b->baseline, "check_add", n);
	char *input = make_inputs(b, n);
	for (uint32_t slot = 0; slot < b->n_slots; slot++)
		keep_right(b, input, slot, n);
	munmap(input, b->input_bytes);
}

/* All benchmarks are ready, the processes run and hold nothing. */
static void begin(const char *kernel)
{
	t.options.request.timing_precision = KGB_PRECISION_QUICK;
	t.judge.options = &t.options;
	kgb_verdict_init(&t.verdict);
	kgb_lane_init(&t.lane, &t.judge, &t.verdict);
	for (uint32_t i = 0; i < BENCHMARKS; i++)
		make_benchmark(i, i == 1 ? SMALL_FLOATS : LARGE_FLOATS, kernel);
	t.benchmarks = (struct kgb_benchmarks){.items = t.items, .n = BENCHMARKS};
	kgb_timing_processes_init(&t.benchmarks.processes);
	for (size_t i = 0; i < (size_t)PAIRS * KGB_N_SIDES; i++) {
		struct kgb_timing_process *process =
			kgb_timing_process_at(&t.benchmarks.processes, (int64_t)i);
		start_process(&process->exec);
		process->runs = true;
	}
}

static void end(void)
{
	for (size_t i = 0; i < BENCHMARKS; i++) {
		kgb_benchmark_release(&t.items[i]);
		kgb_free((void *)(uintptr_t)t.cases[i].name);
	}
	kgb_timing_processes_release(&t.benchmarks.processes, NULL);
	kgb_lane_release(&t.lane);
	kgb_verdict_release(&t.verdict);
}

/* Processes of the first pairs that hold a benchmark. */
static size_t count_held(const struct kgb_benchmark *b, size_t n_pairs)
{
	size_t n = 0;

	for (size_t i = 0; i < n_pairs * KGB_N_SIDES; i++) {
		const struct kgb_timing_process *process =
			kgb_timing_process_at(&t.benchmarks.processes, (int64_t)i);
		n += process->holds[b->set] == b;
	}
	return n;
}

static void check_honest(void)
{
	struct kgb_failure failure = {0};
	bool good = true;

	begin("check_add");
	verdict(kgb_benchmarks_rehearse(&t.lane, &t.benchmarks, &g.err) == 0 &&
			count_held(&t.items[0], PAIRS) == PAIRS * KGB_N_SIDES &&
			count_held(&t.items[1], PAIRS) == PAIRS * KGB_N_SIDES &&
			count_held(&t.items[2], PAIRS) == PAIRS * KGB_N_SIDES,
		"%d benchmarks are rehearsed in %d processes: %s", BENCHMARKS, PAIRS * KGB_N_SIDES,
		g.err.msg);
	/* One that lost its place is loaded again. */
	t.benchmarks.processes.pairs[0][KGB_SIDE_B].holds[2] = NULL;
	for (size_t i = 0; i < BENCHMARKS && good; i++) {
		good = kgb_benchmark_measure(&t.lane, &t.items[i], &t.benchmarks.processes,
					     &failure, &g.err) == 0;
		good = good && count_held(&t.items[i], 1) == 0;
	}
	verdict(good && t.verdict.n_timings == BENCHMARKS && t.verdict.deterministic,
		"they are measured one after the other: %s %s",
		failure.message ? failure.message : "", g.err.msg);
	end();
}

/* Candidates whose timed results differ from those that were kept. There is no reference here that
 * could decide: its process is gone. */
static void check_other_results(const char *kernel, bool is_random, int wanted_rc,
				enum kgb_code wanted)
{
	struct kgb_failure failure = {0};
	int rc;

	t.interface.is_random = is_random;
	begin(kernel);
	rc = kgb_benchmarks_rehearse(&t.lane, &t.benchmarks, &g.err);
	for (size_t i = 1; i < BENCHMARKS && rc == 0; i++) /* the first one is small */
		rc = kgb_benchmark_measure(&t.lane, &t.items[i], &t.benchmarks.processes, &failure,
					   &g.err);
	verdict(rc == wanted_rc && failure.code == wanted &&
			t.verdict.deterministic == (wanted == KGB_CODE_CHEAT_TIMING_OTHER_RESULT),
		"%s%s: %s %s", kernel, is_random ? ", which draws" : "",
		failure.code ? kgb_code_name(failure.code) : "no code", g.err.msg);
	g.err = (struct kgb_err)KGB_ERR_INIT;
	t.interface.is_random = false;
	end();
}

void check_timing(void)
{
	check_honest();
	if (!g.fake)
		return;
	check_other_results("check_add_unless_timed", false, 1, KGB_CODE_CHEAT_TIMING_OTHER_RESULT);
	check_other_results("check_add_restless", false, -1, KGB_CODE_NONE);
	check_other_results("check_add_at_times", false, -1, KGB_CODE_NONE);
	check_other_results("check_add_restless", true, 1, KGB_CODE_VERIFY_SEED);
}
