/* SPDX-License-Identifier: MIT */
/** \file
 * The stages' use of replays: whether a case is right on data that the runner never had, and
 * whether each kernel matters. */
#include "base/str.h"
#include "base/time.h"
#include "verify/ablation/ablation.h"
#include "verify/ablation/dependence.h"
#include "verify/lane/candidate_check.h"
#include "verify/lane/case_judge.h"
#include "verify/lane/random_results.h"
#include "verify/replay/replay.h"

enum { N_REPLAYS = 2, ABLATIONS_MAX = 32, ABLATION_REPETITION = 10 };
/* Runs without kernels: by chance random memory may hold a result of a few bits once. */
enum { ABLATION_RUNS = 8 };
enum { VARIANT_FRESH = 2 }; /* 0 and 1 are those of the recorded calls */
enum { UPLOADS_DIVISOR = 4 }; /* a host may send at most 1/4 of the bytes of results */

/* Make inputs that the runner never had, and fetch their right results. */
static int fill_fresh(struct kgb_lane *lane, const struct kgb_case *c, struct kgb_case_data *out,
		      struct kgb_err *err)
{
	kgb_lane_fill(lane, out, c, VARIANT_FRESH);
	return kgb_lane_fetch_truth(lane, out, err);
}

static void explain_replay(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
			   struct kgb_failure *failure)
{
	if (rcase->has_prologue)
		failure->message = kgb_lane_text(lane, "in a later call: %s", failure->message);
}

/* 0 right, 1 *failure, -1 *err. */
static int replay_once(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		       const struct kgb_case_data *fresh, int repetition,
		       struct kgb_candidate_call *call, struct kgb_failure *failure,
		       struct kgb_err *err)
{
	int rc = kgb_replay_run(lane, rcase, fresh, repetition, KGB_REPLAY_SKIP_NOTHING, call,
				failure, err);

	if (rc != 0)
		return rc;
	if (kgb_candidate_call_check(lane, fresh, call, failure) &&
	    kgb_candidate_call_check_values(lane, fresh, call, failure))
		return 0;
	explain_replay(lane, rcase, failure);
	return 1;
}

/* Draws with another seed must differ. */
static int check_seed(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		      const struct kgb_case_data *fresh, const struct kgb_candidate_call *call,
		      struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_case_data other;
	struct kgb_candidate_call second = {0};

	kgb_lane_fill(lane, &other, fresh->kase, KGB_VARIANT_OTHER_SEED);
	kgb_case_data_shape(&other, fresh);
	kgb_random_result_relate_seeds(lane->judge->numbers, &other, fresh);
	int rc = replay_once(lane, rcase, &other, N_REPLAYS, &second, failure, err);
	if (rc == 0)
		rc = kgb_random_result_check_seeds(lane, fresh, call->values, &other, second.values,
						   failure);
	kgb_candidate_call_release(&second);
	kgb_case_data_release(&other);
	return rc;
}

static int check_case(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		      const struct kgb_case_data *fresh, struct kgb_failure *failure,
		      struct kgb_err *err)
{
	struct kgb_candidate_call calls[N_REPLAYS] = {0};
	int rc = 0;

	KGB_MEASURE(lane, KGB_PHASE_REPLAY);
	for (int i = 0; i < N_REPLAYS && rc == 0; i++)
		rc = replay_once(lane, rcase, fresh, i, &calls[i], failure, err);
	if (rc == 0 && !kgb_candidate_call_same_bits(fresh, &calls[0], &calls[1])) {
		lane->verdict->deterministic = false;
		lane->verdict->n_nondeterministic++;
		if (fresh->kase->interface->is_random)
			rc = kgb_random_result_refuse_repetition(failure);
	}
	if (rc == 0 && fresh->kase->interface->is_random)
		rc = check_seed(lane, rcase, fresh, &calls[0], failure, err);
	for (int i = 0; i < N_REPLAYS; i++)
		kgb_candidate_call_release(&calls[i]);
	return rc;
}

