/* SPDX-License-Identifier: MIT */
/** \file
 * Stage l2: without its launches a kernel must fail: a result that is still right was not computed
 * by Triton. Then each kernel is left out alone, for the record, and memory is watched for a result
 * that torch's copies put together (result_origin.h). On a GPU all that takes place in replays, and
 * this stage only decides.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "verify/ablation/ablation.h"
#include "verify/ablation/dependence.h"
#include "verify/lane/candidate_check.h"
#include "verify/replay/replay.h"
#include "verify/stages/stages.h"

enum {
	PLAIN_REPETITION = 10, /* repetitions that correctness has not used */
	SKIP_ALL_REPETITION = 11,
	ABLATION_REPETITION = 12,
	WATCHED_REPETITION = 13,
	HISTORY_MS = 20 * 1000,
};
#define HISTORY_BYTES_MAX ((size_t)128 << 20)

/* ---- one case ---- */

/* Run it and count the right results, of all or of those that show whether kernels compute. 0 with
 * *n_right, -1 *err; a call that fails is broken, as it should be. */
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
		if (!spec->skip_all || kgb_ablation_result_tells(lane->judge, data, i))
			*n_right += kgb_candidate_call_compare(data, &call, i, &compare);
	}
	*reply = call.reply;
	kgb_candidate_call_release(&call);
	return rc < 0 ? -1 : 0;
}

#define UNSTABLE_HINT "The result must depend on the arguments only, not on earlier calls."

/* A crash or hang of a crippled kernel is no verdict: go on with a new runner. 0, 1 decided, -1
 * *err. */
static int revive_runner(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_failure failure;

	if (lane->runner.end == KGB_WORKER_ALIVE)
		return 0;
	int rc = kgb_lane_load(lane, &failure, err);
	if (rc == 1)
		return kgb_lane_decide(lane, KGB_STAGE_L2, KGB_CODE_VERIFY_UNSTABLE, UNSTABLE_HINT,
				       "the kernel does not load again: %s", failure.message);
	return rc;
}

/* Leave out each kernel in turn. 0 went on, 1 decided, -1 *err. */
static int skip_each_kernel(struct kgb_lane *lane, const struct kgb_case_data *data,
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
		kgb_ablation_record(lane, data, plain->launches[i].name, n_right < data->n_results);
		int rc = revive_runner(lane, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Leave out all kernels, then each. *counts: the case shows that kernels compute. 0 went on, 1
 * decided, -1 *err. */
static int ablate_case(struct kgb_lane *lane, const struct kgb_case_data *data, bool *counts,
		       struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *plain = kgb_xmalloc(sizeof(*plain));
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	const struct kgb_candidate_call_spec plain_spec = {.repetition = PLAIN_REPETITION,
							   .places = PLAIN_REPETITION};
	const struct kgb_candidate_call_spec skip_spec = {
		.repetition = SKIP_ALL_REPETITION, .places = SKIP_ALL_REPETITION, .skip_all = true};
	size_t n_right;

	if (count_right(lane, data, &plain_spec, &n_right, plain, err) < 0)
		return -1;
	if (n_right < data->n_results)
		return kgb_lane_decide(lane, KGB_STAGE_L2, KGB_CODE_VERIFY_UNSTABLE, UNSTABLE_HINT,
				       "case %s was right before and is wrong now",
				       data->kase->name);
	if (count_right(lane, data, &skip_spec, &n_right, reply, err) < 0)
		return -1;
	*counts = n_right == 0;
	if (n_right > 0 && kgb_case_depends_on_inputs(lane, data, counts, err) < 0)
		return -1;
	if (!*counts)
		return 0;
	kgb_ablation_record(lane, data, NULL, n_right == 0);
	if (n_right > 0)
		return kgb_lane_decide(
			lane, KGB_STAGE_L2, KGB_CODE_CHEAT_GHOST,
			"The result must be computed by the Triton kernels and by nothing else.",
			"case %s is right although no Triton kernel was run", data->kase->name);
	int rc = revive_runner(lane, err);
	return rc == 0 ? skip_each_kernel(lane, data, plain, reply, err) : rc;
}

/* ---- memory ---- */

/* 0, 1 *failure, -1 *err. */
static int read_history(struct kgb_lane *lane, struct kgb_result_origin *origin,
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
	    kgb_result_origin_see_history(origin, history.ptr, history.len, &why) < 0)
		return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_RECORD,
				       "Leave the process's own bookkeeping alone.",
				       "the history of its memory is damaged: %s", why.msg);
	return 0;
}

/* Where the operator moves elements and computes nothing, kernels and torch may take turns; else
 * what torch does without any kernel is enough. 0 went on, 1 decided, -1 *err. */
