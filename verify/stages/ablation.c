/* SPDX-License-Identifier: MIT */
/** \file
 * Stage l2: without its launches a kernel must fail. Whatever is still right was not computed by
 * Triton. Then each kernel of its own is left out, for the record, and memory is watched for a
 * result that torch's copies put together (arranged.h). On a GPU all that takes place in replays,
 * and what is left to do here is to decide.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "verify/lane/candidate_call.h"
#include "verify/stages/replay.h"
#include "verify/stages/result_origin.h"
#include "verify/stages/stages.h"

enum {
	CASES_PER_INTERFACE = 2,
	WATCHED_PER_INTERFACE = 3,
	TRIES_PER_INTERFACE = 24, /* cases whose result would not tell anything are passed over */
	WATCH_TRIES = 6, /* the same of memory: of many operators none tells anything */
	PLAIN_REPETITION = 10, /* repetitions that correctness has not used */
	GHOST_REPETITION = 11,
	ABLATION_REPETITION = 12,
	WATCHED_REPETITION = 13,
	LEAST_ELEMENTS = 8,
	HISTORY_MS = 20 * 1000,
};
#define HISTORY_BYTES_MAX ((size_t)128 << 20)

/* ---- which cases tell something ---- */

static double value_at(const struct kgb_truth *truth, int64_t i)
{
	return kgb_dtype_load(truth->view.dtype,
			      (const char *)truth->native +
				      (size_t)i * kgb_dtype_size(truth->view.dtype));
}

/* One number everywhere: zeros or a constant fill would be right without any computation. */
static bool is_constant(const struct kgb_truth *truth)
{
	int64_t n = kgb_tensor_view_numel(&truth->view);
	double first = value_at(truth, 0);

	if (n == 1)
		return first == 0 || first == 1;
	for (int64_t i = 1; i < n; i++)
		if (value_at(truth, i) != first)
			return false;
	return true;
}

/* The result is an input: a copy would be right. */
static bool is_copy_of(const struct kgb_truth *truth, const struct kgb_tensor_view *view,
		       const char *storage)
{
	int64_t n = kgb_tensor_view_numel(&truth->view);
	struct kgb_tensor_view_walk walk;

	if (kgb_tensor_view_numel(view) != n)
		return false;
	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk)) {
		double input = kgb_dtype_load(
			view->dtype, storage + (size_t)walk.at * kgb_dtype_size(view->dtype));
		if (kgb_dtype_round(truth->view.dtype, input) != value_at(truth, i))
			return false;
	}
	return true;
}

/* Random bytes, which fresh memory holds, will not be right by chance. */
static bool is_no_chance(const struct kgb_truth *truth)
{
	int64_t n = kgb_tensor_view_numel(&truth->view);

	return truth->view.dtype != KGB_DTYPE_BOOL &&
	       (n >= LEAST_ELEMENTS ||
		(kgb_dtype_size(truth->view.dtype) >= sizeof(float) && !is_constant(truth)));
}

/* Result i is neither of them. Where the operator is a fill or a copy itself, that does not matter:
 * then nothing but its kernels may make it. */
static bool result_tells(const struct kgb_judge *judge, const struct kgb_case_data *data, size_t i)
{
	const struct kgb_truth *truth = &data->results[i];

	if (truth->native && judge->spec.triton == KGB_TRITON_ALONE)
		return is_no_chance(truth);
	if (!truth->native || is_constant(truth))
		return false;
	for (size_t k = 0; k < data->kase->n_args; k++)
		if (data->storages[k] &&
		    is_copy_of(truth, &data->kase->args[k].view, data->storages[k]))
			return false;
	return true;
}

/* Without tensors that matter nothing is known of a case's size. */
static bool is_tiny(const struct kgb_case *c)
{
	bool has_tensors = false;

	for (size_t i = 0; i < c->n_args; i++)
		has_tensors |=
			c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].param->unused;
	return has_tensors && kgb_case_elements(c) < LEAST_ELEMENTS;
}

