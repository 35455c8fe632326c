/* SPDX-License-Identifier: MIT */
/** \file
 * Timing of a benchmark: the candidate's plan and the baseline's run in two separate processes, in
 * blocks that the timer's controller orders, on rotating inputs. The result of the last call of
 * every block of the candidate is checked. */
#include "base/mem.h"
#include "base/parallel.h"
#include "base/time.h"
#include "verify/cost/cost.h"
#include "verify/lane/candidate_check.h"
#include "verify/lane/random_results.h"
#include "verify/stages/benchmark.h"
#include "verify/stages/timed_results.h"

enum {
	EXEC_MS = 60 * 1000,
	TRIES = 2,
	STARTS = 6,
	RERUNS = 8,
	AHEAD_PART = 16, /* of the GPU's free memory, for the inputs of further benchmarks in the
			    processes of a side */
	REHEARSED_PLACEMENT = 1 << 30, /* a number that the timer does not use */
};
#define SMALL_INPUT_BYTES (4 << 20)
#define RULER_STEP_NS 32 /* resolution of events and of CUPTI's activity, measured on an H200 */

struct measurement {
	struct kgb_lane *lane;
	struct kgb_benchmark *benchmark;
	struct kgb_timing_processes *processes;
	struct kgb_failure *failure;
	struct kgb_window_draw draw; /* what the last request for the candidate brings back */
	bool refused; /* *failure holds why */
	uint32_t first_rehearsed; /* pair */
	bool is_ahead; /* others use the GPU, too */
};

/* ---- processes ---- */

static int fail_exec(struct measurement *m, struct kgb_timing_process *process,
		     enum kgb_timer_side side, enum kgb_exec_outcome outcome, struct kgb_err *err)
{
	if (outcome >= KGB_EXEC_FAULTED)
		kgb_timing_process_stop(process);
	if (side == KGB_SIDE_A)
		return kgb_ctx(err, "baseline of case '%s'", m->benchmark->kase->name);
	m->refused = kgb_replay_explain(m->lane, outcome, m->failure, err) == 1;
	return -1;
}

/* Room for all that a process brings back. Pages that nobody writes take no memory. */
static size_t output_bytes(const struct kgb_benchmark *b)
{
	return kgb_replay_output_bytes(&b->rcase, &b->data) +
	       KGB_EXEC_SAMPLES_MAX * sizeof(struct kgb_exec_sample);
}

static bool holds(const struct kgb_timing_process *process, const struct kgb_benchmark *b)
{
	return process->holds[b->set] == b;
}

static uint32_t main_plan(const struct kgb_benchmark *b)
{
	return 2 * b->set;
}

static uint32_t prologue_plan(const struct kgb_benchmark *b, enum kgb_timer_side side)
{
	return side == KGB_SIDE_B && b->rcase.has_prologue ? main_plan(b) + 1 : KGB_EXEC_NO_PLAN;
}

/* What every request of a side has in common. */
static struct kgb_exec_request request_of(const struct kgb_benchmark *b, enum kgb_timer_side side)
{
	return (struct kgb_exec_request){
		.plan = main_plan(b),
		.prologue = prologue_plan(b, side),
		.skip = -1,
		.flags = KGB_EXEC_WITHOUT_ARENA,
	};
}

/* Bytes to write before a timed call, so that no data of it are left in the L2 cache. */
static uint64_t flush_bytes(const struct kgb_timing_process *process)
{
	return 2 * process->exec.l2_bytes;
}

/* Put the set of this benchmark in force. A process that cannot do it is stopped. */
static enum kgb_exec_outcome choose_set(const struct measurement *m,
					struct kgb_timing_process *process, struct kgb_err *err)
{
	if (process->exec.set == m->benchmark->set)
		return KGB_EXEC_DONE;
	process->placement = REHEARSED_PLACEMENT;
	enum kgb_exec_outcome outcome =
		kgb_exec_client_select(&process->exec, m->benchmark->set, EXEC_MS, err);
	if (outcome != KGB_EXEC_DONE)
		kgb_timing_process_stop(process);
	return outcome;
}

