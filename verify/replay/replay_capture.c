/* SPDX-License-Identifier: MIT */
/** \file
 * The second step of judging by replay: classify the recorded calls of a case, and make a plan of
 * the last one. Also makes the plan of a baseline.
 */
#include "base/limits.h"
#include "base/time.h"
#include "verify/ablation/dependence.h"
#include "verify/lane/case_judge.h"
#include "verify/provenance/provenance.h"
#include "verify/replay/replay.h"

enum {
	PLAN_MS = 20 * 1000,
	GPU_ONE_IN = 16, /* of the cases that the machine can replay, on a GPU */
	EXECUTOR_STREAM = 3001,
};

void kgb_replay_case_release(struct kgb_replay_case *rcase)
{
	kgb_candidate_call_release(&rcase->call);
	kgb_replay_plan_release(&rcase->plan);
	kgb_replay_plan_release(&rcase->prologue);
}

/* ---- classes ---- */

static size_t places_of(const struct kgb_case_data *data, const struct kgb_candidate_call *call,
			struct kgb_arena_place *out)
{
	const struct kgb_case *c = data->kase;
	size_t n = 0;

	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_tensor_view *view = &call->views[i];
		if (c->args[i].param->kind == KGB_PARAM_VALUE || c->args[i].is_repeated ||
		    view->storage_elements == 0)
			continue;
		out[n++] = (struct kgb_arena_place){
			.name = c->args[i].param->name,
			.address = call->addresses[i],
			.bytes = (size_t)view->storage_elements * kgb_dtype_size(view->dtype),
		};
	}
	return n;
}

/* The reason of the classification, and what is known about an image without a proof. */
static const char *reason_of(struct kgb_lane *lane, const struct kgb_classification *classification,
			     const struct kgb_record *record)
{
	const char *about = NULL;

	if (classification->replay == KGB_REPLAY_LIBRARY ||
	    classification->replay == KGB_REPLAY_UNDECIDED)
		about = kgb_provenance_reason(record, classification->replay == KGB_REPLAY_LIBRARY
							      ? KGB_PROOF_NONE
							      : KGB_PROOF_UNDECIDED);
	return kgb_lane_text(lane, "%s%s%s", classification->reason.msg, about ? "; " : "",
			     about ? about : "");
}

/* 0 when a plan may be made. */
static int judge_class(struct kgb_lane *lane, const struct kgb_classification *classification,
		       const struct kgb_record *record, struct kgb_failure *failure)
{
	const char *reason = reason_of(lane, classification, record);

	switch (classification->replay) {
	case KGB_REPLAY_REPLAYABLE:
		return 0;
	case KGB_REPLAY_LIBRARY:
		return kgb_refuse(
			failure, KGB_CODE_CHEAT_LIBRARY_COMPUTE, reason,
			"Compute in @triton.jit functions. Allocation, fills, views, copies and dtype "
			"conversion may be done with torch, nothing else.");
	/* Nothing was proved, so the case does not pass; the candidate did not cause that. */
	case KGB_REPLAY_UNDECIDED:
		return kgb_refuse(
			failure, KGB_CODE_INFRA_RECOMPILE, reason,
			"Check it again; fewer variants of a kernel take less time to compile.");
	case KGB_REPLAY_HOST:
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_HOST_DEPENDENT, reason,
			"Do not read tensors on the host (item, cpu, tolist, print), and keep nothing "
			"of a call for the next: what is launched may depend on shapes, strides and "
			"dtypes only.");
	case KGB_REPLAY_RANDOM:
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_VARYING_PARAMETERS, reason,
			"Two calls with arguments of the same shapes must launch the same work.");
	case KGB_REPLAY_UNSUPPORTED:
		break;
	}
	return kgb_refuse(
		failure, KGB_CODE_VERIFY_NOT_REPLAYABLE, reason,
		"Use plain launches, fills and copies on one device: what cannot be repeated cannot be "
		"judged.");
}

/* ---- results that are returned fresh ---- */

