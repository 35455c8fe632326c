/* SPDX-License-Identifier: MIT */
/** \file
 * Stage timing on a GPU: the candidate's plan and the baseline's run in two separate processes, in
 * blocks that the timer's controller orders, on rotating inputs. The result of the last call of
 * every block of the candidate is checked. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/memfd.h"
#include "base/time.h"
#include "verify/cost/cost.h"
#include "verify/lane/candidate_check.h"
#include "verify/replay/replay.h"
#include "verify/stages/stages.h"
#include "verify/timer/timer.h"

enum {
	EXEC_MS = 60 * 1000,
	SLOTS_MAX = KGB_TIMER_INPUTS_MAX,
	SLOTS_MIN = 8, /* with fewer the timer cannot detect that results are reused */
	SLOTS_FEW = 4, /* suffice if the results of so many slots exceed ON_CHIP_BYTES */
	CHECKED_SLOTS = 2,
	TRIES = 2,
	STARTS = 6,
	FIRST_VARIANT = 100,
	FIRST_REPETITION = 60,
};
#define INPUT_BYTES_WANTED ((size_t)256 << 20) /* of all slots, if their number allows it */
/* Before a timed call all memory is filled with random bytes. The other storage of a chip (caches,
 * registers, shared memory) has fewer bytes than this in all. */
#define ON_CHIP_BYTES ((size_t)128 << 20)
#define RULER_STEP_NS 32 /* resolution of events and of CUPTI's activity, measured on an H200 */

struct player {
	struct kgb_exec_client exec;
	bool begun; /* its start has begun and is not finished */
	bool runs;
	int output_fd;
	char *output;
	size_t output_bytes;
};

/* Timing of one case. */
struct session {
	struct kgb_lane *lane;
	const struct kgb_case *kase;
	struct player sides[KGB_N_SIDES];
	uint32_t process; /* number of the current processes of both sides */
	struct kgb_case_data data; /* of the captured call, with its right results */
	struct kgb_replay_case rcase;
	struct kgb_replay_plan baseline;
	struct kgb_exec_range ranges[KGB_MAX_RESULTS];
	uint32_t n_ranges;
	char *input;
	int input_fd;
	size_t input_bytes, arena_bytes;
	uint32_t n_slots;
	void *right[SLOTS_MAX][KGB_MAX_RESULTS]; /* owned; results on each slot */
	struct kgb_case_data truths[SLOTS_MAX]; /* of the slots with `has_truth` */
	bool has_truth[SLOTS_MAX];
	bool in_arena; /* a parameter holds a result */
	bool refused; /* failure holds why */
	bool skipped; /* the case cannot be replayed, as the spec permits */
	struct kgb_failure failure;
};

static void stop_side(struct session *s, enum kgb_timer_side side)
{
	struct player *player = &s->sides[side];

	if (player->begun || player->runs)
		kgb_exec_client_stop(&player->exec);
	player->begun = player->runs = false;
}

static void release(struct session *s)
{
	for (int side = 0; side < KGB_N_SIDES; side++) {
		struct player *player = &s->sides[side];
		stop_side(s, (enum kgb_timer_side)side);
		if (player->output)
			munmap(player->output, player->output_bytes);
		kgb_close(player->output_fd);
	}
	if (s->input)
		munmap(s->input, s->input_bytes);
	kgb_close(s->input_fd);
	for (size_t slot = 0; slot < SLOTS_MAX; slot++) {
		for (size_t i = 0; i < KGB_MAX_RESULTS; i++)
			kgb_free(s->right[slot][i]);
		if (s->has_truth[slot])
			kgb_case_data_release(&s->truths[slot]);
	}
	kgb_replay_plan_release(&s->baseline);
	kgb_replay_case_release(&s->rcase);
	kgb_case_data_release(&s->data);
}

/* ---- inputs ---- */

/* Check that torch's copies do not compute the results of benchmarks, even if they do not in other
 * cases. 0, 1 *failure, -1 *err. */