/* ---- ablation ---- */

/* Whether zeros are right for result `i`, as for a sum whose terms cancel. Then much random memory
 * is right, too. */
static bool zeros_are_right(const struct kgb_case_data *fresh, size_t i)
{
	const struct kgb_tensor_view *view = &fresh->results[i].view;
	KGB_AUTO(free)
	void *zeros =
		kgb_xcalloc((size_t)kgb_tensor_view_numel(view) + 1, kgb_dtype_size(view->dtype));
	struct kgb_candidate_call call = {0};

	call.values[i] = zeros;
	return kgb_candidate_call_is_right(fresh, &call, i);
}

/* Run the plan without op `skip`, or without all kernels, and count the right results; without
 * kernels only sensitive results count. A replay that fails has no right results. 0, 1 *failure (no
 * time or memory is left), -1 *err. */
static int ablate(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		  const struct kgb_case_data *fresh, int skip, size_t *n_right,
		  struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_candidate_call call;
	int rc = kgb_replay_run(lane, rcase, fresh, ABLATION_REPETITION, skip, &call, failure, err);

	/* A lack of time or memory is no evidence about the op that was left out. */
	if (rc == 1 &&
	    (kgb_mono_ms() >= kgb_lane_deadline(lane) || failure->code == KGB_CODE_VERIFY_OOM)) {
		kgb_candidate_call_release(&call);
		return 1;
	}
	*n_right = 0;
	for (size_t i = 0; rc == 0 && i < fresh->n_results; i++)
		if (skip != KGB_REPLAY_SKIP_KERNELS ||
		    kgb_ablation_result_is_sensitive(lane->judge, fresh, i))
			*n_right += kgb_candidate_call_is_right(fresh, &call, i) &&
				    (skip != KGB_REPLAY_SKIP_KERNELS ||
				     (kgb_ablation_values_are_sensitive(lane->judge, fresh, i,
									call.values[i]) &&
				      !zeros_are_right(fresh, i)));
	kgb_candidate_call_release(&call);
	return rc < 0 ? -1 : 0;
}

/* A case without any of its kernels. */
struct without_kernels {
	bool broken; /* no sensitive result is right without them */
	bool counts; /* the run is evidence: it is broken, or the results depend on the inputs */
};

/* Leave out all kernels: a result that is right in every such run, whatever fresh memory holds, is
 * torch's work, if it depends on the inputs. Two kernels that do the same work are no cheat: the
 * result is right without either of them, but not without both. 0, 1 *failure, -1 *err. */
static int leave_out_all(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
			 const struct kgb_case_data *fresh, struct without_kernels *out,
			 struct kgb_failure *failure, struct kgb_err *err)
{
	size_t n_right = 1;

	KGB_MEASURE(lane, KGB_PHASE_ABLATION);
	for (int i = 0; i < ABLATION_RUNS && n_right > 0; i++) {
		int rc =
			ablate(lane, rcase, fresh, KGB_REPLAY_SKIP_KERNELS, &n_right, failure, err);
		if (rc != 0)
			return rc;
	}
	*out = (struct without_kernels){.broken = n_right == 0, .counts = true};
	if (!out->broken && kgb_case_depends_on_inputs(lane, fresh, &out->counts, err) < 0)
		return -1;
	if (!out->broken && out->counts && !lane->needless.code)
		lane->needless = (struct kgb_failure){
			.code = KGB_CODE_CHEAT_GHOST,
			.message = kgb_lane_text(
				lane, "case %s is right although no Triton kernel was run",
				fresh->kase->name),
			.hint = "Compute every element of the result in your Triton kernels.",
		};
	return 0;
}

/* Leave out each kernel in turn, for the record. 0, 1 *failure, -1 *err. */
static int leave_out_each(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
			  const struct kgb_case_data *fresh, bool broken,
			  struct kgb_failure *failure, struct kgb_err *err)
{
	int n_tried = 0, rc = 0;

