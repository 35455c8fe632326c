/* SPDX-License-Identifier: MIT */
/** \file
 * exec_check's looks at memory: other physical memory at the same addresses, an arena with holes,
 * what requests cost that map memory, how fast poison is made.
 */
#include <sys/mman.h>

#include "base/mem.h"
#include "base/system/memfd.h"
#include "tests/gpu/exec_support.h"
#include "tests/helpers/whole_arena.h"
#include "verify/process/shared_arena.h"

/* What is free on the device as a context of our own sees it. */
static uint64_t free_bytes(void)
{
	const struct kgb_cuda *cu;
	__typeof__(&cuDevicePrimaryCtxRelease) release;
	CUcontext context;
	CUdevice device;
	size_t free_now = 0;
	size_t all = 0;

	*(void **)&release = driver_function("cuDevicePrimaryCtxRelease_v2");
	if (kgb_cuda_load(&cu, &g.err) < 0)
		give_up("driver");
	need(cu, cu->cuDeviceGet(&device, (int)g.spec.device), "cuDeviceGet");
	need(cu, cu->cuDevicePrimaryCtxRetain(&context, device), "make a context");
	need(cu, cu->cuCtxSetCurrent(context), "set the context");
	need(cu, cu->cuMemGetInfo(&free_now, &all), "free memory");
	need(cu, cu->cuCtxSetCurrent(NULL), "leave the context");
	(void)release(device);
	return free_now;
}

/* Other memory at the same addresses: results stay right, and what was replaced is given back. */
void check_placements(void)
{
	const struct kgb_exec_range ranges[] = {{POOL, 4096}};
	struct kgb_exec_request spec = run_spec(25);
	struct kgb_buf record = record_begin();
	uint64_t replace_ns = 0;
	size_t n_wrong = 0;

	put_block(&record, POOL, KGB_GPU_PAGE);
	put_block(&record, POOL + (64 << 20), KGB_GPU_PAGE);
	put_add(&record, tensor(2), g.n);
	spec.plan = 13;
	spec.n_slots = 1;
	spec.n_samples = 3;
	memcpy(spec.ranges, ranges, sizeof(ranges));
	spec.n_ranges = 1;
	bool good =
		send_plan(&record, 13) == KGB_EXEC_DONE &&
		kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) == KGB_EXEC_DONE;
	const uint64_t before = free_bytes();
	for (uint32_t i = 1; good && i <= 20; i++) {
		spec.placement = i * 7919;
		good = i != 10 || kgb_exec_client_load(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_DONE;
		good = good && (i % 2 || kgb_exec_client_place(&g.exec, spec.placement, WAIT_MS,
							       &g.err) == KGB_EXEC_DONE);
		good = good && kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) ==
				       KGB_EXEC_DONE;
		uint64_t first_ns = g.exec.reply.wall_ns;
		n_wrong += count_wrong(0, g.output + 2 * g.n * 4, g.n);
		good = good &&
		       is_poison(kgb_exec_poison_word(spec.poison, 16), POOL, range(0), 4096) &&
		       kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) ==
			       KGB_EXEC_DONE;
		replace_ns += first_ns - g.exec.reply.wall_ns;
	}
	verdict(good && n_wrong == 0, "results are right in 20 placements (%.2f ms each)",
		(double)(int64_t)replace_ns / 20e6);
	const uint64_t held = before - free_bytes();
	good = kgb_exec_client_begin_emptying(&g.exec) &&
	       kgb_exec_client_finish_emptying(&g.exec, 10 * 1000);
	const uint64_t after = free_bytes();
	/* Other processes, and the driver itself, may take some in the meantime. */
	verdict(good && after + (64 << 20) > before,
		"and all memory is given back in the end: %lld KiB are missing, %lld were before",
		((long long)before - (long long)after) / 1024, (long long)held / 1024);
	good = send_whole_arena(&g.exec, g.input_fd, g.arena_bytes, SLOTS, g.output_fd,
				g.output_bytes, WAIT_MS, &g.err) == KGB_EXEC_DONE;
	const uint64_t much = g.fake ? UINT64_C(5) << 30 : before / 8 * 7;
	record = record_begin();
	put_block(&record, POOL, much & ~(KGB_GPU_PAGE - 1));
	good = good && send_plan(&record, 13) == KGB_EXEC_DONE;
	spec.placement++;
	verdict(good && kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) ==
				KGB_EXEC_OUT_OF_MEMORY,
		"no other placement where memory does not suffice: %s", g.err.msg);
	spec.placement = 0; /* that of an emptied process */
	spec.n_samples = 1;
	verdict(good && (g.fake || kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS,
							&g.err) == KGB_EXEC_DONE),
		"and the old one goes on");
	good = kgb_exec_client_forget(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_DONE;
	verdict(good, "plans are forgotten again");
}