static int find_computer(struct session *s, const struct kgb_case_data *data, struct kgb_err *err)
{
	int rc = kgb_replay_find_computer(s->lane, &s->rcase, data, &s->failure, err);

	if (rc != 0 || !s->lane->needless.code)
		return rc;
	s->failure = s->lane->needless;
	return 1;
}

/* Fill slot number `slot`, replay the candidate on it untimed, and keep its results. Those of the
 * first CHECKED_SLOTS slots are compared with the reference; that suffices, because the candidate's
 * work cannot depend on the number of a slot. */
static int prepare_slot(struct session *s, uint32_t slot, struct kgb_err *err)
{
	struct kgb_lane *lane = s->lane;
	struct kgb_case_data data;
	struct kgb_candidate_call call = {0};
	int rc = 0;

	kgb_lane_fill(lane, &data, s->kase, FIRST_VARIANT + slot);
	kgb_case_data_shape(&data, &s->data);
	if (slot < CHECKED_SLOTS)
		rc = kgb_lane_fetch_truth(lane, &data, err);
	KGB_MEASURE(lane, KGB_PHASE_SLOTS);
	if (rc == 0)
		rc = kgb_replay_run(lane, &s->rcase, &data, FIRST_REPETITION + (int)slot,
				    KGB_REPLAY_SKIP_NOTHING, &call, &s->failure, err);
	if (rc == 0)
		memcpy(s->input + (size_t)slot * s->arena_bytes, lane->image.ptr, s->arena_bytes);
	if (rc == 0 && !kgb_candidate_call_check(lane, &data, &call, &s->failure))
		rc = 1;
	if (rc == 0 && slot < CHECKED_SLOTS &&
	    !kgb_candidate_call_check_values(lane, &data, &call, &s->failure))
		rc = 1;
	if (rc == 0 && slot == 0)
		rc = find_computer(s, &data, err);
	for (size_t i = 0; i < data.n_results && rc == 0; i++) {
		s->right[slot][i] = call.values[i];
		call.values[i] = NULL;
	}
	s->refused |= rc == 1;
	kgb_candidate_call_release(&call);
	kgb_case_data_release(&data);
	return rc == 0 ? 0 : -1;
}

static size_t result_bytes(const struct session *s)
{
	size_t bytes = 0;

	for (size_t i = 0; i < s->data.n_results; i++)
		bytes += kgb_tensor_view_bytes(&s->data.results[i].view);
	return bytes;
}

static const struct kgb_timer_level *level_of(const struct session *s)
{
	return &kgb_timer_levels[s->lane->judge->options->request.timing_precision];
}

static uint32_t count_slots(const struct session *s)
{
	const size_t wanted = INPUT_BYTES_WANTED / (s->arena_bytes + 1);
	const size_t least = result_bytes(s) > ON_CHIP_BYTES / SLOTS_FEW ? SLOTS_FEW : SLOTS_MIN;
	const size_t most = level_of(s)->max_slots;

	return (uint32_t)(wanted > most ? most : wanted < least ? least : wanted);
}

static int prepare_inputs(struct session *s, struct kgb_err *err)
{
	s->arena_bytes = s->rcase.call.arena_bytes;
	s->n_slots = count_slots(s);
	s->input_bytes = s->arena_bytes * s->n_slots;
	if (kgb_memfd_mapped("kgb-timing-input", s->input_bytes, true, &s->input, &s->input_fd,
			     err) < 0)
		return -1;
	for (uint32_t slot = 0; slot < s->n_slots; slot++)
		if (prepare_slot(s, slot, err) < 0)
			return -1;
	return 0;
}

/* ---- processes ---- */

static int fail_exec(struct session *s, enum kgb_timer_side side, enum kgb_exec_outcome outcome,
		     struct kgb_err *err)
{
	if (outcome >= KGB_EXEC_FAULTED)
		stop_side(s, side);
	if (side == KGB_SIDE_A)
		return kgb_ctx(err, "baseline of case '%s'", s->kase->name);
	s->refused = kgb_replay_explain(s->lane, outcome, &s->failure, err) == 1;
	return -1;
}