/* Give a process the inputs and the plans of this benchmark, in place of what its set has. */
static enum kgb_exec_outcome load(struct measurement *m, struct kgb_timing_process *process,
				  enum kgb_timer_side side, struct kgb_err *err)
{
	const struct kgb_benchmark *b = m->benchmark;
	const struct kgb_replay_plan *plan = side == KGB_SIDE_A ? &b->baseline : &b->rcase.plan;
	struct kgb_exec_arena_spec spec = kgb_benchmark_inputs(b);
	struct kgb_exec_client *exec = &process->exec;

	spec.output_fd = m->processes->outputs[side].fd;
	spec.output_bytes = output_bytes(b);
	process->placement = REHEARSED_PLACEMENT;
	process->holds[b->set] = NULL;
	enum kgb_exec_outcome outcome = choose_set(m, process, err);

	if (outcome == KGB_EXEC_DONE)
		outcome = kgb_exec_client_forget(exec, EXEC_MS, err);
	if (outcome == KGB_EXEC_DONE)
		outcome = kgb_exec_client_arena(exec, &spec, EXEC_MS, err);
	if (outcome == KGB_EXEC_DONE)
		outcome = kgb_exec_client_plan(exec, main_plan(b), plan->record.ptr,
					       plan->record.len, EXEC_MS, err);
	if (outcome == KGB_EXEC_DONE && prologue_plan(b, side) != KGB_EXEC_NO_PLAN)
		outcome = kgb_exec_client_plan(exec, prologue_plan(b, side),
					       b->rcase.prologue.record.ptr,
					       b->rcase.prologue.record.len, EXEC_MS, err);
	if (outcome == KGB_EXEC_DONE)
		process->holds[b->set] = b;
	return outcome;
}

/* Take a sample that does not count: this uploads inputs and loads code, in a new process also that
 * of CUPTI. Ahead, load the code to all its places, too: each process uses few of them. */
static enum kgb_exec_outcome warm_up(struct measurement *m, struct kgb_timing_process *process,
				     enum kgb_timer_side side, struct kgb_err *err)
{
	struct kgb_exec_request request = request_of(m->benchmark, side);
	struct kgb_exec_layout layout;

	request.n_slots = m->benchmark->n_slots;
	request.n_samples = 1;
	request.placement = REHEARSED_PLACEMENT;
	request.flags |= process->rehearsed ? 0 : KGB_EXEC_WITH_ACTIVITY;
	enum kgb_exec_outcome outcome =
		kgb_exec_client_time(&process->exec, &request, &layout, EXEC_MS, err);

	if (outcome == KGB_EXEC_DONE && m->is_ahead)
		outcome = kgb_exec_client_load(&process->exec, EXEC_MS, err);
	return outcome;
}

/* What fails here is tried again when it is measured. */
static void rehearse(void *payload, int64_t begin, int64_t end)
{
	struct measurement *m = payload;

	for (int64_t i = begin; i < end; i++) {
		const enum kgb_timer_side side = (enum kgb_timer_side)(i % KGB_N_SIDES);
		struct kgb_timing_process *process =
			&m->processes->pairs[m->first_rehearsed + i / KGB_N_SIDES][side];
		struct kgb_err ignored = KGB_ERR_INIT;
		if (!process->runs || holds(process, m->benchmark))
			continue;
		enum kgb_exec_outcome outcome = load(m, process, side, &ignored);
		if (outcome == KGB_EXEC_DONE)
			outcome = warm_up(m, process, side, &ignored);
		process->rehearsed = process->runs;
		process->is_unfit = outcome == KGB_EXEC_UNREPLAYABLE && side == KGB_SIDE_A;
		if (outcome != KGB_EXEC_DONE)
			process->holds[m->benchmark->set] = NULL;
		if (outcome >= KGB_EXEC_FAULTED || process->is_unfit)
			kgb_timing_process_stop(process);
	}
}

/* Start other processes in place of unfit ones. Whether there are any. */
static bool replace_unfit(struct measurement *m, uint32_t n)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	bool any = false;

	for (uint32_t pair = 0; pair < n; pair++) {
		struct kgb_timing_process *process =
			&m->processes->pairs[m->first_rehearsed + pair][KGB_SIDE_A];
		if (process->is_unfit)
			any |= kgb_timing_process_open(process, m->lane, &ignored) == 0;
		process->is_unfit = false;
	}
	return any;
}

