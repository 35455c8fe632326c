/* SPDX-License-Identifier: MIT */
/** \file
 * What a benchmark needs before it is timed: proved plans of the candidate and the baseline,
 * checked on two inputs, and all inputs. */
#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "verify/fills/fill.h"
#include "verify/lane/candidate_check.h"
#include "verify/stages/timed_results.h"

enum {
	SLOTS_MIN = 8, /* with fewer the timer cannot detect that results are reused */
	SLOTS_FEW = 4, /* suffice if the results of so many slots exceed ON_CHIP_BYTES */
	IMAGES = 2, /* that others are made of by turning */
	TURN_LEAST = 64 << 10, /* bytes of a storage that is turned */
	FIRST_VARIANT = 100,
	FIRST_REPETITION = 60,
	TRUTHS = 4,
	TRUTH_BYTES_AHEAD = 16 << 20,
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
		benchmarks->items[i] =
			(struct kgb_benchmark){.kase = &judge->cases.items[judge->cases.n + i],
					       .set = i % KGB_EXEC_SETS_MAX,
					       .input_fd = -1};
	kgb_timing_processes_init(&benchmarks->processes);
	return benchmarks;
}

void kgb_benchmark_release(struct kgb_benchmark *b)
{
	kgb_close(b->input_fd);
	b->input_fd = -1;
	for (size_t slot = 0; slot < KGB_TIMER_INPUTS_MAX; slot++) {
		for (size_t i = 0; i < KGB_MAX_RESULTS; i++) {
			kgb_free(b->right[slot][i]);
			b->right[slot][i] = NULL;
		}
		kgb_case_data_release(&b->truths[slot]);
	}
	kgb_replay_plan_release(&b->baseline);
	kgb_replay_case_release(&b->rcase);
	kgb_case_data_release(&b->data);
}

void kgb_benchmarks_free(struct kgb_benchmarks *benchmarks, const struct kgb_gpu_lease *lease)
{
	if (!benchmarks)
		return;
	for (size_t i = 0; i < benchmarks->n; i++)
		kgb_benchmark_release(&benchmarks->items[i]);
	kgb_timing_processes_release(&benchmarks->processes, lease);
	kgb_free(benchmarks->items);
	kgb_free(benchmarks);
}

const struct kgb_timer_level *kgb_benchmark_level(const struct kgb_judge *judge)
{
	return &kgb_timer_levels[judge->options->request.timing_precision];
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

struct kgb_exec_arena_spec kgb_benchmark_inputs(const struct kgb_benchmark *b)
{
	const uint32_t n_turned_slots = b->n_slots - b->n_images;

	return (struct kgb_exec_arena_spec){.input_fd = b->input_fd,
					    .arena_bytes = b->arena_bytes,
					    .n_slots = b->n_slots,
					    .n_turned = n_turned_slots,
					    .parts = b->turned,
					    .n_parts = n_turned_slots > 0 ? b->n_turned : 0};
}

bool kgb_benchmark_may_turn(const struct kgb_case *c, size_t i)
{
	const struct kgb_arg *arg = &c->args[i];

	for (size_t k = 0; k < c->n_args; k++)
		if (c->args[k].is_repeated && (k == i || c->args[k].same_as == i))
			return false;
	return c->mode == KGB_MODE_BENCHMARK && arg->param->kind == KGB_PARAM_TENSOR &&
	       !arg->param->into && arg->fill < KGB_FILL_TRIANGLE &&
	       arg->read.shape == KGB_READ_ALL && !arg->values.has_neighbours;
}

/* Find the tensors that can be turned, by address. All large ones must be, and one at least: slots
 * must differ. */
static bool find_turned(struct kgb_benchmark *b)
{
	const struct kgb_candidate_call *call = &b->rcase.call;

	b->n_turned = 0;
	for (size_t i = 0; i < b->kase->n_args; i++) {
		const struct kgb_exec_range range = {
			.address = call->addresses[i],
			.bytes = kgb_tensor_view_storage_bytes(&b->kase->args[i].view)};
		if (b->kase->args[i].param->kind != KGB_PARAM_TENSOR || range.bytes < TURN_LEAST)
			continue;
		if (!kgb_benchmark_may_turn(b->kase, i))
			return false;
		size_t k = b->n_turned++;
		for (; k > 0 && b->turned[k - 1].address > range.address; k--)
			b->turned[k] = b->turned[k - 1];
		b->turned[k] = range;
	}
	return b->n_turned > 0 && b->n_turned <= KGB_EXEC_RANGES;
}

static void turn(char *storage, size_t bytes, size_t by)
{
	KGB_AUTO(free) char *start = kgb_xmalloc(by);

	memcpy(start, storage, by);
	memmove(storage, storage + by, bytes - by);
	memcpy(storage + bytes - by, start, by);
}

void kgb_benchmark_fill(struct kgb_lane *lane, const struct kgb_benchmark *b, uint32_t slot,
			struct kgb_case_data *out)
{
	kgb_lane_fill(lane, out, b->kase, FIRST_VARIANT + slot % b->n_images);
	for (size_t i = 0; i < b->kase->n_args && slot >= b->n_images; i++)
		if (out->storage_bytes[i] >= TURN_LEAST)
			turn(out->storages[i], out->storage_bytes[i],
			     kgb_exec_turn(out->storage_bytes[i], slot, b->n_slots));
}

/* Write the inputs `data` to lane->image and to the image of a slot. */
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
	kgb_candidate_call_release(&call);
	if (lseek(b->input_fd, (off_t)((size_t)slot * b->arena_bytes), SEEK_SET) < 0)
		return kgb_fail_errno(err, errno, "place of the inputs of slot %u", slot);
	return kgb_fs_write_all(b->input_fd, lane->image.ptr, b->arena_bytes, err);
}