/* One result is enough: others may well be known beforehand (a scale that was given, a count). */
bool kgb_ablation_tells(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	if (data->kase->mode != KGB_MODE_STANDARD || is_tiny(data->kase))
		return false;
	if (!kgb_case_needs_launch(judge, data))
		return false;
	for (size_t i = 0; i < data->n_results; i++)
		if (result_tells(judge, data, i))
			return true;
	return false;
}

/* ---- one case ---- */

/* Run it and see which results are right, of all or of those that tell something. 0 with *n_right,
 * -1 *err; a call that fails is broken, which is what we want. */
static int count_right(struct kgb_lane *lane, const struct kgb_case_data *data,
		       const struct kgb_candidate_call_spec *spec, size_t *n_right,
		       struct kgb_wire_reply *reply, struct kgb_err *err)
{
	struct kgb_candidate_call call;
	struct kgb_failure failure;
	int rc = kgb_candidate_call_run(lane, data, spec, &call, &failure, err);

	*n_right = 0;
	for (size_t i = 0; rc == 0 && i < data->n_results; i++) {
		struct kgb_compare compare;
		if (!spec->ghost || result_tells(lane->judge, data, i))
			*n_right += kgb_candidate_call_compare(data, &call, i, &compare);
	}
	*reply = call.reply;
	kgb_candidate_call_release(&call);
	return rc < 0 ? -1 : 0;
}

static int decide_unstable(struct kgb_lane *lane, const char *message)
{
	const struct kgb_failure failure = {
		.code = KGB_CODE_VERIFY_UNSTABLE,
		.message = message,
		.hint = "The result must depend on the arguments only, not on earlier calls.",
	};

	kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &failure);
	return 1;
}

/* A crash or hang of a crippled kernel is no verdict: go on with a new runner. 0, 1 decided, -1
 * *err. */
static int revive_runner(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_failure failure;

	if (lane->runner.end == KGB_WORKER_ALIVE)
		return 0;
	int rc = kgb_lane_load(lane, &failure, err);
	return rc == 1 ? decide_unstable(lane,
					 kgb_lane_text(lane, "the kernel does not load again: %s",
						       failure.message))
		       : rc;
}

static void record(struct kgb_lane *lane, const struct kgb_case_data *data, const char *kernel,
		   bool broken)
{
	struct kgb_verdict *verdict = lane->verdict;

	if (verdict->n_ghosts == KGB_VERDICT_GHOSTS_MAX)
		return;
	verdict->ghosts[verdict->n_ghosts++] = (struct kgb_ablation_run){
		.case_name = kgb_lane_text(lane, "%s", data->kase->name),
		.kernel = kernel ? kgb_lane_text(lane, "%s", kernel) : NULL,
		.broken = broken,
	};
}