/* Let pairs of processes that do not hold this benchmark load it and run it, all at the same time.
 * Memory that a library of the baseline allocated may lie at addresses that a new process uses
 * otherwise; then another process may do. A candidate calls no library. */
static void rehearse_pairs(struct measurement *m, uint32_t first, uint32_t n)
{
	int n_left = STARTS;

	KGB_MEASURE(m->lane, KGB_PHASE_REHEARSAL);
	m->first_rehearsed = first;
	do
		kgb_parallel_for((int64_t)n * KGB_N_SIDES, 1, rehearse, m);
	while (--n_left > 0 && replace_unfit(m, n));
}

/* Start those processes of a pair that do not run yet. */
static int open_pair(struct measurement *m, uint32_t pair, struct kgb_err *err)
{
	KGB_MEASURE(m->lane, KGB_PHASE_TIMER_STARTS);
	for (int side = 0; side < KGB_N_SIDES; side++)
		if (kgb_timing_process_open(&m->processes->pairs[pair][side], m->lane, err) < 0)
			return -1;
	return 0;
}

/* Make the process of a side ready for this benchmark. */
static int ready_process(struct measurement *m, uint32_t pair, enum kgb_timer_side side,
			 struct kgb_err *err)
{
	struct kgb_timing_process *process = &m->processes->pairs[pair][side];
	struct kgb_err ignored = KGB_ERR_INIT;

	if (!holds(process, m->benchmark)) {
		if (open_pair(m, pair, err) < 0)
			return -1;
		rehearse_pairs(m, pair, 1);
	}
	if (holds(process, m->benchmark) && choose_set(m, process, &ignored) == KGB_EXEC_DONE)
		return 0;
	/* What failed in the rehearsal fails here, where it counts. */
	KGB_MEASURE(m->lane, KGB_PHASE_TIMER_STARTS);
	if (kgb_timing_process_open(process, m->lane, err) < 0)
		return -1;
	enum kgb_exec_outcome outcome = load(m, process, side, err);
	return outcome == KGB_EXEC_DONE ? 0 : fail_exec(m, process, side, outcome, err);
}

/* ---- placements ---- */

struct placing {
	struct kgb_timing_process *pair;
	uint32_t placement; /* of the baseline; that of the candidate is the next */
	enum kgb_exec_outcome outcomes[KGB_N_SIDES];
	struct kgb_err errs[KGB_N_SIDES];
};

static void place(void *payload, int64_t begin, int64_t end)
{
	struct placing *placing = payload;

	for (int64_t side = begin; side < end; side++)
		placing->outcomes[side] = kgb_exec_client_place(&placing->pair[side].exec,
								placing->placement + (uint32_t)side,
								EXEC_MS, &placing->errs[side]);
}

/* If the block is the first at its placement, give other memory and code to both processes of a
 * pair at the same time, or to the baseline that is alone: most of this is waiting. The driver
 * clears what both release at 450 GB/s, and each waits as if it cleared 200 GB/s for it. */
static int place_pair(struct measurement *m, struct kgb_timing_process *pair,
		      const struct kgb_timer_block *block, struct kgb_err *err)
{
	struct placing placing = {.pair = pair,
				  .placement = block->placement - (uint32_t)block->side};
	const bool is_alone =
		block->phase == KGB_PHASE_SOLO_BEFORE || block->phase == KGB_PHASE_SOLO_AFTER;
	const int n_sides = is_alone ? 1 : KGB_N_SIDES; /* the baseline is the first */

	if (pair[block->side].placement == block->placement)
		return 0;
	kgb_parallel_for(n_sides, 1, place, &placing);
	for (int side = 0; side < n_sides; side++) {
		pair[side].placement = placing.placement + (uint32_t)side;
		if (placing.outcomes[side] == KGB_EXEC_DONE)
			continue;
		*err = placing.errs[side];
		return fail_exec(m, &pair[side], (enum kgb_timer_side)side, placing.outcomes[side],
				 err);
	}
	return 0;
}

/* ---- samples ---- */