/* The memory of a result's elements on the device. False: it does not lie in the pool. */
static bool range_of(const struct kgb_wire_output *output, size_t item, struct kgb_exec_range *out)
{
	const int64_t reach = kgb_wire_reach(output);

	if (reach == 0 || (uint64_t)reach > KGB_LIMIT_TENSOR_BYTES / item ||
	    output->address % item != 0)
		return false;
	*out = (struct kgb_exec_range){.address = output->address, .bytes = (uint64_t)reach * item};
	return output->address >= KGB_POOL_ADDRESS &&
	       output->address - KGB_POOL_ADDRESS <= KGB_POOL_BYTES - out->bytes;
}

static int find_ranges(struct kgb_lane *lane, const struct kgb_case_data *data,
		       const struct kgb_window *window, struct kgb_replay_case *rcase,
		       struct kgb_failure *failure)
{
	for (size_t i = 0; i < data->n_results; i++) {
		const struct kgb_tensor_view *view = &data->results[i].view;
		if (kgb_candidate_call_holder(data->kase, i) != SIZE_MAX ||
		    kgb_tensor_view_numel(view) == 0)
			continue;
		if (i >= rcase->call.reply.n_outputs ||
		    !range_of(&rcase->call.reply.outputs[i], kgb_dtype_size(view->dtype),
			      &rcase->ranges[i]))
			return kgb_refuse(
				failure, KGB_CODE_VERIFY_LAYOUT,
				kgb_lane_text(
					lane,
					"result %zu lies in memory that torch did not allocate", i),
				"Allocate results with torch.empty or torch.empty_like.");
		if (!kgb_window_allocated(window, rcase->ranges[i].address, rcase->ranges[i].bytes))
			return kgb_refuse(
				failure, KGB_CODE_VERIFY_ALIAS,
				kgb_lane_text(
					lane,
					"result %zu lies in memory that was allocated before the call",
					i),
				"Allocate a new tensor for every call; a buffer kept between calls changes "
				"results that the caller still holds.");
	}
	return 0;
}

/* ---- one case ---- */

static enum kgb_exec_outcome send_plans(struct kgb_exec_client *exec,
					const struct kgb_replay_case *rcase, struct kgb_err *err)
{
	const struct kgb_replay_plan *plan = &rcase->plan;
	enum kgb_exec_outcome outcome = kgb_exec_client_forget(exec, PLAN_MS, err);

	if (outcome == KGB_EXEC_DONE)
		outcome = kgb_exec_client_plan(exec, 0, plan->record.ptr, plan->record.len, PLAN_MS,
					       err);
	if (outcome == KGB_EXEC_DONE && rcase->has_prologue)
		outcome = kgb_exec_client_plan(exec, 1, rcase->prologue.record.ptr,
					       rcase->prologue.record.len, PLAN_MS, err);
	return outcome;
}

int kgb_replay_reload(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		      struct kgb_failure *failure, struct kgb_err *err)
{
	if (kgb_replay_start_exec(lane, err) < 0)
		return -1;
	enum kgb_exec_outcome outcome = send_plans(&lane->replay->uses->exec, rcase, err);
	return outcome == KGB_EXEC_DONE ? 0 : kgb_replay_explain(lane, outcome, failure, err);
}

static int load_plans(struct kgb_lane *lane, const struct kgb_recorded *recorded,
		      const struct kgb_owners *owners, struct kgb_replay_case *out,
		      struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_recorded_call *captures = recorded->captures;
	const struct kgb_classification *classification = &recorded->classification;
	struct kgb_err why = KGB_ERR_INIT;

	KGB_MEASURE(lane, KGB_PHASE_PLAN);
	if (kgb_replay_plan_make(&captures[KGB_REPLAY_CALLS - 1], owners, &out->plan, &why) < 0)
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_NOT_REPLAYABLE, kgb_lane_text(lane, "%s", why.msg),
			"Use plain launches, fills and copies on one device, on memory that "
			"torch allocates in the call.");
	/* A candidate may rely on memory that its first call wrote (a zeroed counter, a table). */
	out->has_prologue = classification->older_memory && classification->prologue_ok &&
			    kgb_replay_plan_make(&captures[0], owners, &out->prologue, &why) == 0;
	return kgb_replay_reload(lane, out, failure, err);
}

static void count_launches(struct kgb_lane *lane, const struct kgb_replay_plan *plan)
{
	for (size_t i = 0; i < plan->n_ops; i++)
		if (kgb_replay_plan_is_candidate(plan, i))
			kgb_verdict_count_launches(lane->verdict, plan->ops[i].kernel, 1);
}