static int ablate(struct kgb_lane *lane, const struct kgb_case_data *data,
		  const struct kgb_wire_reply *plain, struct kgb_wire_reply *reply,
		  struct kgb_err *err)
{
	for (uint32_t i = 0; i < plain->n_launches; i++) {
		const struct kgb_candidate_call_spec spec = {.repetition = ABLATION_REPETITION,
							     .places = ABLATION_REPETITION,
							     .skip = plain->launches[i].name};
		size_t n_right;
		if (count_right(lane, data, &spec, &n_right, reply, err) < 0)
			return -1;
		record(lane, data, plain->launches[i].name, n_right < data->n_results);
		int rc = revive_runner(lane, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* 0 went on, 1 decided, -1 *err. */
static int haunt(struct kgb_lane *lane, const struct kgb_case_data *data, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *plain = kgb_xmalloc(sizeof(*plain));
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	const struct kgb_candidate_call_spec plain_spec = {.repetition = PLAIN_REPETITION,
							   .places = PLAIN_REPETITION};
	const struct kgb_candidate_call_spec ghost_spec = {
		.repetition = GHOST_REPETITION, .places = GHOST_REPETITION, .ghost = true};
	size_t n_right;

	if (count_right(lane, data, &plain_spec, &n_right, plain, err) < 0)
		return -1;
	if (n_right < data->n_results)
		return decide_unstable(
			lane, kgb_lane_text(lane, "case %s was right before and is wrong now",
					    data->kase->name));
	if (count_right(lane, data, &ghost_spec, &n_right, reply, err) < 0)
		return -1;
	record(lane, data, NULL, n_right == 0);
	if (n_right > 0) {
		const struct kgb_failure failure = {
			.code = KGB_CODE_CHEAT_GHOST,
			.message = kgb_lane_text(
				lane, "case %s is right although no Triton kernel was run",
				data->kase->name),
			.hint = "The result must be computed by the Triton kernels and by nothing else.",
		};
		kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &failure);
		return 1;
	}
	int rc = revive_runner(lane, err);
	return rc == 0 ? ablate(lane, data, plain, reply, err) : rc;
}

/* ---- memory ---- */

static struct kgb_ablation_tally *tally_of(const struct kgb_judge *judge, const struct kgb_case *c)
{
	return &judge->tallies[c->interface - judge->spec.interfaces];
}

bool kgb_ablation_begin_watch(const struct kgb_judge *judge, const struct kgb_case_data *data,
			      struct kgb_result_origin *arranged)
{
	const struct kgb_ablation_tally *tally = tally_of(judge, data->kase);

	if (__atomic_load_n(&tally->n_watched, __ATOMIC_RELAXED) >= WATCHED_PER_INTERFACE)
		return false;
	kgb_result_origin_init(arranged, data, judge->spec.triton == KGB_TRITON_ALONE);
	if (kgb_result_origin_tells(arranged))
		return true;
	kgb_result_origin_release(arranged);
	return false;
}

void kgb_ablation_count_watched(const struct kgb_judge *judge,
				const struct kgb_result_origin *arranged)
{
	struct kgb_ablation_tally *tally = tally_of(judge, arranged->data->kase);

	(void)__atomic_fetch_add(&tally->n_watched, 1, __ATOMIC_RELAXED);
	if (kgb_result_origin_by_host(arranged))
		(void)__atomic_fetch_add(&tally->n_arranged, 1, __ATOMIC_RELAXED);
}

/* 0, 1 *failure, -1 *err. */
static int read_history(struct kgb_lane *lane, struct kgb_result_origin *arranged,
			struct kgb_failure *failure, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	KGB_AUTO(buf) struct kgb_buf history = KGB_BUF_INIT(0);
	struct kgb_err why = KGB_ERR_INIT;

	if (kgb_memfd_empty("kgb-history", &fd, err) < 0)
		return -1;
	int rc = kgb_lane_ask_runner(lane, "{\"op\":\"history\"}", fd, kgb_mono_ms() + HISTORY_MS,
				     reply, failure, err);
	if (rc != 0)
		return rc;
	if (kgb_replay_copy(fd, HISTORY_BYTES_MAX, &history, &why) < 0 ||
	    kgb_result_origin_see_history(arranged, history.ptr, history.len, &why) < 0)
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_RECORD,
			kgb_lane_text(lane, "the history of its memory is damaged: %s", why.msg),
			"Leave the process's own bookkeeping alone.");
	return 0;
}

/* Where the operator moves elements and computes nothing, kernels and torch may take turns; else
 * what torch does without any kernel is enough. 0 went on, 1 decided, -1 *err. */
static int watch(struct kgb_lane *lane, struct kgb_result_origin *arranged, struct kgb_err *err)
{
	const struct kgb_candidate_call_spec spec = {.repetition = WATCHED_REPETITION,
						     .places = WATCHED_REPETITION,
						     .ghost = lane->judge->spec.triton ==
							      KGB_TRITON_REQUIRED,
						     .watch = true};
	struct kgb_failure failure;
	struct kgb_candidate_call call;
	int rc = kgb_candidate_call_run(lane, arranged->data, &spec, &call, &failure, err);

	kgb_candidate_call_release(&call);
	if (rc < 0)
		return -1;
	/* A host that sees no data does the same whatever kernels do. */
	if (rc == 1 && lane->judge->spec.launches == KGB_LAUNCHES_FIXED)
		return decide_unstable(
			lane, kgb_lane_text(lane, "case %s was right before and fails now: %s",
					    arranged->data->kase->name, failure.message));
	if (lane->runner.end != KGB_WORKER_ALIVE)
		return revive_runner(lane, err);
	rc = read_history(lane, arranged, &failure, err);
	if (rc == 0)
		kgb_ablation_count_watched(lane->judge, arranged);
	if (rc == 1)
		kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &failure);
	return rc;
}