static struct kgb_exec_spec exec_spec(const struct session *s)
{
	return (struct kgb_exec_spec){.device = (uint32_t)s->lane->judge->options->device,
				      .cupti = s->lane->judge->options->request.cupti};
}

/* Making a context takes longer than timing most kernels, so the process makes it while the inputs
 * are made. */
static int begin_side(struct session *s, enum kgb_timer_side side, struct kgb_err *err)
{
	struct player *player = &s->sides[side];
	const struct kgb_exec_spec spec = exec_spec(s);

	player->exec = (struct kgb_exec_client)KGB_EXEC_CLIENT_INIT;
	player->begun = kgb_exec_client_begin(&player->exec, &spec, err) == KGB_EXEC_DONE;
	return player->begun ? 0 : -1;
}

/* Begin both new processes at once: the driver makes their contexts one after the other, and that
 * of side A is needed first. */
static int change_processes(struct session *s, uint32_t number, struct kgb_err *err)
{
	KGB_MEASURE(s->lane, KGB_PHASE_TIMER_STARTS);

	s->process = number;
	for (int side = 0; side < KGB_N_SIDES; side++) {
		stop_side(s, (enum kgb_timer_side)side);
		if (begin_side(s, (enum kgb_timer_side)side, err) < 0)
			return -1;
	}
	return 0;
}

static int open_output(struct session *s, struct player *player, struct kgb_err *err)
{
	size_t bytes =
		s->arena_bytes + 4096 + KGB_EXEC_SAMPLES_MAX * sizeof(struct kgb_exec_sample);

	for (size_t i = 0; i < s->n_ranges; i++)
		bytes += s->ranges[i].bytes + 64;
	player->output_bytes = bytes;
	return kgb_memfd_mapped("kgb-timing-output", bytes, false, &player->output,
				&player->output_fd, err);
}

static int open_process(struct session *s, enum kgb_timer_side side, struct kgb_err *err)
{
	struct player *player = &s->sides[side];
	const struct kgb_exec_spec spec = exec_spec(s);

	if (!player->output && open_output(s, player, err) < 0)
		return -1;
	if (!player->begun && begin_side(s, side, err) < 0)
		return -1;
	player->runs = kgb_exec_client_finish(&player->exec, &spec, EXEC_MS, err) == KGB_EXEC_DONE;
	player->begun = false;
	return player->runs ? 0 : -1;
}

static enum kgb_exec_outcome load_plans(struct session *s, enum kgb_timer_side side,
					struct kgb_err *err)
{
	struct player *player = &s->sides[side];
	const struct kgb_replay_plan *plan = side == KGB_SIDE_A ? &s->baseline : &s->rcase.plan;
	const struct kgb_exec_arena_spec spec = {.input_fd = s->input_fd,
						 .output_fd = player->output_fd,
						 .arena_bytes = s->arena_bytes,
						 .output_bytes = player->output_bytes,
						 .n_slots = s->n_slots};
	enum kgb_exec_outcome outcome = kgb_exec_client_arena(&player->exec, &spec, EXEC_MS, err);

	if (outcome == KGB_EXEC_DONE)
		outcome = kgb_exec_client_plan(&player->exec, 0, plan->record.ptr, plan->record.len,
					       EXEC_MS, err);
	if (outcome == KGB_EXEC_DONE && side == KGB_SIDE_B && s->rcase.has_prologue)
		outcome = kgb_exec_client_plan(&player->exec, 1, s->rcase.prologue.record.ptr,
					       s->rcase.prologue.record.len, EXEC_MS, err);
	return outcome;
}

/* Start the process of a side. Memory that a library of the baseline allocated may lie at addresses
 * that a new process uses otherwise; then another process is started, up to STARTS times. A
 * candidate calls no library. */