/* The results of the last call of a process of the candidate, in our memory. */
static void take_results(struct measurement *m, const struct kgb_exec_layout *layout,
			 struct kgb_candidate_call *out)
{
	const struct kgb_benchmark *b = m->benchmark;
	const char *output = m->processes->outputs[KGB_SIDE_B].bytes;

	*out = kgb_replay_call(&b->rcase);
	if (kgb_replay_returns_all_fresh(&b->data))
		kgb_replay_take_fresh(&b->rcase, &b->data, output, layout, out);
	else
		kgb_replay_take(m->lane, &b->rcase, &b->data, output, layout, out);
}

static int refuse(struct measurement *m, struct kgb_err *err)
{
	m->refused = true;
	return kgb_fail(err, KGB_ERR_FAILED, "wrong result of a timed call");
}

static int check_with_reference(struct measurement *m, uint32_t slot,
				const struct kgb_exec_layout *layout, struct kgb_err *err)
{
	struct kgb_candidate_call call;

	if (!kgb_benchmark_needs_truth(m->benchmark, slot))
		return 0;
	if (kgb_benchmark_fetch_truth(m->lane, m->benchmark, slot, err) < 0)
		return -1;
	take_results(m, layout, &call);
	const bool passes = kgb_candidate_call_check_values(m->lane, &m->benchmark->truths[slot],
							    &call, m->failure);
	kgb_candidate_call_release(&call);
	return passes ? 0 : refuse(m, err);
}

/* A request for a block. It brings back windows of the results that are drawn here, or everything,
 * where the reference may have to decide. */
static struct kgb_exec_request
request_for_block(struct measurement *m, const struct kgb_timer_block *block, bool in_windows)
{
	const struct kgb_benchmark *b = m->benchmark;
	struct kgb_exec_request request = request_of(b, block->side);
	uint64_t random;

	request.slot = block->slot;
	request.n_slots = block->n_slots;
	request.n_samples = block->n;
	request.placement = block->placement;
	request.flags |= block->with_activity ? KGB_EXEC_WITH_ACTIVITY : 0;
	kgb_random(&request.poison, sizeof(request.poison));
	if (block->side != KGB_SIDE_B)
		return request;
	kgb_random(&random, sizeof(random));
	kgb_result_windows_draw(&b->windows[kgb_timer_last_slot(block)], random, &m->draw);
	request.n_ranges = in_windows ? m->draw.n : b->n_ranges;
	memcpy(request.ranges, in_windows ? m->draw.ranges : b->ranges,
	       request.n_ranges * sizeof(request.ranges[0]));
	if (!in_windows && !kgb_replay_returns_all_fresh(&b->data))
		request.flags &= ~KGB_EXEC_WITHOUT_ARENA;
	return request;
}

static bool is_right(const struct measurement *m, uint32_t slot,
		     const struct kgb_exec_layout *layout)
{
	return kgb_result_windows_are_right(m->benchmark, slot, &m->draw,
					    m->processes->outputs[KGB_SIDE_B].bytes, layout);
}

/* Repeats the last call of a block RERUNS times, timed or not. The number of calls whose results
 * are those that were kept; -1 *err. */
static int count_right(struct measurement *m, struct kgb_timing_process *process,
		       const struct kgb_timer_block *block, bool timed, struct kgb_err *err)
{
	const uint32_t slot = kgb_timer_last_slot(block);
	struct kgb_exec_request request = request_of(m->benchmark, KGB_SIDE_B);
	struct kgb_exec_layout layout = {0};
	int n = 0;

	request.slot = slot;
	if (timed) {
		request.n_slots = block->n_slots;
		request.n_samples = 1;
		request.placement = block->placement;
		request.flush_bytes = flush_bytes(process);
	}
	request.n_ranges = m->draw.n;
	memcpy(request.ranges, m->draw.ranges, m->draw.n * sizeof(request.ranges[0]));
	for (int i = 0; i < RERUNS; i++) {
		kgb_random(&request.poison, sizeof(request.poison));
		enum kgb_exec_outcome outcome =
			(timed ? kgb_exec_client_time : kgb_exec_client_run)(
				&process->exec, &request, &layout, EXEC_MS, err);
		if (outcome != KGB_EXEC_DONE)
			return fail_exec(m, process, KGB_SIDE_B, outcome, err);
		n += is_right(m, slot, &layout);
	}
	return n;
}