/* 0, 1 *failure, -1 *err. */
static int prove(struct kgb_lane *lane, const struct kgb_record *record,
		 struct kgb_failure *failure, struct kgb_err *err)
{
	KGB_MEASURE(lane, KGB_PHASE_PROVE);
	if (kgb_provenance_prove(lane->replay->provenance, record, err) < 0)
		return -1;
	/* The judge's own runner raises Triton's exception for such a kernel, so code of the
	 * candidate has launched it. */
	const struct kgb_image_proof *unfit = kgb_provenance_unfit(record);
	if (!unfit)
		return 0;
	return kgb_refuse(failure, KGB_CODE_VERIFY_DEVICE_EXCEPTION,
			  kgb_lane_text(lane, "no GPU can run %s: %s", unfit->name, unfit->no_gpu),
			  "Take smaller tiles, or fewer stages (num_stages).");
}

/* ---- the replayer of a case ---- */

static void take_form(struct kgb_recorded *recorded, enum kgb_window_form form)
{
	for (int i = 0; i < KGB_REPLAY_CALLS; i++) {
		recorded->windows[i] = kgb_window_in_form(
			&recorded->record.arena,
			kgb_record_window(&recorded->record, (uint32_t)i + 1), form);
		recorded->captures[i].window = &recorded->windows[i];
	}
}

/* Whether the machine can execute all launches of a window in its form, and the GPU's form has only
 * the candidate's kernels and torch's fills and copies. */
static bool fits_machine(const struct kgb_lane *lane, const struct kgb_recorded *recorded, int call)
{
	const struct kgb_window *whole = kgb_record_window(&recorded->record, (uint32_t)call + 1);
	const struct kgb_window *window = recorded->captures[call].window;

	for (size_t i = 0; i < whole->n_ops; i++) {
		const struct kgb_launch *launch = &whole->ops[i].launch;
		if (whole->ops[i].kind != KGB_OP_LAUNCH)
			continue;
		const enum kgb_owner owner =
			kgb_provenance_owner(kgb_record_image(&recorded->record, launch->image),
					     launch->kernel, lane->replay->provenance);
		if (owner != KGB_OWNER_TRITON && owner != KGB_OWNER_TORCH_MOVE)
			return false;
	}
	for (size_t i = 0; i < window->n_ops; i++) {
		if (window->ops[i].kind != KGB_OP_LAUNCH)
			continue;
		const struct kgb_image_proof *proof =
			kgb_record_image(&recorded->record, window->ops[i].launch.image)->proof;
		if (proof->kind != KGB_PROOF_MOVES && !proof->is_text)
			return false;
	}
	return true;
}

/* Whether the GPU replays a case that the machine can replay: the first of each interface, and
 * those that the seed draws. */
static bool is_for_gpu(const struct kgb_lane *lane, const struct kgb_case *c)
{
	const struct kgb_cases *cases = &lane->judge->cases;
	const struct kgb_case *first = cases->items;
	struct kgb_rng rng;

	while (first < c && first->interface != c->interface)
		first++;
	kgb_rng_init(&rng, &lane->verdict->seed, c->name, EXECUTOR_STREAM);
	return first == c || kgb_rng_int(&rng, 0, GPU_ONE_IN - 1) == 0;
}

int kgb_replay_leave_machine(struct kgb_lane *lane, struct kgb_recorded *recorded,
			     struct kgb_failure *failure)
{
	static const int calls[] = {0, KGB_REPLAY_CALLS - 1}; /* a prologue, and the call */
	char why[KGB_RECOMPILE_WHY];

	KGB_MEASURE(lane, KGB_PHASE_CODE);
	take_form(recorded, KGB_FORM_GPU);
	lane->replay->uses = lane->replay->replayer;
	for (size_t i = 0; i < KGB_ARRAY_LEN(calls); i++)
		switch (kgb_provenance_make_code(lane->replay->provenance, &recorded->record,
						 recorded->captures[calls[i]].window, why)) {
		case KGB_RECOMPILE_DONE:
			break;
		case KGB_RECOMPILE_NO_CODE:
		case KGB_RECOMPILE_CRASHED:
			return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_EXCEPTION,
					       "Rewrite the kernel: Triton does not compile it for "
					       "this GPU with these arguments.",
					       "Triton makes no code of a kernel: %s", why);
		case KGB_RECOMPILE_UNDECIDED:
			return kgb_lane_refuse(
				lane, failure, KGB_CODE_INFRA_RECOMPILE,
				"Check it again; fewer variants of a kernel take less time to compile.",
				"the judge could not compile a kernel: %s", why);
		}
	return 0;
}