/* --- an arena with holes --- */

enum { HOLE_FLOATS = 1003, HOLE_PARTS = 3, HOLE_PAGES = 7, HOLE_SLOTS = 2 };

static struct {
	int input_fd, output_fd;
	char *input, *output;
	struct kgb_exec_range parts[HOLE_PARTS];
} holes;

/* Tensor i ends, but for the gap to the next 16 bytes, at the end of page 2 i + 1; the last one, in
 * the second window of the arena. */
static uint64_t hole_tensor(size_t i)
{
	const uint64_t bytes = (HOLE_FLOATS * sizeof(float) + 15) / 16 * 16;

	return ARENA + (i == HOLE_PARTS - 1 ? KGB_ARENA_STRIDE : 0) + (2 * i + 2) * KGB_GPU_PAGE -
	       bytes;
}

static void make_holes(void)
{
	const size_t bytes = HOLE_PAGES * KGB_GPU_PAGE;

	if (kgb_memfd_sized("holes-in", HOLE_SLOTS * bytes, 0, &holes.input_fd, &g.err) < 0 ||
	    kgb_memfd_sized("holes-out", bytes + (1 << 20), 0, &holes.output_fd, &g.err) < 0)
		give_up("memory");
	holes.input = mmap(NULL, HOLE_SLOTS * bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			   holes.input_fd, 0);
	holes.output = mmap(NULL, bytes + (1 << 20), PROT_READ | PROT_WRITE, MAP_SHARED,
			    holes.output_fd, 0);
	if (holes.input == MAP_FAILED || holes.output == MAP_FAILED)
		give_up("map memory");
	for (size_t i = 0; i < HOLE_SLOTS * bytes; i++)
		holes.input[i] = (char)(i * 7 + 1);
	memset(holes.output, 0x3c, bytes);
	for (size_t i = 0; i < HOLE_PARTS; i++)
		holes.parts[i] = (struct kgb_exec_range){
			hole_tensor(i) - 4096,
			(2 * i + 2) * KGB_GPU_PAGE - (kgb_arena_offset(hole_tensor(i)) - 4096)};
	for (size_t slot = 0; slot < HOLE_SLOTS; slot++)
		for (size_t i = 0; i < 2; i++)
			for (size_t k = 0; k < HOLE_FLOATS; k++) {
				const float value = (float)(1000 * slot + 10 * i + k);
				memcpy(holes.input + slot * bytes +
					       kgb_arena_offset(hole_tensor(i)) + 4 * k,
				       &value, sizeof(value));
			}
}

static bool use_holes(void)
{
	const struct kgb_exec_arena_spec spec = {
		.input_fd = holes.input_fd,
		.output_fd = holes.output_fd,
		.arena_bytes = HOLE_PAGES * KGB_GPU_PAGE,
		.output_bytes = HOLE_PAGES * KGB_GPU_PAGE + (1 << 20),
		.n_slots = HOLE_SLOTS,
		.parts = holes.parts,
		.n_parts = HOLE_PARTS,
	};

	return kgb_exec_client_arena(&g.exec, &spec, WAIT_MS, &g.err) == KGB_EXEC_DONE;
}