/* A timed call gave other results than an untimed one. If all untimed calls give those, and no
 * timed call does, the kernel is a cheat. Else it is not deterministic, which smaller cases need
 * not have shown. 1: take the block again, the reference decides from now on. -1: refused, or *err.
 */
static int doubt(struct measurement *m, struct kgb_timing_process *process,
		 const struct kgb_timer_block *block, struct kgb_err *err)
{
	struct kgb_verdict *verdict = m->lane->verdict;
	const int n_untimed = count_right(m, process, block, false, err);
	const int n_timed = n_untimed == RERUNS ? count_right(m, process, block, true, err) : 0;

	if (n_untimed < 0 || n_timed < 0)
		return -1;
	if (n_untimed == RERUNS && n_timed == 0) {
		(void)kgb_lane_refuse(
			m->lane, m->failure, KGB_CODE_CHEAT_TIMING_OTHER_RESULT,
			"Compute the result from the arguments alone, in every call.",
			"case %s: a timed call gave another result than the same call untimed",
			m->benchmark->kase->name);
		return refuse(m, err);
	}
	verdict->deterministic = false;
	verdict->n_nondeterministic++;
	if (!m->benchmark->kase->interface->is_random)
		return 1;
	(void)kgb_random_result_refuse_repetition(m->failure);
	return refuse(m, err);
}

/* `in_windows`: only the windows that were drawn were brought back. Returns what doubt() does; 0:
 * right. */
static int check_last(struct measurement *m, struct kgb_timing_process *process,
		      const struct kgb_timer_block *block, bool in_windows,
		      const struct kgb_exec_layout *layout, struct kgb_err *err)
{
	const char *output = m->processes->outputs[KGB_SIDE_B].bytes;
	const uint32_t slot = kgb_timer_last_slot(block);
	struct kgb_exec_layout windows = *layout;
	KGB_MEASURE(m->lane, KGB_PHASE_TIMER_CHECKS);

	if (!in_windows)
		kgb_result_windows_find(m->benchmark, slot, &m->draw, output, layout, &windows);
	if (is_right(m, slot, &windows))
		return 0;
	return in_windows ? doubt(m, process, block, err)
			  : check_with_reference(m, slot, layout, err);
}

/* Take the samples of a block and check its last call; 1: take it again. */
static int sample_block(struct measurement *m, const struct kgb_timer_block *block,
			struct kgb_exec_sample *samples, uint64_t *outside_ns, struct kgb_err *err)
{
	const bool in_windows = m->lane->verdict->deterministic;
	struct kgb_exec_request request = request_for_block(m, block, in_windows);
	struct kgb_exec_layout layout;
	struct kgb_timing_process *pair = m->processes->pairs[block->process];
	struct kgb_timing_process *process = &pair[block->side];

	request.flush_bytes = flush_bytes(process);
	const int64_t started_ns = kgb_mono_ns();
	if (place_pair(m, pair, block, err) < 0)
		return -1;
	enum kgb_exec_outcome outcome =
		kgb_exec_client_time(&process->exec, &request, &layout, EXEC_MS, err);
	*outside_ns = (uint64_t)(kgb_mono_ns() - started_ns);
	m->lane->verdict->phase_ns[KGB_PHASE_TIMER_BLOCKS] += (int64_t)*outside_ns;
	if (outcome != KGB_EXEC_DONE)
		return fail_exec(m, process, block->side, outcome, err);
	memcpy(samples, m->processes->outputs[block->side].bytes + layout.samples,
	       block->n * sizeof(*samples));
	if (block->side != KGB_SIDE_B)
		return 0;
	return check_last(m, process, block, in_windows, &layout, err);
}

static int take_block(void *payload, const struct kgb_timer_block *block,
		      struct kgb_exec_sample *samples, uint64_t *outside_ns, struct kgb_err *err)
{
	struct measurement *m = payload;