static int start_side(struct session *s, enum kgb_timer_side side, struct kgb_err *err)
{
	KGB_MEASURE(s->lane, KGB_PHASE_TIMER_STARTS);

	for (int i = 1;; i++) {
		if (open_process(s, side, err) < 0)
			return -1;
		enum kgb_exec_outcome outcome = load_plans(s, side, err);
		if (outcome == KGB_EXEC_DONE)
			return 0;
		if (outcome != KGB_EXEC_UNREPLAYABLE || side != KGB_SIDE_A || i == STARTS)
			return fail_exec(s, side, outcome, err);
		stop_side(s, side);
	}
}

/* ---- samples ---- */

/* The results of the last call of a block, in our memory. */
static void take_results(struct session *s, const struct kgb_exec_layout *layout,
			 struct kgb_candidate_call *out)
{
	const char *output = s->sides[KGB_SIDE_B].output;

	*out = s->rcase.call;
	memset(out->values, 0, sizeof(out->values));
	if (s->in_arena)
		kgb_replay_take(s->lane, &s->rcase, &s->data, output, layout, out);
	else
		kgb_replay_take_fresh(&s->rcase, &s->data, output, layout, out);
}

static int check_with_reference(struct session *s, uint32_t slot,
				const struct kgb_exec_layout *layout, struct kgb_err *err)
{
	struct kgb_case_data *truth = &s->truths[slot];
	struct kgb_candidate_call call;

	if (!s->has_truth[slot]) {
		kgb_lane_fill(s->lane, truth, s->kase, FIRST_VARIANT + slot);
		s->has_truth[slot] = true;
		if (kgb_lane_fetch_truth(s->lane, truth, err) < 0)
			return -1;
	}
	take_results(s, layout, &call);
	s->refused = !kgb_candidate_call_check_values(s->lane, truth, &call, &s->failure);
	kgb_candidate_call_release(&call);
	return s->refused ? kgb_fail(err, KGB_ERR_FAILED, "wrong result of a timed call") : 0;
}

/* Whether the results equal those of the same untimed call, bit by bit. They are compared where the
 * process left them: benchmarks are large. */
static bool is_right(const struct session *s, uint32_t slot, const struct kgb_exec_layout *layout)
{
	const char *output = s->sides[KGB_SIDE_B].output;
	bool same = true;

	for (size_t i = 0; i < s->data.n_results && same; i++) {
		struct kgb_tensor_view view;
		const char *at = kgb_replay_result(&s->rcase, &s->data, i, output, layout, &view);
		const void *right = s->right[slot][i];
		same = !at == !right && (!at || kgb_tensor_view_equal(&view, at, right));
	}
	return same;
}

static int check_last(struct session *s, const struct kgb_timer_block *block,
		      const struct kgb_exec_layout *layout, struct kgb_err *err)
{
	struct kgb_lane *lane = s->lane;
	const uint32_t slot = kgb_timer_last_slot(block);
	KGB_MEASURE(lane, KGB_PHASE_TIMER_CHECKS);

	if (is_right(s, slot, layout))
		return 0;
	/* Sums by atomics differ from run to run: then the reference decides. */
	if (!lane->verdict->deterministic)
		return check_with_reference(s, slot, layout, err);
	s->refused = kgb_lane_refuse(
		lane, &s->failure, KGB_CODE_CHEAT_TIMING_OTHER_RESULT,
		"Compute the result from the arguments alone, in every call.",
		"case %s: a timed call gave another result than the same call untimed",
		s->kase->name);
	return kgb_fail(err, KGB_ERR_FAILED, "wrong result of a timed call");
}

static int take_block(void *payload, const struct kgb_timer_block *block,
		      struct kgb_exec_sample *samples, uint64_t *outside_ns, struct kgb_err *err)
{
	struct session *s = payload;
	struct player *player = &s->sides[block->side];
	bool is_candidate = block->side == KGB_SIDE_B;
	struct kgb_exec_layout layout;
	struct kgb_exec_request request = {
		.prologue = is_candidate && s->rcase.has_prologue ? 1 : KGB_EXEC_NO_PLAN,
		.skip = -1,
		.slot = block->slot,
		.n_slots = block->n_slots,
		.n_samples = block->n,
		.placement = block->placement,
		.flags = (block->with_activity ? KGB_EXEC_WITH_ACTIVITY : 0) |
			 (is_candidate && s->in_arena ? 0 : KGB_EXEC_WITHOUT_ARENA),
		.n_ranges = is_candidate ? s->n_ranges : 0,
	};