static int watch_case(struct kgb_lane *lane, const struct kgb_case_data *data, struct kgb_err *err)
{
	struct kgb_result_origin arranged;

	if (!kgb_ablation_begin_watch(lane->judge, data, &arranged))
		return 0;
	int rc = watch(lane, &arranged, err);
	kgb_result_origin_release(&arranged);
	return rc;
}

/* ---- all interfaces ---- */

/* The next case in ascending cost after (cost, index), of this interface and in standard mode; NULL
 * at the end. */
static const struct kgb_case *next_case(const struct kgb_cases *cases,
					const struct kgb_interface *interface,
					const struct kgb_case *after)
{
	const struct kgb_case *best = NULL;
	int64_t after_cost = after ? kgb_case_elements(after) : 0;

	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i];
		int64_t cost = kgb_case_elements(c);
		if (c->interface != interface || c->mode != KGB_MODE_STANDARD || is_tiny(c))
			continue;
		if (after && (cost < after_cost || (cost == after_cost && c <= after)))
			continue;
		if (!best || cost < kgb_case_elements(best))
			best = c;
	}
	return best;
}

static int fail_untold(const struct kgb_interface *interface, struct kgb_err *err)
{
	return kgb_fail(
		err, KGB_ERR_FAILED,
		"%s: no case shows whether the kernels compute anything: add one whose result is neither "
		"constant nor an input",
		interface->entry);
}

static bool is_told(const struct kgb_ablation_tally *tally, int n_tried)
{
	return tally->n_ablated >= CASES_PER_INTERFACE &&
	       (tally->n_watched >= WATCHED_PER_INTERFACE || n_tried >= WATCH_TRIES);
}

static int haunt_interface(struct kgb_lane *lane, const struct kgb_interface *interface,
			   struct kgb_err *err)
{
	struct kgb_ablation_tally *tally =
		&lane->judge->tallies[interface - lane->judge->spec.interfaces];
	const struct kgb_case *c = NULL;

	for (int tried = 0; tried < TRIES_PER_INTERFACE && !is_told(tally, tried); tried++) {
		struct kgb_case_data data;
		c = next_case(&lane->judge->cases, interface, c);
		if (!c)
			break;
		kgb_lane_fill(lane, &data, c, 0);
		int rc = kgb_lane_fetch_truth(lane, &data, err);
		const bool tells = rc == 0 && kgb_ablation_tells(lane->judge, &data);
		if (tells && tally->n_ablated < CASES_PER_INTERFACE) {
			rc = haunt(lane, &data, err);
			tally->n_ablated++;
		}
		if (tells && rc == 0)
			rc = watch_case(lane, &data, err);
		kgb_case_data_release(&data);
		if (rc != 0)
			return rc;
	}
	return tally->n_ablated > 0 ? 0 : fail_untold(interface, err);
}

/* ---- on a GPU: kernels are left out of replays, where cases are judged ---- */

void kgb_ablation_choose(struct kgb_judge *judge)
{
	judge->may_tell = kgb_xcalloc(judge->cases.n + 1, 1);
	judge->tallies = kgb_xcalloc(judge->spec.n_interfaces + 1, sizeof(*judge->tallies));
	for (size_t i = 0; i < judge->spec.n_interfaces; i++) {
		const struct kgb_case *c = NULL;
		for (int tried = 0; tried < TRIES_PER_INTERFACE; tried++) {
			c = next_case(&judge->cases, &judge->spec.interfaces[i], c);
			if (!c)
				break;
			judge->may_tell[c - judge->cases.items] = 1;
		}
	}
}