	KGB_MEASURE(lane, KGB_PHASE_ABLATION);
	kgb_ablation_count(lane->judge, fresh);
	kgb_ablation_record(lane, fresh, NULL, broken);
	/* If a plan without one launch faults, kgb-exec ends, and its plans are lost. */
	for (size_t i = 0; rc == 0 && i < rcase->plan.n_ops && n_tried < ABLATIONS_MAX &&
			   lane->replay->uses->runs;
	     i++) {
		size_t n_right;
		if (!kgb_replay_plan_is_candidate(&rcase->plan, i))
			continue;
		rc = ablate(lane, rcase, fresh, (int)i, &n_right, failure, err);
		if (rc == 0)
			kgb_ablation_record(lane, fresh, rcase->plan.ops[i].kernel,
					    n_right < fresh->n_results);
		n_tried++;
	}
	return rc;
}

/* ---- memory ---- */

/* Examine memory at each change between torch's ops and the candidate's kernels. If the kernels are
 * left out, examine it only after torch's ops. */
static int look_at_turns(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
			 struct kgb_result_origin *origin, struct kgb_failure *failure,
			 struct kgb_err *err)
{
	const struct kgb_replay_plan *plan = &rcase->plan;
	const bool with_kernels = lane->judge->spec.triton != KGB_TRITON_REQUIRED;
	enum kgb_origin_writer last = KGB_ORIGIN_KERNEL;
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i <= plan->n_ops && rc == 0; i++) {
		if (i < plan->n_ops && !plan->ops[i].writes)
			continue;
		const enum kgb_origin_writer by =
			kgb_replay_plan_is_candidate(plan, i) ? KGB_ORIGIN_KERNEL : KGB_ORIGIN_HOST;
		if (any && (i == plan->n_ops || by != last) &&
		    (with_kernels || last == KGB_ORIGIN_HOST))
			rc = kgb_replay_watch(lane, rcase, i, with_kernels, last, origin, failure,
					      err);
		last = by;
		any = true;
	}
	return rc;
}

/* Check whether torch arranged the result. 0, 1 *failure, -1 *err. */
static int watch(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		 const struct kgb_case_data *fresh, struct kgb_failure *failure,
		 struct kgb_err *err)
{
	struct kgb_result_origin origin;

	KGB_MEASURE(lane, KGB_PHASE_ABLATION);
	if (!kgb_ablation_begin_watch(lane->judge, fresh, &origin))
		return 0;
	int rc = look_at_turns(lane, rcase, &origin, failure, err);
	if (rc == 0)
		kgb_ablation_count_watched(lane->judge, &origin);
	kgb_result_origin_release(&origin);
	return rc;
}

int kgb_replay_find_computer(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
			     const struct kgb_case_data *data, struct kgb_failure *failure,
			     struct kgb_err *err)
{
	const bool moves = kgb_replay_plan_moves(&rcase->plan);
	const bool wants =
		data->kase->mode != KGB_MODE_BENCHMARK && kgb_ablation_wants(lane->judge, data);
	struct without_kernels without = {.broken = true, .counts = true};
	int rc = 0;

	if ((!moves && !wants) || !kgb_ablation_is_sensitive(lane->judge, data))
		return 0;
	if (moves)
		rc = leave_out_all(lane, rcase, data, &without, failure, err);
	if (rc == 0 && wants && without.counts)
		rc = leave_out_each(lane, rcase, data, without.broken, failure, err);
	return rc;
}

/* ---- without a replay ---- */

bool kgb_replay_stays_in_sandbox(const struct kgb_lane *lane, const struct kgb_replay_case *rcase)
{
	return lane->judge->spec.launches == KGB_LAUNCHES_BY_DATA &&
	       (rcase->replay == KGB_REPLAY_HOST || rcase->replay == KGB_REPLAY_RANDOM);
}

/* Judge the case by calls in the runner on separate data. Only for the recorded calls was it proved
 * whose kernels ran. A host that uploads about as many bytes as the results have may have computed
 * the results. */