	if (block->process != s->process && change_processes(s, block->process, err) < 0)
		return -1;
	/* The baseline is also timed before the candidate runs and after it has gone. */
	if (block->phase == KGB_PHASE_SOLO_AFTER)
		stop_side(s, KGB_SIDE_B);
	if (!player->runs && start_side(s, block->side, err) < 0)
		return -1;
	memcpy(request.ranges, s->ranges, request.n_ranges * sizeof(request.ranges[0]));
	request.flush_bytes = 2 * player->exec.l2_bytes;
	kgb_sleep_ns((uint64_t)block->pause_ms * 1000000);
	kgb_random(&request.poison, sizeof(request.poison));
	int64_t started_ns = kgb_mono_ns();
	enum kgb_exec_outcome outcome =
		kgb_exec_client_time(&player->exec, &request, &layout, EXEC_MS, err);
	*outside_ns = (uint64_t)(kgb_mono_ns() - started_ns);
	s->lane->verdict->phase_ns[KGB_PHASE_TIMER_BLOCKS] += (int64_t)*outside_ns;
	if (outcome != KGB_EXEC_DONE)
		return fail_exec(s, block->side, outcome, err);
	memcpy(samples, player->output + layout.samples, block->n * sizeof(*samples));
	return is_candidate ? check_last(s, block, &layout, err) : 0;
}

/* ---- one case ---- */

static int configure(struct session *s, struct kgb_timer_config *config, struct kgb_err *err)
{
	struct kgb_tensor_view views[KGB_MAX_RESULTS];
	const struct kgb_gpu_peak *machine = &s->lane->verdict->machine;
	struct kgb_cost cost;

	kgb_case_data_views(&s->data, views);
	if (kgb_case_cost(&s->lane->judge->spec, s->kase, views, s->data.n_results, &cost, err) < 0)
		return -1;
	*config = (struct kgb_timer_config)KGB_TIMER_CONFIG_INIT;
	config->level = *level_of(s);
	config->case_name = s->kase->name;
	config->seed = s->lane->verdict->seed;
	config->machine = (struct kgb_timer_machine){
		.bytes_per_s = machine->bytes_per_s,
		.flops_per_s = kgb_gpu_peak_flops_per_s(machine, s->kase->dtype),
		.l2_bytes = machine->l2_bytes,
		.launch_floor_ns = machine->launch_floor_ns,
		.event_step_ns = RULER_STEP_NS,
		.activity_step_ns = RULER_STEP_NS,
	};
	config->bytes = cost.bytes;
	config->written_bytes = cost.written_bytes;
	config->flops = cost.flops;
	config->n_ops[KGB_SIDE_A] = (uint32_t)s->baseline.n_ops;
	config->n_ops[KGB_SIDE_B] = (uint32_t)s->rcase.plan.n_ops;
	config->n_slots = s->n_slots;
	return 0;
}