bool kgb_ablation_may_tell(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	return judge->may_tell[data->kase - judge->cases.items] && kgb_ablation_tells(judge, data);
}

bool kgb_ablation_wants(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	const struct kgb_ablation_tally *tally = tally_of(judge, data->kase);

	return __atomic_load_n(&tally->n_ablated, __ATOMIC_RELAXED) < CASES_PER_INTERFACE &&
	       kgb_ablation_may_tell(judge, data);
}

void kgb_ablation_count(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	(void)__atomic_fetch_add(&tally_of(judge, data->kase)->n_ablated, 1, __ATOMIC_RELAXED);
}

static int decide_replayed(struct kgb_lane *lane, struct kgb_err *err)
{
	if (lane->ghost.code) {
		kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &lane->ghost);
		return 1;
	}
	for (size_t i = 0; i < lane->judge->spec.n_interfaces; i++)
		if (lane->judge->tallies[i].n_ablated == 0)
			return fail_untold(&lane->judge->spec.interfaces[i], err);
	return 0;
}

/* One case in which a copy of an input happens to be the result says nothing; all of them do. */
static int decide_arranged(struct kgb_lane *lane)
{
	for (size_t i = 0; i < lane->judge->spec.n_interfaces; i++) {
		const struct kgb_ablation_tally *tally = &lane->judge->tallies[i];
		if (tally->n_watched == 0 || tally->n_arranged < tally->n_watched)
			continue;
		const struct kgb_failure failure = {
			.code = KGB_CODE_CHEAT_TORCH_COPIES,
			.message = kgb_lane_text(
				lane,
				"%s: PyTorch's copies or conversions had put the result together (in %u of "
				"%u cases that were looked at) for a kernel that only copies it on",
				lane->judge->spec.interfaces[i].entry, tally->n_arranged,
				tally->n_watched),
			.hint = "Let a kernel read the arguments and write each element to its place.",
		};
		kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &failure);
		return 1;
	}
	return 0;
}

static int haunt_all(struct kgb_lane *lane, struct kgb_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < lane->judge->spec.n_interfaces && rc == 0; i++)
		rc = haunt_interface(lane, &lane->judge->spec.interfaces[i], err);
	return rc;
}

static int run_stage(struct kgb_lane *lane, struct kgb_err *err)
{
	if (lane->no_launch_case) {
		const struct kgb_failure failure = {
			.code = KGB_CODE_CHEAT_NO_LAUNCH,
			.message = kgb_lane_text(lane, "case %s ran no Triton kernel at all",
						 lane->no_launch_case),
			.hint = "Launch a @triton.jit kernel for every result that has elements.",
		};
		kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &failure);
		return 1;
	}
	int rc = lane->replay ? decide_replayed(lane, err) : haunt_all(lane, err);
	return rc == 0 ? decide_arranged(lane) : rc;
}

int kgb_stage_ablation(struct kgb_lane *lane)
{
	struct kgb_stage_result *stage = &lane->verdict->stages[KGB_STAGE_L2];
	struct kgb_err err = KGB_ERR_INIT;
	int64_t started_ms = kgb_mono_ms();

	if (lane->judge->spec.triton == KGB_TRITON_NONE) {
		stage->message = "the operator only rearranges metadata: no kernel is required";
		return 0;
	}
	int rc = run_stage(lane, &err);
	stage->wall_ms = kgb_mono_ms() - started_ms;
	if (rc == 0)
		stage->status = KGB_STAGE_PASSED;
	if (rc < 0)
		kgb_verdict_decide_infra(lane->verdict, KGB_STAGE_L2, KGB_CODE_INFRA_L2, &err);
	return rc == 0 ? 0 : 1;
}