/* Write all images, that of slot 0, whose inputs are `first`, last: lane->image holds it then. To
 * write to a file costs less than to touch each page of a mapping first. */
static int make_inputs(struct kgb_lane *lane, struct kgb_benchmark *b,
		       const struct kgb_case_data *first, struct kgb_err *err)
{
	b->arena_bytes = b->rcase.call.arena_bytes;
	b->n_slots = count_slots(lane, b);
	b->n_images = find_turned(b) ? IMAGES : b->n_slots;
	b->input_bytes = b->arena_bytes * b->n_images;
	if (kgb_memfd_empty("kgb-timing-input", &b->input_fd, err) < 0)
		return -1;
	for (uint32_t slot = b->n_images - 1; slot > 0; slot--) {
		struct kgb_case_data data;
		kgb_benchmark_fill(lane, b, slot, &data);
		kgb_case_data_shape(&data, &b->data); /* an OUT argument has the result's form */
		const int rc = write_slot(lane, b, &data, slot, err);
		kgb_case_data_release(&data);
		if (rc < 0)
			return -1;
	}
	if (write_slot(lane, b, first, 0, err) < 0)
		return -1;
	return kgb_memfd_end_writing("kgb-timing-input", b->input_fd, err);
}

/* ---- checks ---- */

/* Run the plan on a slot and keep what timed calls must give, too. 0, 1 refused, -1 *err. */
static int keep_right(struct kgb_lane *lane, struct kgb_benchmark *b, uint32_t slot,
		      struct kgb_err *err)
{
	struct kgb_result_windows *windows = &b->windows[slot];
	struct kgb_window_draw part;
	struct kgb_exec_layout layout;
	uint64_t random;
	int rc = 0;

	kgb_random(&random, sizeof(random));
	kgb_result_windows_choose(b, random, windows);
	for (uint32_t first = 0; first < windows->n && rc == 0; first += part.n) {
		kgb_result_windows_from(windows, first, &part);
		rc = kgb_replay_run_ranges(lane, &b->rcase, slot, part.ranges, part.n, &layout,
					   &b->failure, err);
		if (rc == 0)
			kgb_result_windows_keep(b, slot, &part, lane->replay->uses->output,
						&layout);
	}
	return rc;
}

/* Keep the right results of all slots. The last run, on slot 0 again, leaves *call and lane->after.
 * The replayer is locked from the load of the plan to that run. 0, 1 refused, -1 *err. */
static int run_slots(struct kgb_lane *lane, struct kgb_benchmark *b, struct kgb_recorded *recorded,
		     struct kgb_candidate_call *call, struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->uses;
	struct kgb_exec_arena_spec inputs = kgb_benchmark_inputs(b);

	KGB_MEASURE(lane, KGB_PHASE_REPLAY);
	pthread_mutex_lock(&replayer->lock);
	int rc = kgb_replay_load(lane, recorded, &b->rcase, &b->failure, err);
	if (rc == 0)
		rc = kgb_replay_give_inputs(lane, &b->rcase, &b->data, &inputs, &b->failure, err);
	for (uint32_t slot = 0; slot < b->n_slots && rc == 0; slot++)
		rc = keep_right(lane, b, slot, err);
	if (rc == 0)
		rc = kgb_replay_run_first(lane, &b->rcase, &b->data, call, &b->failure, err);
	pthread_mutex_unlock(&replayer->lock);
	return rc;
}

/* Check that torch's copies do not compute the results of benchmarks, even if they do not in other
 * cases. 0, 1 refused, -1 *err. */
static int find_computer(struct kgb_lane *lane, struct kgb_benchmark *b,
			 const struct kgb_case_data *data, struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->uses;
	const struct kgb_failure before = lane->needless;

	if (!kgb_replay_plan_moves(&b->rcase.plan))
		return 0;
	lane->needless = (struct kgb_failure){0};
	pthread_mutex_lock(&replayer->lock);
	int rc = kgb_replay_reload(lane, &b->rcase, &b->failure, err);
	if (rc == 0)
		rc = kgb_replay_find_computer(lane, &b->rcase, data, &b->failure, err);
	pthread_mutex_unlock(&replayer->lock);
	const struct kgb_failure found = lane->needless;
	lane->needless = before;
	if (rc != 0 || !found.code)
		return rc;
	b->failure = found;
	return 1;
}

