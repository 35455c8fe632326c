/* SPDX-License-Identifier: MIT */
/** \file
 * What a benchmark needs before it is timed: proved plans of the candidate and the baseline,
 * checked on two inputs, and all inputs. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/system/memfd.h"
#include "verify/lane/candidate_check.h"
#include "verify/stages/benchmark.h"

enum {
	SLOTS_MIN = 8, /* with fewer the timer cannot detect that results are reused */
	SLOTS_FEW = 4, /* suffice if the results of so many slots exceed ON_CHIP_BYTES */
	FIRST_VARIANT = 100,
	FIRST_REPETITION = 60,
};
#define INPUT_BYTES_WANTED ((size_t)256 << 20) /* of all slots, if their number allows it */
/* Before a timed call all memory is filled with random bytes. The other storage of a chip (caches,
 * registers, shared memory) has fewer bytes than this in all. */
#define ON_CHIP_BYTES ((size_t)128 << 20)

struct kgb_benchmarks *kgb_benchmarks_new(const struct kgb_judge *judge)
{
	struct kgb_benchmarks *benchmarks = kgb_xmalloc(sizeof(*benchmarks));

	*benchmarks = (struct kgb_benchmarks){
		.items = kgb_xcalloc(judge->cases.n_benchmarks + 1, sizeof(*benchmarks->items)),
		.n = judge->cases.n_benchmarks,
	};
	for (size_t i = 0; i < benchmarks->n; i++)
		benchmarks->items[i] = (struct kgb_benchmark){
			.kase = &judge->cases.items[judge->cases.n + i], .input_fd = -1};
	kgb_timing_processes_init(&benchmarks->processes);
	return benchmarks;
}

void kgb_benchmark_release(struct kgb_benchmark *b)
{
	if (b->input)
		munmap(b->input, b->input_bytes);
	kgb_close(b->input_fd);
	b->input = NULL;
	b->input_fd = -1;
	for (size_t slot = 0; slot < KGB_TIMER_INPUTS_MAX; slot++)
		for (size_t i = 0; i < KGB_MAX_RESULTS; i++) {
			kgb_free(b->right[slot][i]);
			b->right[slot][i] = NULL;
		}
	kgb_replay_plan_release(&b->baseline);
	kgb_replay_case_release(&b->rcase);
	kgb_case_data_release(&b->data);
}

void kgb_benchmarks_free(struct kgb_benchmarks *benchmarks)
{
	if (!benchmarks)
		return;
	for (size_t i = 0; i < benchmarks->n; i++)
		kgb_benchmark_release(&benchmarks->items[i]);
	kgb_timing_processes_release(&benchmarks->processes);
	kgb_free(benchmarks->items);
	kgb_free(benchmarks);
}

const struct kgb_timer_level *kgb_benchmark_level(const struct kgb_judge *judge)
{
	return &kgb_timer_levels[judge->options->request.timing_precision];
}

uint32_t kgb_benchmark_variant(uint32_t slot)
{
	return FIRST_VARIANT + slot;
}

/* ---- inputs ---- */

static size_t result_bytes(const struct kgb_case_data *data)
{
	size_t bytes = 0;

	for (size_t i = 0; i < data->n_results; i++)
		bytes += kgb_tensor_view_bytes(&data->results[i].view);
	return bytes;
}

static uint32_t count_slots(const struct kgb_lane *lane, const struct kgb_benchmark *b)
{
	const size_t wanted = INPUT_BYTES_WANTED / (b->arena_bytes + 1);
	const size_t least =
		result_bytes(&b->data) > ON_CHIP_BYTES / SLOTS_FEW ? SLOTS_FEW : SLOTS_MIN;
	const size_t most = kgb_benchmark_level(lane->judge)->max_slots;

	return (uint32_t)(wanted > most ? most : wanted < least ? least : wanted);
}