static void accuse(struct session *s, const struct kgb_timer_result *result)
{
	static const enum kgb_code codes[KGB_N_TIMING_WHYS] = {
		[KGB_WHY_BELOW_FLOOR] = KGB_CODE_CHEAT_TIMING_BELOW_FLOOR,
		[KGB_WHY_RULER_ORDER] = KGB_CODE_CHEAT_TIMING_RULER_ORDER,
		[KGB_WHY_RULER_ACTIVITY] = KGB_CODE_CHEAT_TIMING_RULER_ACTIVITY,
		[KGB_WHY_RULER_HOST] = KGB_CODE_CHEAT_TIMING_RULER_HOST,
		[KGB_WHY_RULER_OUTSIDE] = KGB_CODE_CHEAT_TIMING_RULER_OUTSIDE,
		[KGB_WHY_CHECKED] = KGB_CODE_CHEAT_TIMING_CHECKED,
		[KGB_WHY_REUSE] = KGB_CODE_CHEAT_TIMING_REUSE,
		[KGB_WHY_TREND] = KGB_CODE_CHEAT_TIMING_TREND,
	};

	KGB_ASSERT(codes[result->why] != KGB_CODE_NONE);
	s->refused = kgb_lane_refuse(
		s->lane, &s->failure, codes[result->why],
		"Do the same work in every call: no caches, no other streams, nothing that "
		"depends on being measured.",
		"case %s: %s", s->kase->name, result->text);
}

/* A measurement that something disturbed, but not provably the candidate, is made once more. */
static int measure(struct session *s, struct kgb_err *err)
{
	struct kgb_timer_config config;
	struct kgb_timer_result result = {.result = KGB_TIMING_UNTRUSTED};
	KGB_MEASURE(s->lane, KGB_PHASE_TIMER);
	int rc = configure(s, &config, err);

	for (int i = 0; i < TRIES && rc == 0; i++) {
		struct kgb_timer timer;
		s->process = 0;
		if (kgb_timer_init(&timer, &config, err) < 0)
			return -1;
		rc = kgb_timer_run(&timer, take_block, s, &result, err);
		bool is_final =
			i == TRIES - 1 || result.accuses || result.result != KGB_TIMING_UNTRUSTED;
		if (rc == 0 && is_final)
			kgb_verdict_add_timing(s->lane->verdict, &timer, &result, true);
		kgb_timer_release(&timer);
		stop_side(s, KGB_SIDE_B);
		if (is_final)
			break;
	}
	if (rc == 0 && result.accuses)
		accuse(s, &result);
	return rc;
}

static int capture(struct session *s, struct kgb_err *err)
{
	struct kgb_lane *lane = s->lane;

	kgb_lane_fill(lane, &s->data, s->kase, 0);
	if (kgb_lane_fetch_truth(lane, &s->data, err) < 0)
		return -1;
	int rc = kgb_lane_load(lane, s->kase, &s->failure, err);
	if (rc == 0)
		rc = kgb_replay_capture(lane, &s->data, &s->rcase, &s->failure, err);
	s->skipped = rc == 1 && kgb_replay_stays_in_sandbox(lane, &s->rcase);
	s->refused = rc == 1 && !s->skipped;
	if (rc != 0)
		return -1;
	s->n_ranges = kgb_replay_ranges(&s->rcase, &s->data, s->ranges);
	for (size_t i = 0; i < s->data.n_results; i++)
		s->in_arena |= kgb_candidate_call_holder(s->kase, i) != SIZE_MAX;
	return kgb_replay_capture_baseline(lane, &s->data, &s->baseline, err);
}

int kgb_time_on_gpu(struct kgb_lane *lane, const struct kgb_case *c, struct kgb_err *err)
{
	struct session *s = kgb_xcalloc(1, sizeof(*s));

	*s = (struct session){.lane = lane, .kase = c, .input_fd = -1};
	for (int side = 0; side < KGB_N_SIDES; side++)
		s->sides[side] = (struct player){.exec = KGB_EXEC_CLIENT_INIT, .output_fd = -1};
	int rc = 0;
	for (int side = 0; side < KGB_N_SIDES && rc == 0; side++)
		rc = begin_side(s, (enum kgb_timer_side)side, err);
	if (rc == 0)
		rc = capture(s, err);
	if (rc == 0)
		rc = prepare_inputs(s, err);
	if (rc == 0)
		rc = measure(s, err);
	if (s->refused)
		kgb_verdict_decide(lane->verdict, KGB_STAGE_TIMING, &s->failure);
	rc = s->refused ? 1 : s->skipped ? 0 : rc;
	release(s);
	kgb_free(s);
	return rc;
}