	for (int side = 0; side < KGB_N_SIDES; side++)
		if (ready_process(m, block->process, (enum kgb_timer_side)side, err) < 0)
			return -1;
	kgb_sleep_ns((uint64_t)block->pause_ms * 1000000);
	const int rc = sample_block(m, block, samples, outside_ns, err);
	return rc == 1 ? sample_block(m, block, samples, outside_ns, err) : rc;
}

/* ---- one benchmark ---- */

static int configure(const struct measurement *m, struct kgb_timer_config *config,
		     struct kgb_err *err)
{
	const struct kgb_benchmark *b = m->benchmark;
	const struct kgb_gpu_peak *machine = &m->lane->verdict->machine;
	struct kgb_tensor_view views[KGB_MAX_RESULTS];
	struct kgb_cost cost;

	kgb_case_data_views(&b->data, views);
	if (kgb_case_cost(&m->lane->judge->spec, b->kase, views, b->data.n_results, &cost, err) < 0)
		return -1;
	*config = (struct kgb_timer_config)KGB_TIMER_CONFIG_INIT;
	config->level = *kgb_benchmark_level(m->lane->judge);
	config->case_name = b->kase->name;
	config->seed = m->lane->verdict->seed;
	config->machine = (struct kgb_timer_machine){
		.bytes_per_s = machine->bytes_per_s,
		.flops_per_s = kgb_gpu_peak_flops_per_s(machine, b->kase->dtype),
		.l2_bytes = machine->l2_bytes,
		.launch_floor_ns = machine->launch_floor_ns,
		.event_step_ns = RULER_STEP_NS,
		.activity_step_ns = RULER_STEP_NS,
	};
	config->bytes = cost.bytes;
	config->written_bytes = cost.written_bytes;
	config->flops = cost.flops;
	config->n_ops[KGB_SIDE_A] = (uint32_t)b->baseline.n_ops;
	config->n_ops[KGB_SIDE_B] = (uint32_t)b->rcase.plan.n_ops;
	config->n_slots = b->n_slots;
	return 0;
}

static void accuse(struct measurement *m, const struct kgb_timer_result *result)
{
	static const enum kgb_code codes[KGB_N_TIMING_WHYS] = {
		[KGB_WHY_BELOW_FLOOR] = KGB_CODE_CHEAT_TIMING_BELOW_FLOOR,
		[KGB_WHY_RULER_ORDER] = KGB_CODE_CHEAT_TIMING_RULER_ORDER,
		[KGB_WHY_RULER_HOST] = KGB_CODE_CHEAT_TIMING_RULER_HOST,
		[KGB_WHY_RULER_OUTSIDE] = KGB_CODE_CHEAT_TIMING_RULER_OUTSIDE,
		[KGB_WHY_CHECKED] = KGB_CODE_CHEAT_TIMING_CHECKED,
		[KGB_WHY_REUSE] = KGB_CODE_CHEAT_TIMING_REUSE,
		[KGB_WHY_TREND] = KGB_CODE_CHEAT_TIMING_TREND,
	};

	KGB_ASSERT(codes[result->why] != KGB_CODE_NONE);
	m->refused = kgb_lane_refuse(
		m->lane, m->failure, codes[result->why],
		"Do the same work in every call: no caches, no other streams, nothing that "
		"depends on being measured.",
		"case %s: %s", m->benchmark->kase->name, result->text);
}

/* A measurement that something disturbed, but not provably the candidate, is made once more. */
static int run_timer(struct measurement *m, struct kgb_err *err)
{
	struct kgb_timer_config config;
	struct kgb_timer_result result = {.result = KGB_TIMING_UNTRUSTED};
	int rc = configure(m, &config, err);

	for (int i = 0; i < TRIES && rc == 0; i++) {
		struct kgb_timer timer;
		if (kgb_timer_init(&timer, &config, err) < 0)
			return -1;
		rc = kgb_timer_run(&timer, take_block, m, &result, err);
		bool is_final =
			i == TRIES - 1 || result.accuses || result.result != KGB_TIMING_UNTRUSTED;
		if (rc == 0 && is_final)
			kgb_verdict_add_timing(m->lane->verdict, &timer, &result, true);
		kgb_timer_release(&timer);
		if (is_final)
			break;
	}
	if (rc == 0 && result.accuses)
		accuse(m, &result);
	return rc;
}