static int choose_replayer(struct kgb_lane *lane, struct kgb_recorded *recorded,
			   struct kgb_failure *failure)
{
	struct kgb_replay *replay = lane->replay;

	replay->uses = replay->replayer;
	if (!lane->gpu)
		return 0;
	take_form(recorded, KGB_FORM_MACHINE);
	if (!fits_machine(lane, recorded, 0) ||
	    !fits_machine(lane, recorded, KGB_REPLAY_CALLS - 1) ||
	    is_for_gpu(lane, recorded->data[0].kase))
		return kgb_replay_leave_machine(lane, recorded, failure);
	replay->uses = kgb_replay_machine(replay);
	return 0;
}

/* Code of the GPU replaces IR in the GPU's plans. */
static struct kgb_owners owners_of(const struct kgb_lane *lane)
{
	const struct kgb_replay *replay = lane->replay;

	return (struct kgb_owners){
		.find = kgb_provenance_owner,
		.code = replay->uses == replay->machine ? NULL : kgb_provenance_code,
		.payload = replay->provenance,
	};
}

/* ---- proof and plan ---- */

static int find_windows(struct kgb_lane *lane, struct kgb_recorded *recorded,
			struct kgb_failure *failure)
{
	for (int i = 0; i < KGB_REPLAY_CALLS; i++) {
		recorded->captures[i] = (struct kgb_recorded_call){
			.record = &recorded->record,
			.window = kgb_record_window(&recorded->record, (uint32_t)i + 1),
			.places = recorded->places[i],
			.n_places = places_of(&recorded->data[i == 1], &recorded->calls[i],
					      recorded->places[i]),
			.arena_bytes = recorded->arena_bytes,
		};
		if (!recorded->captures[i].window)
			return kgb_refuse(
				failure, KGB_CODE_VERIFY_RECORD,
				kgb_lane_text(lane, "the record of call %d is missing", i + 1),
				"Leave the process's own records alone.");
	}
	return 0;
}

/* Note in *rcase if a kernel must compute the result, and none ran. Replays show whether the result
 * is right: in one call it may be so by chance. */
static int note_idle_call(struct kgb_lane *lane, const struct kgb_recorded *recorded,
			  struct kgb_replay_case *rcase, struct kgb_err *err)
{
	const struct kgb_case_data *data = &recorded->data[0];
	const char *idle = recorded->classification.idle.msg;
	bool depends;

	if (idle[0] == '\0' || !kgb_case_needs_launch(lane->judge, data))
		return 0;
	if (kgb_case_depends_on_inputs(lane, data, &depends, err) < 0)
		return -1;
	if (depends)
		rcase->lacks_launch = kgb_lane_text(lane, "%s", idle);
	return 0;
}

int kgb_replay_refuse_without_launch(const struct kgb_replay_case *rcase,
				     struct kgb_failure *failure)
{
	if (!rcase->lacks_launch)
		return 0;
	return kgb_refuse(failure, KGB_CODE_CHEAT_NO_LAUNCH, rcase->lacks_launch,
			  "Launch a @triton.jit kernel for every result that has elements.");
}

int kgb_replay_prove(struct kgb_lane *lane, struct kgb_recorded *recorded,
		     struct kgb_replay_case *out, struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_classification *classification = &recorded->classification;

	*out = (struct kgb_replay_case){.call = recorded->calls[KGB_REPLAY_CALLS - 1]};
	int rc = find_windows(lane, recorded, failure);
	if (rc == 0)
		rc = prove(lane, &recorded->record, failure, err);
	if (rc == 0)
		rc = choose_replayer(lane, recorded, failure);
	if (rc != 0)
		return rc;
	const struct kgb_owners owners = owners_of(lane);
	kgb_calls_classify(recorded->captures, KGB_REPLAY_CALLS, &owners, classification);
	out->replay = classification->replay;
	out->upload_bytes = classification->upload_bytes;
	rc = judge_class(lane, classification, &recorded->record, failure);
	if (rc == 0)
		rc = note_idle_call(lane, recorded, out, err);
	if (rc == 0)
		rc = find_ranges(lane, &recorded->data[0],
				 recorded->captures[KGB_REPLAY_CALLS - 1].window, out, failure);
	return rc;
}