/* Is every byte of the output that is no part as it was, and every part right? */
static bool holes_are_right(size_t slot)
{
	const char *image = holes.input + slot * HOLE_PAGES * KGB_GPU_PAGE;
	const uint64_t sum_at = kgb_arena_offset(hole_tensor(2));
	size_t n_wrong = 0;

	for (uint64_t at = 0, part = 0; at < HOLE_PAGES * KGB_GPU_PAGE; at++) {
		const uint64_t begin = part < HOLE_PARTS
					       ? kgb_arena_offset(holes.parts[part].address)
					       : UINT64_MAX;
		const bool in_part = at >= begin;
		if (!in_part)
			n_wrong += holes.output[at] != 0x3c;
		else if (at < sum_at || at >= sum_at + 4 * (uint64_t)HOLE_FLOATS)
			n_wrong += holes.output[at] != image[at];
		if (in_part && at + 1 == begin + holes.parts[part].bytes)
			part++;
	}
	for (size_t i = 0; i < HOLE_FLOATS; i++) {
		const float a = float_at(image + kgb_arena_offset(hole_tensor(0)), i);
		const float b = float_at(image + kgb_arena_offset(hole_tensor(1)), i);
		n_wrong += float_at(holes.output + sum_at, i) != a + b;
	}
	return n_wrong == 0;
}

/* One plan on the arena with holes. */
static enum kgb_exec_outcome run_in_holes(struct kgb_buf *record)
{
	struct kgb_exec_request spec = run_spec(26);
	enum kgb_exec_outcome outcome = send_plan(record, 0);

	return outcome == KGB_EXEC_DONE ? run(&spec) : outcome;
}

static void check_hole(bool read, uint64_t address, enum kgb_exec_outcome wanted, const char *what)
{
	struct kgb_buf record = record_begin();
	enum kgb_exec_outcome outcome = KGB_EXEC_REFUSED;

	if (read)
		put_block(&record, POOL, 4096);
	if (read)
		put_add_of(&record, address, hole_tensor(1), POOL, 1);
	else
		put_poke(&record, address, 0x5a);
	if (use_holes())
		outcome = run_in_holes(&record);
	else
		kgb_buf_release(&record);
	verdict(outcome == wanted, "arena with holes: %s: %s", what,
		kgb_exec_outcome_name(outcome));
	if (outcome >= KGB_EXEC_FAULTED)
		start();
}

void check_holes(void)
{
	const uint64_t bytes = HOLE_FLOATS * sizeof(float);
	struct kgb_exec_request spec = run_spec(27);
	struct kgb_buf record = record_begin();

	make_holes();
	verdict(use_holes(), "an arena with holes (%.3f ms)", (double)g.exec.reply.wall_ns / 1e6);
	put_add_of(&record, hole_tensor(0), hole_tensor(1), hole_tensor(2), HOLE_FLOATS);
	bool good = send_plan(&record, 0) == KGB_EXEC_DONE;
	spec.slot = 1;
	verdict(good && run(&spec) == KGB_EXEC_DONE && holes_are_right(1),
		"a sum there; nothing else is read or written");
	spec.n_slots = HOLE_SLOTS;
	spec.n_samples = 4;
	verdict(good &&
			kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) ==
				KGB_EXEC_DONE &&
			holes_are_right(0),
		"the same, timed");
	spec.placement = 5;
	verdict(good &&
			kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) ==
				KGB_EXEC_DONE &&
			holes_are_right(0),
		"the same in another placement");
	check_hole(true, hole_tensor(0) + bytes - 4, KGB_EXEC_DONE, "read of the last element");
	check_hole(true, hole_tensor(0) + bytes + 4, KGB_EXEC_FAULTED, "read behind the page");
	check_hole(true, hole_tensor(2) + bytes + 4, KGB_EXEC_FAULTED, "read behind the last page");
	check_hole(true, ARENA + 2 * KGB_GPU_PAGE + 64, KGB_EXEC_FAULTED, "read between arguments");
	check_hole(true, ARENA, KGB_EXEC_FAULTED, "read before the first page");
	check_hole(false, hole_tensor(0) + bytes + 4, KGB_EXEC_FAULTED, "write behind the page");
	check_hole(false, hole_tensor(1) - 4096, KGB_EXEC_DONE, "write to the guard");
	check_hole(false, hole_tensor(1) - 4097, KGB_EXEC_WROTE_OUTSIDE, "write before the guard");
	verdict(send_whole_arena(&g.exec, g.input_fd, g.arena_bytes, SLOTS, g.output_fd,
				 g.output_bytes, WAIT_MS, &g.err) == KGB_EXEC_DONE,
		"an arena without holes again");
	check_results();
}