static int watch(struct kgb_lane *lane, struct kgb_result_origin *origin, struct kgb_err *err)
{
	const struct kgb_candidate_call_spec spec = {.repetition = WATCHED_REPETITION,
						     .places = WATCHED_REPETITION,
						     .skip_all = lane->judge->spec.triton ==
								 KGB_TRITON_REQUIRED,
						     .watch = true};
	struct kgb_failure failure;
	struct kgb_candidate_call call;
	int rc = kgb_candidate_call_run(lane, origin->data, &spec, &call, &failure, err);

	kgb_candidate_call_release(&call);
	if (rc < 0)
		return -1;
	/* Host code that reads no data does the same whatever kernels do. */
	if (rc == 1 && lane->judge->spec.launches == KGB_LAUNCHES_FIXED)
		return kgb_lane_decide(lane, KGB_STAGE_L2, KGB_CODE_VERIFY_UNSTABLE, UNSTABLE_HINT,
				       "case %s was right before and fails now: %s",
				       origin->data->kase->name, failure.message);
	if (lane->runner.end != KGB_WORKER_ALIVE)
		return revive_runner(lane, err);
	rc = read_history(lane, origin, &failure, err);
	if (rc == 0)
		kgb_ablation_count_watched(lane->judge, origin);
	if (rc == 1)
		kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &failure);
	return rc;
}

static int watch_case(struct kgb_lane *lane, const struct kgb_case_data *data, struct kgb_err *err)
{
	struct kgb_result_origin origin;

	if (!kgb_ablation_begin_watch(lane->judge, data, &origin))
		return 0;
	int rc = watch(lane, &origin, err);
	kgb_result_origin_release(&origin);
	return rc;
}

/* ---- all interfaces ---- */

static int ablate_interface(struct kgb_lane *lane, const struct kgb_interface *interface,
			    struct kgb_err *err)
{
	const struct kgb_judge *judge = lane->judge;
	const struct kgb_case *c = NULL;

	for (int tried = 0; !kgb_ablation_is_complete(judge, interface, tried); tried++) {
		struct kgb_case_data data;
		c = kgb_ablation_next_case(&judge->cases, interface, c);
		if (!c)
			break;
		kgb_lane_fill(lane, &data, c, 0);
		int rc = kgb_lane_fetch_truth(lane, &data, err);
		if (rc == 0 && kgb_ablation_wants(judge, &data)) {
			bool counts = false;
			rc = ablate_case(lane, &data, &counts, err);
			if (counts)
				kgb_ablation_count(judge, &data);
		}
		if (rc == 0 && kgb_ablation_may_tell(judge, &data))
			rc = watch_case(lane, &data, err);
		kgb_case_data_release(&data);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* In one case a copy of an input may happen to be the result; in all watched cases it is no
 * accident. */
static int decide_origin(struct kgb_lane *lane)
{
	for (size_t i = 0; i < lane->judge->spec.n_interfaces; i++) {
		const struct kgb_ablation_tally *tally = &lane->judge->tallies[i];
		if (tally->n_watched == 0 || tally->n_by_host < tally->n_watched)
			continue;
		return kgb_lane_decide(
			lane, KGB_STAGE_L2, KGB_CODE_CHEAT_TORCH_COPIES,
			"Let a kernel read the arguments and write each element to its place.",
			"%s: PyTorch's copies or conversions had put the result together (in %u of "
			"%u cases that were looked at) for a kernel that only copies it on",
			lane->judge->spec.interfaces[i].entry, tally->n_by_host, tally->n_watched);
	}
	return 0;
}

static int ablate_all(struct kgb_lane *lane, struct kgb_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < lane->judge->spec.n_interfaces && rc == 0; i++)
		rc = ablate_interface(lane, &lane->judge->spec.interfaces[i], err);
	return rc;
}

static int check_complete(const struct kgb_judge *judge, struct kgb_err *err)
{
	for (size_t i = 0; i < judge->spec.n_interfaces; i++)
		if (judge->tallies[i].n_ablated == 0)
			return kgb_fail(
				err, KGB_ERR_FAILED,
				"%s: no case shows whether the kernels compute anything: add one "
				"whose result is neither constant nor an input",
				judge->spec.interfaces[i].entry);
	return 0;
}

/* A case without a launch, whose result depends on its inputs. 0 there is none, 1 decided, -1 *err.
 */
static int decide_silent(struct kgb_lane *lane, struct kgb_err *err)
{
	const struct kgb_judge *judge = lane->judge;

	for (size_t i = 0; i < judge->cases.n; i++) {
		struct kgb_case_data data;
		bool depends = false;
		if (!judge->silent[i])
			continue;
		kgb_lane_fill(lane, &data, &judge->cases.items[i], 0);
		int rc = kgb_lane_fetch_truth(lane, &data, err);
		if (rc == 0)
			rc = kgb_case_depends_on_inputs(lane, &data, &depends, err);
		kgb_case_data_release(&data);
		if (rc < 0)
			return -1;
		if (depends)
			return kgb_lane_decide(
				lane, KGB_STAGE_L2, KGB_CODE_CHEAT_NO_LAUNCH,
				"Launch a @triton.jit kernel for every result that has elements.",
				"case %s ran no Triton kernel at all", judge->cases.items[i].name);
	}
	return 0;
}

int kgb_stage_ablation(struct kgb_lane *lane, struct kgb_err *err)
{
	int rc = decide_silent(lane, err);
	if (rc == 0 && lane->needless.code) {
		kgb_verdict_decide(lane->verdict, KGB_STAGE_L2, &lane->needless);
		return 1;
	}
	if (rc == 0 && !lane->replay)
		rc = ablate_all(lane, err);
	if (rc == 0)
		rc = check_complete(lane->judge, err);
	return rc == 0 ? decide_origin(lane) : rc;
}
