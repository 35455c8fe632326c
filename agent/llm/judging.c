/* SPDX-License-Identifier: MIT */
#include <fcntl.h>

#include "agent/llm/llm_parts.h"
#include "agent/llm/llm_replay.h"
#include "agent/llm/op_samples.h"
#include "base/codes.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"

void kgb_llm__record_verdict(struct kgb_llm_work *work, struct kgb_sample *sample)
{
	struct kgb_llm_attempt *attempt = work->attempt;
	struct kgb_err err = KGB_ERR_INIT;
	sample->number = work->number;
	sample->round = work->round;
	kgb_llm__check(attempt,
		       kgb_event_sample_judged(attempt->facts.env->log, attempt->facts.spec->name,
					       sample, &err),
		       &err);
}

/** Samples with the same kernel share its verdict. */
static void share_verdict(struct kgb_llm_work *work, const struct kgb_sample *judged)
{
	struct kgb_sample sample = {.same_as = judged->same_as ? judged->same_as : judged->number,
				    .same_as_round =
					    judged->same_as ? judged->same_as_round : judged->round,
				    .status = judged->status,
				    .code = judged->code,
				    .reached = judged->reached,
				    .speedup = judged->speedup};
	kgb_llm__record_verdict(work, &sample);
	kgb_llm__end_work(work);
}

/** Give this verdict to the samples that waited for it, or judge them if there is none. */
static void serve_twins(const struct kgb_llm_work *judged);

static void on_checked(void *payload, const struct kgb_job_result *result);

/** Read a verdict that decides; else the attempt ends with the reason for its absence. */
static bool take_verdict(struct kgb_llm_work *work, const struct kgb_job_result *result,
			 struct kgb_verdict_summary *verdict)
{
	struct kgb_llm_attempt *attempt = work->attempt;
	struct kgb_err err = result->err;
	*verdict = (struct kgb_verdict_summary){.message = "there is no verdict"};
	if (result->verdict && kgb_verdict_summarise(result->verdict, verdict, &err) == 0 &&
	    kgb_status_is_decided(kgb_status_find(verdict->status)))
		return true;
	if (!result->cancelled) {
		attempt->end = KGB_AGENT_SANDBOX_DIED;
		snprintf(attempt->why, sizeof(attempt->why), "sample %d: %.200s", work->number,
			 *err.msg           ? err.msg
			 : verdict->message ? verdict->message
					    : "the judge gives no reason");
	}
	return false;
}

static void on_judged(void *payload, const struct kgb_job_result *result)
{
	struct kgb_llm_work *work = payload;
	struct kgb_verdict_summary verdict;
	struct kgb_err err = KGB_ERR_INIT;
	work->job = NULL;
	if (take_verdict(work, result, &verdict)) {
		kgb_llm__check(
			work->attempt,
			kgb_llm__write_sample_file(work, "json", result->text, result->len, &err),
			&err);
		struct kgb_sample sample = {.status = verdict.status,
					    .code = verdict.code,
					    .reached = verdict.reached,
					    .speedup = verdict.speedup};
		kgb_llm__record_verdict(work, &sample);
	}
	serve_twins(work);
	kgb_llm__end_work(work);
}

static void on_job_moved(void *payload, int queued, int judging)
{
	const struct kgb_attempt_facts *facts = &((struct kgb_llm_work *)payload)->attempt->facts;
	kgb_run_log_move_job(facts->env->log, facts->spec->name, queued, judging);
}

static bool is_being_judged(const struct kgb_llm_attempt *attempt, const char *tree)
{
	for (int i = 0; i < attempt->n_work; i++)
		if (attempt->work[i].job && kgb_str_eq(attempt->work[i].tree, tree))
			return true;
	return false;
}

/** Submit the kernel of a round to the judge, with the seeds of final verifications or with those
 * of checks. The model may read reports only of checks. */
static struct kgb_job *submit(struct kgb_llm_work *work, bool is_check)
{
	struct kgb_llm_attempt *attempt = work->attempt;
	const struct kgb_attempt_facts *facts = &attempt->facts;
	KGB_AUTO(free) char *path = kgb_llm__sample_path(attempt, kgb_llm__sample_of(work), "py");
	return kgb_broker_submit(facts->env->broker,
				 &(struct kgb_job_spec){.spec_path = facts->spec->path,
							.kernel_path = path,
							.device = facts->device,
							.final = !is_check,
							.timed = !is_check,
							/* A chain waits for its check. */
							.rank = is_check ? 0 : work->number,
							.moved = on_job_moved,
							.done = is_check ? on_checked : on_judged,
							.payload = work});
}

static bool may_judge(const struct kgb_llm_attempt *attempt)
{
	return attempt->facts.env->broker && !attempt->cancelled;
}