/* --- two sets --- */

enum { HOLES_SET = 5, HOLES_PLAN = 20 };

static bool run_of_set(uint32_t set, uint32_t placement)
{
	struct kgb_exec_request spec = run_spec(29 + placement);

	spec.plan = set == HOLES_SET ? HOLES_PLAN : 0;
	spec.slot = placement % HOLE_SLOTS;
	spec.n_slots = HOLE_SLOTS;
	spec.n_samples = HOLE_SLOTS + 1; /* ends with the first slot */
	spec.placement = placement;
	if (kgb_exec_client_time(&g.exec, &spec, &g.layout, WAIT_MS, &g.err) != KGB_EXEC_DONE)
		return false;
	return set == HOLES_SET ? holes_are_right(spec.slot)
				: count_wrong(spec.slot, g.output + 2 * g.n * 4, g.n) == 0;
}

/* Plan 0 on the whole arena and, in another set, a plan on the arena with holes; both have the
 * same block. */
static bool make_sets(void)
{
	struct kgb_buf whole = record_begin(), with_holes = record_begin();

	put_block(&whole, POOL, KGB_GPU_PAGE);
	put_add(&whole, tensor(2), g.n);
	put_block(&with_holes, POOL, KGB_GPU_PAGE);
	put_add_of(&with_holes, hole_tensor(0), hole_tensor(1), hole_tensor(2), HOLE_FLOATS);
	const bool good =
		send_plan(&whole, 0) == KGB_EXEC_DONE &&
		kgb_exec_client_select(&g.exec, HOLES_SET, WAIT_MS, &g.err) == KGB_EXEC_DONE &&
		use_holes();
	if (good)
		return send_plan(&with_holes, HOLES_PLAN) == KGB_EXEC_DONE;
	kgb_buf_release(&with_holes);
	return false;
}