static int check_in_sandbox(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
			    const struct kgb_case *c, struct kgb_failure *failure,
			    struct kgb_err *err)
{
	struct kgb_case_data fresh = {0};
	uint64_t bytes = 0;
	int rc = fill_fresh(lane, c, &fresh, err);

	for (size_t i = 0; i < fresh.n_results; i++)
		bytes += (uint64_t)kgb_tensor_view_numel(&fresh.results[i].view) *
			 kgb_dtype_size(fresh.results[i].view.dtype);
	if (rc == 0 && rcase->upload_bytes * UPLOADS_DIVISOR > bytes)
		rc = kgb_refuse(
			failure, KGB_CODE_VERIFY_HOST_DEPENDENT,
			kgb_lane_text(
				lane,
				"the host sends %llu bytes to the GPU in a call whose results have %llu",
				(unsigned long long)rcase->upload_bytes, (unsigned long long)bytes),
			"Compute on the GPU; the host may read sizes, not make results.");
	if (rc == 0)
		rc = kgb_case_judge(lane, &fresh, failure, err);
	lane->verdict->n_in_sandbox++;
	kgb_ablation_count(lane->judge, &fresh); /* without a replay no kernel can be left out */
	kgb_case_data_release(&fresh);
	return rc;
}

/* Load the case. The GPU takes what the machine cannot execute. */
static int load(struct kgb_lane *lane, struct kgb_recorded *recorded, struct kgb_replay_case *rcase,
		struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_replay *replay = lane->replay;

	pthread_mutex_lock(&replay->uses->lock);
	int rc = kgb_replay_load(lane, recorded, rcase, failure, err);
	if (rc != 1 || failure->code != KGB_CODE_INFRA_UNSUPPORTED_OP ||
	    replay->uses != replay->machine)
		return rc;
	pthread_mutex_unlock(&replay->uses->lock);
	*err = (struct kgb_err)KGB_ERR_INIT;
	kgb_replay_plan_release(&rcase->plan);
	kgb_replay_plan_release(&rcase->prologue);
	rc = kgb_replay_leave_machine(lane, recorded, failure);
	pthread_mutex_lock(&replay->uses->lock);
	return rc == 0 ? kgb_replay_load(lane, recorded, rcase, failure, err) : rc;
}

/* Judge the case by replays on fresh data. 0 right, 1 *failure, -1 *err. */
static int judge(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		 const struct kgb_case *c, struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_case_data fresh = {0};
	int rc = fill_fresh(lane, c, &fresh, err);

	if (rc == 0)
		rc = check_case(lane, rcase, &fresh, failure, err);
	if (rc == 0)
		rc = kgb_replay_refuse_without_launch(rcase, failure);
	if (rc == 0)
		rc = watch(lane, rcase, &fresh, failure, err);
	if (rc == 0)
		rc = kgb_replay_find_computer(lane, rcase, &fresh, failure, err);
	lane->verdict->n_replayed_on_gpu +=
		lane->gpu && lane->replay->uses != lane->replay->machine;
	kgb_case_data_release(&fresh);
	return rc;
}

int kgb_replay_check(struct kgb_lane *lane, struct kgb_recorded *recorded,
		     struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_replay_case rcase;
	int rc = kgb_replay_prove(lane, recorded, &rcase, failure, err);

	if (rc == 1 && kgb_replay_stays_in_sandbox(lane, &rcase)) {
		kgb_replay_case_release(&rcase);
		return check_in_sandbox(lane, &rcase, recorded->data[0].kase, failure, err);
	}
	if (rc == 0) {
		rc = load(lane, recorded, &rcase, failure, err);
		if (rc == 0)
			rc = judge(lane, &rcase, recorded->data[0].kase, failure, err);
		if (rc == 0 && lane->judge->goes_outside)
			rc = kgb_replay_outside(lane, &rcase, &recorded->data[0], err);
		pthread_mutex_unlock(&lane->replay->uses->lock);
	}
	kgb_replay_case_release(&rcase);
	return rc;
}