int kgb_replay_load(struct kgb_lane *lane, struct kgb_recorded *recorded,
		    struct kgb_replay_case *out, struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_owners owners = owners_of(lane);
	int rc = load_plans(lane, recorded, &owners, out, failure, err);

	if (rc == 0)
		count_launches(lane, &out->plan);
	return rc;
}

/* ---- the baseline ---- */

static int start_baseline_record(struct kgb_lane *lane, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	if (kgb_replay_make_record_fd(lane, err) < 0)
		return -1;
	if (lane->baseline->worker.end != KGB_WORKER_ALIVE &&
	    kgb_lane_start_baseline(lane, err) < 0)
		return -1;
	if (kgb_worker_send(&lane->baseline->worker, kgb_record_request, &lane->replay->record_fd,
			    1, err) < 0)
		return -1;
	return kgb_worker_await(&lane->baseline->worker, kgb_mono_ms() + PLAN_MS, "baseline", reply,
				err);
}

/* A baseline has no code of the candidate, so nothing is proved about its code. */
static enum kgb_owner owner_of_baseline(const struct kgb_image *image, const char *kernel,
					const void *payload)
{
	(void)image;
	(void)kernel;
	(void)payload;
	return KGB_OWNER_LIBRARY;
}

static int plan_baseline(struct kgb_lane *lane, const struct kgb_case_data *data,
			 const struct kgb_candidate_call *call, struct kgb_replay_plan *out,
			 struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_arena_place places[KGB_MAX_ARGS];
	struct kgb_record record = {0};
	const struct kgb_owners owners = {.find = owner_of_baseline};

	if (kgb_replay_copy(lane->replay->record_fd, KGB_REPLAY_RECORD_BYTES, &bytes, err) < 0 ||
	    kgb_record_parse(bytes.ptr, bytes.len, &record, err) < 0)
		return kgb_ctx(err, "record of the baseline");
	const struct kgb_recorded_call capture = {
		.record = &record,
		.window = kgb_record_window(&record, 1),
		.places = places,
		.n_places = places_of(data, call, places),
		.arena_bytes = lane->baseline->memory.arena_bytes,
		.foreign_ok = true,
	};
	int rc = capture.window ? kgb_replay_plan_make(&capture, &owners, out, err)
				: kgb_fail(err, KGB_ERR_FAILED, "the baseline's call is missing");
	kgb_record_release(&record);
	return rc < 0 ? kgb_ctx(err, "baseline of case '%s'", data->kase->name) : 0;
}

static int capture_baseline(struct kgb_lane *lane, const struct kgb_case_data *data,
			    struct kgb_replay_plan *out, struct kgb_err *err)
{
	struct kgb_failure failure;
	struct kgb_candidate_call call = {0};

	if (start_baseline_record(lane, err) < 0)
		return -1;
	KGB_MEASURE(lane, KGB_PHASE_BASELINE);
	/* The first call loads and tunes code. The second is recorded: users wait for calls like
	 * this one. */
	for (uint32_t window = 0; window <= 1; window++) {
		const struct kgb_candidate_call_spec spec = {
			.repetition = 0, .places = 1, .window = window, .baseline = true};
		kgb_candidate_call_release(&call);
		if (kgb_candidate_call_run(lane, data, &spec, &call, &failure, err) != 0) {
			kgb_candidate_call_release(&call);
			return -1;
		}
	}
	int rc = plan_baseline(lane, data, &call, out, err);
	kgb_candidate_call_release(&call);
	return rc;
}

int kgb_replay_capture_baseline(struct kgb_lane *lane, const struct kgb_case_data *data,
				struct kgb_replay_plan *out, struct kgb_err *err)
{
	pthread_mutex_lock(&lane->baseline->lock);
	int rc = capture_baseline(lane, data, out, err);
	pthread_mutex_unlock(&lane->baseline->lock);
	return rc;
}