/* Room for what the processes of both sides bring back of any benchmark. */
static int reserve_outputs(struct kgb_benchmarks *benchmarks, struct kgb_err *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < benchmarks->n; i++) {
		const struct kgb_benchmark *b = &benchmarks->items[i];
		if (b->state == KGB_BENCHMARK_READY && output_bytes(b) > bytes)
			bytes = output_bytes(b);
	}
	for (int side = 0; side < KGB_N_SIDES; side++)
		if (kgb_timing_output_reserve(&benchmarks->processes, (enum kgb_timer_side)side,
					      bytes, err) < 0)
			return -1;
	return 0;
}

/* GPU memory that a process needs for all benchmarks that are ready, but one. */
static uint64_t ahead_bytes(const struct kgb_benchmarks *benchmarks, size_t without)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < benchmarks->n; i++)
		if (i != without && benchmarks->items[i].state == KGB_BENCHMARK_READY)
			bytes += benchmarks->items[i].input_bytes;
	return bytes;
}

/* Small benchmarks need the most pairs, and cost the least memory. */
static uint32_t pairs_ahead(const struct kgb_benchmark *b, bool by_all)
{
	if (b->input_bytes <= SMALL_INPUT_BYTES)
		return KGB_TIMING_PAIRS_STARTED;
	return by_all ? KGB_TIMING_PAIRS_AHEAD : 1;
}

/* Where memory does not suffice, fewer processes rehearse further benchmarks, or none. The first
 * benchmark comes last, so that it is in force. */
int kgb_benchmarks_rehearse(struct kgb_lane *lane, struct kgb_benchmarks *benchmarks,
			    struct kgb_err *err)
{
	struct kgb_timing_processes *processes = &benchmarks->processes;
	uint64_t left = processes->pairs[0][KGB_SIDE_A].exec.machine.free_bytes / AHEAD_PART;
	size_t first = 0;

	if (reserve_outputs(benchmarks, err) < 0)
		return -1;
	while (first < benchmarks->n && benchmarks->items[first].state != KGB_BENCHMARK_READY)
		first++;
	const bool by_all = ahead_bytes(benchmarks, first) <= left / KGB_TIMING_PAIRS_AHEAD;
	for (size_t i = benchmarks->n; i-- > first;) {
		struct kgb_benchmark *b = &benchmarks->items[i];
		struct measurement m = {
			.lane = lane, .benchmark = b, .processes = processes, .is_ahead = true};
		if (b->state != KGB_BENCHMARK_READY || (i > first && b->input_bytes > left))
			continue;
		left -= i > first && !by_all ? b->input_bytes : 0;
		rehearse_pairs(&m, 0, pairs_ahead(b, i == first || by_all));
	}
	return 0;
}

/* Of the processes that hold the benchmark without having measured it, others may need the set in
 * force. */
static void drop(void *payload, int64_t begin, int64_t end)
{
	struct measurement *m = payload;

	for (int64_t i = begin; i < end; i++) {
		struct kgb_timing_process *process = kgb_timing_process_at(m->processes, i);
		struct kgb_err ignored = KGB_ERR_INIT;
		if (!process->runs || !holds(process, m->benchmark) ||
		    process->exec.set != m->benchmark->set)
			continue;
		process->holds[m->benchmark->set] = NULL;
		if (kgb_exec_client_forget(&process->exec, EXEC_MS, &ignored) >= KGB_EXEC_FAULTED)
			kgb_timing_process_stop(process);
	}
}

int kgb_benchmark_measure(struct kgb_lane *lane, struct kgb_benchmark *b,
			  struct kgb_timing_processes *processes, struct kgb_failure *failure,
			  struct kgb_err *err)
{
	KGB_AUTO(free) struct measurement *m = kgb_xcalloc(1, sizeof(*m));

	*m = (struct measurement){
		.lane = lane, .benchmark = b, .processes = processes, .failure = failure};
	KGB_MEASURE(lane, KGB_PHASE_TIMER);
	const int rc = run_timer(m, err);
	kgb_parallel_for(KGB_TIMING_PROCESSES_MAX, KGB_N_SIDES, drop, m);
	kgb_benchmark_release(b);
	return m->refused ? 1 : rc;
}