/* Write the inputs `data` to the image of a slot. */
static int write_slot(struct kgb_lane *lane, struct kgb_benchmark *b,
		      const struct kgb_case_data *data, uint32_t slot, struct kgb_err *err)
{
	const struct kgb_candidate_call_spec spec = {.repetition = FIRST_REPETITION + (int)slot,
						     .places = 1,
						     .arrangement = KGB_PLACED_LOOSE};
	struct kgb_candidate_call call;

	KGB_MEASURE(lane, KGB_PHASE_SLOTS);
	if (kgb_candidate_call_prepare(lane, data, &spec, &call, err) < 0)
		return -1;
	KGB_ASSERT(call.arena_bytes == b->arena_bytes);
	kgb_parallel_copy(b->input + (size_t)slot * b->arena_bytes, lane->image.ptr,
			  b->arena_bytes);
	kgb_candidate_call_release(&call);
	return 0;
}

static int make_inputs(struct kgb_lane *lane, struct kgb_benchmark *b, struct kgb_err *err)
{
	b->arena_bytes = b->rcase.call.arena_bytes;
	b->n_slots = count_slots(lane, b);
	b->input_bytes = b->arena_bytes * b->n_slots;
	if (kgb_memfd_mapped("kgb-timing-input", b->input_bytes, true, &b->input, &b->input_fd,
			     err) < 0)
		return -1;
	for (uint32_t slot = 0; slot < b->n_slots; slot++) {
		struct kgb_case_data data;
		kgb_lane_fill(lane, &data, b->kase, kgb_benchmark_variant(slot));
		kgb_case_data_shape(&data, &b->data); /* an OUT argument has the result's form */
		const int rc = write_slot(lane, b, &data, slot, err);
		kgb_case_data_release(&data);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* ---- checks ---- */

/* Check that torch's copies do not compute the results of benchmarks, even if they do not in other
 * cases. 0, 1 *failure, -1 *err. */
static int find_computer(struct kgb_lane *lane, struct kgb_benchmark *b,
			 const struct kgb_case_data *data, struct kgb_err *err)
{
	const struct kgb_failure before = lane->needless;

	lane->needless = (struct kgb_failure){0};
	int rc = kgb_replay_find_computer(lane, &b->rcase, data, &b->failure, err);
	const struct kgb_failure found = lane->needless;
	lane->needless = before;
	if (rc != 0 || !found.code)
		return rc;
	b->failure = found;
	return 1;
}

/* Replay the candidate on the inputs of a slot, with their right results, and keep what it gave.
 * The results of the other slots need no check: the candidate's work cannot depend on the number of
 * a slot. 0, 1 refused, -1 *err. */
static int check_slot(struct kgb_lane *lane, struct kgb_benchmark *b,
		      const struct kgb_case_data *data, uint32_t slot, struct kgb_err *err)
{
	struct kgb_candidate_call call = {0};

	KGB_MEASURE(lane, KGB_PHASE_REPLAY);
	int rc = kgb_replay_run(lane, &b->rcase, data, FIRST_REPETITION + (int)slot,
				KGB_REPLAY_SKIP_NOTHING, &call, &b->failure, err);
	if (rc == 0 && (!kgb_candidate_call_check(lane, data, &call, &b->failure) ||
			!kgb_candidate_call_check_values(lane, data, &call, &b->failure)))
		rc = 1;
	if (rc == 0 && slot == 0)
		rc = find_computer(lane, b, data, err);
	for (size_t i = 0; i < data->n_results && rc == 0; i++) {
		b->right[slot][i] = call.values[i];
		call.values[i] = NULL;
	}
	kgb_candidate_call_release(&call);
	return rc;
}

/* The replayer is locked from the load of the plan to its last run. 0, 1 refused, -1 *err. */
static int load_and_check(struct kgb_lane *lane, struct kgb_benchmark *b,
			  struct kgb_recorded *recorded, const struct kgb_case_data *slots,
			  struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->uses;
	const struct kgb_replay_images images = {
		.fd = b->input_fd, .image_bytes = b->arena_bytes, .n = b->n_slots};

	pthread_mutex_lock(&replayer->lock);
	int rc = kgb_replay_load(lane, recorded, &b->rcase, &b->failure, err);
	for (uint32_t slot = 0; slot < KGB_BENCHMARK_CHECKED_SLOTS && rc == 0; slot++)
		rc = check_slot(lane, b, &slots[slot], slot, err);
	if (rc == 0) {
		KGB_MEASURE(lane, KGB_PHASE_SLOTS);
		rc = kgb_replay_run_images(lane, &b->rcase, &b->data, &images,
					   KGB_BENCHMARK_CHECKED_SLOTS, b->right, &b->failure, err);
	}
	pthread_mutex_unlock(&replayer->lock);
	return rc;
}

/* ---- one benchmark ---- */

/* Record the call on other inputs than those of the slots. */
static int record(struct kgb_lane *lane, struct kgb_benchmark *b, const struct kgb_case_data *slots,
		  struct kgb_err *err)
{
	struct kgb_case_data data;
	struct kgb_recorded recorded;

	kgb_lane_fill(lane, &data, b->kase, 0);
	int rc = 0;
	/* If launches depend on data, the sizes of results may depend on data, too. */
	if (lane->judge->spec.launches == KGB_LAUNCHES_FIXED)
		kgb_case_data_shape(&data, &slots[0]);
	else
		rc = kgb_lane_fetch_truth(lane, &data, err);
	if (rc == 0) {
		rc = kgb_replay_record(lane, &data, &recorded, &b->failure, err);
		if (rc == 0)
			rc = kgb_replay_prove(lane, &recorded, &b->rcase, &b->failure, err);
		if (rc == 1 && kgb_replay_stays_in_sandbox(lane, &b->rcase))
			b->state = KGB_BENCHMARK_SKIPPED;
		if (rc == 0)
			rc = make_inputs(lane, b, err);
		if (rc == 0)
			rc = load_and_check(lane, b, &recorded, slots, err);
		kgb_recorded_release(&recorded);
	}
	if (rc == 0)
		rc = kgb_replay_capture_baseline(lane, &data, &b->baseline, err);
	kgb_case_data_release(&data);
	return rc;
}

static int prepare(struct kgb_lane *lane, struct kgb_benchmark *b, struct kgb_err *err)
{
	struct kgb_case_data slots[KGB_BENCHMARK_CHECKED_SLOTS] = {0};
	int rc = kgb_lane_load(lane, b->kase, &b->failure, err);

	for (uint32_t slot = 0; slot < KGB_BENCHMARK_CHECKED_SLOTS && rc == 0; slot++) {
		kgb_lane_fill(lane, &slots[slot], b->kase, kgb_benchmark_variant(slot));
		rc = kgb_lane_fetch_truth(lane, &slots[slot], err);
	}
	b->data = (struct kgb_case_data){.kase = b->kase};
	kgb_case_data_shape(&b->data, &slots[0]);
	if (rc == 0)
		rc = record(lane, b, slots, err);
	for (uint32_t slot = 0; slot < KGB_BENCHMARK_CHECKED_SLOTS; slot++)
		kgb_case_data_release(&slots[slot]);
	if (rc != 0)
		return rc;
	b->n_ranges = kgb_replay_ranges(&b->rcase, &b->data, b->ranges);
	for (size_t i = 0; i < b->data.n_results; i++)
		b->in_arena |= kgb_candidate_call_holder(b->kase, i) != SIZE_MAX;
	return 0;
}

void kgb_benchmark_prepare(struct kgb_lane *lane, struct kgb_benchmark *b)
{
	static const enum kgb_benchmark_state states[] = {KGB_BENCHMARK_READY,
							  KGB_BENCHMARK_REFUSED};

	b->err = (struct kgb_err)KGB_ERR_INIT;
	const int rc = prepare(lane, b, &b->err);
	if (b->state == KGB_BENCHMARK_UNTOUCHED)
		b->state = rc < 0 ? KGB_BENCHMARK_BROKEN : states[rc];
	if (b->state != KGB_BENCHMARK_READY)
		kgb_benchmark_release(b);
}