void check_sets(void)
{
	struct kgb_exec_request spec = run_spec(30);
	uint64_t select_ns = 0;

	bool good = make_sets();
	verdict(good && run(&spec) == KGB_EXEC_REFUSED, "a plan of another set does not run");
	memset(holes.output, 0x3c, HOLE_PAGES * KGB_GPU_PAGE);
	for (uint32_t i = 0; good && i < 8; i++) {
		const uint32_t set = i % 2 ? 0 : HOLES_SET;
		good = kgb_exec_client_select(&g.exec, set, WAIT_MS, &g.err) == KGB_EXEC_DONE;
		select_ns += g.exec.reply.wall_ns;
		good = good && run_of_set(set, 1 + i / 4) && run_of_set(set, 101 + i);
	}
	verdict(good, "two sets take turns (%.2f ms to select one): %s", (double)select_ns / 8e6,
		g.err.msg);
	good = good &&
	       kgb_exec_client_select(&g.exec, HOLES_SET, WAIT_MS, &g.err) == KGB_EXEC_DONE &&
	       kgb_exec_client_forget(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_DONE;
	spec.plan = HOLES_PLAN;
	verdict(good && run(&spec) == KGB_EXEC_REFUSED &&
			kgb_exec_client_select(&g.exec, 0, WAIT_MS, &g.err) == KGB_EXEC_DONE &&
			run_of_set(0, 200),
		"plans of one set are forgotten, others are not");
}

/* --- figures --- */

static double median_of(uint64_t *values, size_t n)
{
	qsort(values, n, sizeof(values[0]), by_size);
	const uint64_t median_ns = values[n / 2];
	return (double)median_ns / 1e3;
}

/* What requests cost that every case sends: medians over plans that share the image, on blocks of
 * the same sizes. */
static void time_plans(uint64_t block_bytes, const char *what)
{
	enum { TIMES_MAX = 40, BLOCKS = 3 };
	const size_t n_times = g.fake ? 4 : TIMES_MAX;
	uint64_t forget_ns[TIMES_MAX];
	uint64_t plan_ns[TIMES_MAX];
	uint64_t arena_ns[TIMES_MAX];
	uint64_t run_ns[TIMES_MAX];
	struct kgb_exec_request spec = run_spec(28);
	bool good = true;

	for (size_t i = 0; good && i < n_times; i++) {
		struct kgb_buf record = record_begin();
		for (uint64_t k = 0; k < BLOCKS; k++)
			put_block(&record, POOL + k * (UINT64_C(1) << 30), block_bytes);
		put_add_of(&record, hole_tensor(0), hole_tensor(1), hole_tensor(2), HOLE_FLOATS);
		good = kgb_exec_client_forget(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_DONE;
		forget_ns[i] = g.exec.reply.wall_ns;
		good = good && send_plan(&record, 0) == KGB_EXEC_DONE;
		plan_ns[i] = g.exec.reply.wall_ns;
		good = good && use_holes();
		arena_ns[i] = g.exec.reply.wall_ns;
		good = good && run(&spec) == KGB_EXEC_DONE;
		run_ns[i] = g.exec.reply.wall_ns;
	}
	if (!verdict(good, "%zu plans one after the other, %s", n_times, what))
		return;
	const double first_us = (double)plan_ns[0] / 1e3;
	const double plan_us = median_of(plan_ns, n_times);
	const double forget_us = median_of(forget_ns, n_times);
	printf("INFO medians, %s: FORGET %.0f us, PLAN %.0f us (first %.0f us), ARENA %.0f us, RUN %.0f us\n",
	       what, forget_us, plan_us, first_us, median_of(arena_ns, n_times),
	       median_of(run_ns, n_times));
	if (block_bytes <= KGB_GPU_PAGE && !g.fake)
		verdict(plan_us + forget_us < 1000, "a plan after another costs less than 1 ms");
}

void time_requests(void)
{
	time_plans(4096, "3 blocks of a page");
	time_plans(32 << 20, "3 blocks of 32 MiB");
}

/* How fast is poison made? Runs of a plan of nothing but a block, with next to no arena. */
void time_poison(void)
{
	const uint64_t bytes = g.fake ? 4 << 20 : UINT64_C(16) << 30;
	struct kgb_exec_request spec = run_spec(24);
	uint64_t best[2] = {UINT64_MAX, UINT64_MAX};
	bool good = send_whole_arena(&g.exec, g.input_fd, 4096, 1, g.output_fd, g.output_bytes,
				     WAIT_MS, &g.err) == KGB_EXEC_DONE;

	spec.plan = 12;
	for (int large = 0; large < 2; large++) {
		struct kgb_buf record = record_begin();
		put_block(&record, POOL, large ? bytes : KGB_GPU_PAGE);
		good = good && kgb_exec_client_forget(&g.exec, WAIT_MS, &g.err) == KGB_EXEC_DONE &&
		       send_plan(&record, 12) == KGB_EXEC_DONE;
		if (large)
			printf("INFO plan with %llu bytes of memory: %.2f ms\n",
			       (unsigned long long)bytes, (double)g.exec.reply.wall_ns / 1e6);
		for (int i = 0; good && i < 5; i++) {
			good = run(&spec) == KGB_EXEC_DONE;
			if (g.exec.reply.wall_ns < best[large])
				best[large] = g.exec.reply.wall_ns;
		}
	}
	if (!verdict(good, "runs of plans of no ops"))
		return;
	const double ms = ((double)best[1] - (double)best[0]) / 1e6;
	const double gb_s = ms > 0 ? (double)bytes / ms / 1e6 : 0;
	printf("INFO poison of %llu bytes: %.2f ms, %.0f GB/s; a run of nothing %.3f ms\n",
	       (unsigned long long)bytes, ms, gb_s, (double)best[0] / 1e6);
	if (!g.fake)
		verdict(gb_s > 1000, "poison is made at more than 1,000 GB/s");
}