/* Compare the results on slot 0 with the reference's. One slot is enough: the recorded call had
 * other inputs, and the plan cannot depend on the number of a slot. 0, 1 refused, -1 *err. */
static int run_and_check(struct kgb_lane *lane, struct kgb_benchmark *b,
			 struct kgb_recorded *recorded, const struct kgb_case_data *first,
			 struct kgb_err *err)
{
	struct kgb_candidate_call call = {0};
	int rc = run_slots(lane, b, recorded, &call, err);

	if (rc == 0) {
		KGB_MEASURE(lane, KGB_PHASE_CHECK);
		rc = !kgb_candidate_call_check(lane, first, &call, &b->failure) ||
		     !kgb_candidate_call_check_values(lane, first, &call, &b->failure);
	}
	kgb_candidate_call_release(&call);
	if (rc != 0)
		return rc;
	if (kgb_replay_refuse_without_launch(&b->rcase, &b->failure) != 0)
		return 1;
	return find_computer(lane, b, first, err);
}

/* ---- right results of kernels that are not deterministic ---- */

bool kgb_benchmark_needs_truth(const struct kgb_benchmark *b, uint32_t slot)
{
	return slot % (b->n_slots < TRUTHS ? 1 : b->n_slots / TRUTHS) == 0;
}

int kgb_benchmark_fetch_truth(struct kgb_lane *lane, struct kgb_benchmark *b, uint32_t slot,
			      struct kgb_err *err)
{
	struct kgb_case_data *truth = &b->truths[slot];

	if (truth->kase)
		return 0;
	kgb_benchmark_fill(lane, b, slot, truth);
	const int rc = kgb_lane_fetch_truth(lane, truth, err);
	kgb_case_data_drop_inputs(truth);
	return rc;
}

/* Small ones while others use the GPU, too. Takes over `first`, the inputs and right results of
 * slot 0. */
static int keep_truths(struct kgb_lane *lane, struct kgb_benchmark *b, struct kgb_case_data *first,
		       struct kgb_err *err)
{
	int rc = 0;

	if (lane->verdict->deterministic || result_bytes(&b->data) > TRUTH_BYTES_AHEAD) {
		kgb_case_data_release(first);
		return 0;
	}
	kgb_case_data_drop_inputs(first);
	b->truths[0] = *first;
	for (uint32_t slot = 1; slot < b->n_slots && rc == 0; slot++)
		if (kgb_benchmark_needs_truth(b, slot))
			rc = kgb_benchmark_fetch_truth(lane, b, slot, err);
	return rc;
}

/* ---- one benchmark ---- */

/* Record the call on other inputs than those of the slots. `first`: the inputs of slot 0, with
 * their right results. */
static int record(struct kgb_lane *lane, struct kgb_benchmark *b, const struct kgb_case_data *first,
		  struct kgb_err *err)
{
	struct kgb_case_data data;
	struct kgb_recorded recorded;
	int rc = 0;

	kgb_lane_fill(lane, &data, b->kase, 0);
	/* If launches depend on data, the sizes of results may depend on data, too. */
	if (lane->judge->spec.launches == KGB_LAUNCHES_FIXED)
		kgb_case_data_shape(&data, first);
	else
		rc = kgb_lane_fetch_truth(lane, &data, err);
	if (rc == 0) {
		rc = kgb_replay_record(lane, &data, &recorded, &b->failure, err);
		if (rc == 0)
			rc = kgb_replay_prove(lane, &recorded, &b->rcase, &b->failure, err);
		if (rc == 1 && kgb_replay_stays_in_sandbox(lane, &b->rcase))
			b->state = KGB_BENCHMARK_SKIPPED;
		if (rc == 0)
			rc = make_inputs(lane, b, first, err);
		if (rc == 0)
			rc = run_and_check(lane, b, &recorded, first, err);
		kgb_recorded_release(&recorded);
	}
	if (rc == 0)
		rc = kgb_replay_capture_baseline(lane, &data, &b->baseline, err);
	kgb_case_data_release(&data);
	return rc;
}

static int prepare(struct kgb_lane *lane, struct kgb_benchmark *b, struct kgb_err *err)
{
	struct kgb_case_data first;
	int rc = kgb_lane_load(lane, b->kase, &b->failure, err);

	if (rc != 0)
		return rc;
	kgb_lane_fill(lane, &first, b->kase, FIRST_VARIANT);
	rc = kgb_lane_fetch_truth(lane, &first, err);
	b->data = (struct kgb_case_data){.kase = b->kase};
	kgb_case_data_shape(&b->data, &first);
	if (rc == 0)
		rc = record(lane, b, &first, err);
	if (rc == 0)
		rc = keep_truths(lane, b, &first, err);
	else
		kgb_case_data_release(&first);
	b->n_ranges = kgb_replay_ranges(&b->rcase, &b->data, b->ranges);
	return rc;
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