/** In a replay: the recorded verdict on the same kernel. */
static void repeat_verdict(struct kgb_llm_work *work)
{
	const struct kgb_attempt_facts *facts = &work->attempt->facts;
	const struct kgb_sample *recorded =
		kgb_llm_recorded(facts->env, facts->spec->name, work->number);
	if (recorded && recorded->has_verdict &&
	    kgb_str_eq(recorded->kernel_sha256, kgb_llm__sample_of(work)->kernel_sha256)) {
		struct kgb_sample sample = *recorded;
		kgb_llm__record_verdict(work, &sample);
	}
	kgb_llm__end_work(work);
}

void kgb_llm__judge(struct kgb_llm_work *work)
{
	struct kgb_llm_attempt *attempt = work->attempt;
	if (attempt->facts.env->replay) {
		repeat_verdict(work);
		return;
	}
	const struct kgb_sample *twin = kgb_judged_twin(kgb_llm__state_of(attempt), work->tree);
	if (twin)
		share_verdict(work, twin);
	else if (!may_judge(attempt))
		kgb_llm__end_work(work);
	else if (!is_being_judged(attempt, work->tree))
		work->job = submit(work, false);
}

static void serve_twins(const struct kgb_llm_work *judged)
{
	struct kgb_llm_attempt *attempt = judged->attempt;
	for (int i = 0; i < attempt->n_work; i++) {
		struct kgb_llm_work *work = &attempt->work[i];
		const bool waits = work != judged && !work->is_over && !work->ask && !work->job &&
				   kgb_str_eq(work->tree, judged->tree);
		if (waits)
			kgb_llm__judge(work);
	}
}

/* ---- the next round ---- */

static void ask_next(struct kgb_llm_work *work)
{
	const struct kgb_llm_attempt *attempt = work->attempt;
	if (attempt->cancelled || attempt->timed_out || kgb_llm__is_hopeless(attempt->end))
		kgb_llm__end_chain(work);
	else
		kgb_llm__ask(work + 1);
}

/** Record the check of a round, with its file. */
static int record_check(struct kgb_llm_work *work, const char *text, size_t len, const char *status,
			const char *code, struct kgb_err *err)
{
	const struct kgb_sample *sample = kgb_llm__sample_of(work);
	KGB_AUTO(free) char *path = kgb_llm__sample_path(work->attempt, sample, "check.json");
	const struct kgb_sample checked = {.number = work->number,
					   .round = work->round,
					   .check_status = status,
					   .check_code = code};
	if (kgb_fs_write_atomic(AT_FDCWD, path, text, len, 0644, false, err) < 0)
		return -1;
	return kgb_event_sample_checked(work->attempt->facts.env->log,
					work->attempt->facts.spec->name, &checked, err);
}

static void on_checked(void *payload, const struct kgb_job_result *result)
{
	struct kgb_llm_work *work = payload;
	struct kgb_llm_attempt *attempt = work->attempt;
	struct kgb_verdict_summary verdict;
	struct kgb_err err = KGB_ERR_INIT;
	work->check = NULL;
	if (!take_verdict(work, result, &verdict)) {
		kgb_llm__end_chain(work);
	} else if (record_check(work, result->text, result->len, verdict.status, verdict.code,
				&err) < 0) {
		kgb_llm__report_fatal(attempt, &err);
		kgb_llm__end_chain(work);
	} else {
		kgb_llm__go_on(work);
	}
	attempt->n_open--;
	kgb_llm__end_if_idle(attempt);
}

/** Take the check of an earlier round or sample with the same kernel. */
static bool share_check(struct kgb_llm_work *work)
{
	const struct kgb_op_state *op = kgb_llm__state_of(work->attempt);
	for (size_t i = 0; i < op->n_samples; i++) {
		const struct kgb_sample *other = &op->samples[i];
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
		struct kgb_err err = KGB_ERR_INIT;
		if (!other->check_status || !kgb_str_eq(other->kernel_tree, work->tree))
			continue;
		KGB_AUTO(free)
		char *path = kgb_llm__sample_path(work->attempt, other, "check.json");
		if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_VERDICT, &text, &err) == 0 &&
		    record_check(work, text.ptr, text.len, other->check_status, other->check_code,
				 &err) == 0)
			return true;
	}
	return false;
}

/** After an answer: end the chain when its kernel passes a check, else ask for the next round. */
void kgb_llm__go_on(struct kgb_llm_work *work)
{
	const struct kgb_sample *sample = kgb_llm__sample_of(work);
	if (work->round == work->attempt->facts.env->samples->n_rounds ||
	    kgb_op_sample(kgb_llm__state_of(work->attempt), work->number, work->round + 1))
		return;
	if (kgb_str_eq(sample->check_status, "passed")) {
		kgb_llm__end_chain(work);
		return;
	}
	if (sample->check_status || !sample->kernel_sha256) {
		ask_next(work);
	} else if (share_check(work)) {
		kgb_llm__go_on(work);
	} else if (may_judge(work->attempt)) {
		work->attempt->n_open++;
		work->check = submit(work, true);
	} else {
		kgb_llm__end_chain(work);
	}
}
