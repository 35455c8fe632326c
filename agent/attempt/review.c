/* SPDX-License-Identifier: MIT */
#include "agent/attempt/review.h"

#include <fcntl.h>

#include "agent/attempt/recording.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "methods/prompt.h"
#include "verify/lane/report.h"

/* Copies for the agent, in its workspace, and ours. */
#define LOG_NAME "ITERATIONS.md"
#define MEMORY_NAME "memory.md"

void kgb_review_release(struct kgb_review *review)
{
	kgb_free(review->summary);
	kgb_free(review->report);
}

void kgb_review_begin_round(struct kgb_review *review, int round)
{
	review->round = review->versions->round = round;
	review->number = 0;
	review->code = NULL;
	*review->commit = '\0';
	kgb_free(review->summary);
	review->summary = NULL;
}

static const struct kgb_attempt_state *state_of(const struct kgb_review *review)
{
	return kgb_op_last_attempt(kgb_run_state_op(kgb_run_log_state(review->facts->env->log),
						    review->facts->spec->name));
}

/* ---- what the round reads ---- */

/** The results of rounds on other operators. A replay takes the recorded text, because its
 * operators run in another order. */
static int read_memory(const struct kgb_review *review, struct kgb_buf *out, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = review->facts;
	if (!facts->loop.memory)
		return 0;
	if (facts->recording) {
		KGB_AUTO(free)
		char *recorded = kgb_attempt_round_path(kgb_recording_paths(facts->recording),
							review->round, MEMORY_NAME);
		if (kgb_fs_read(AT_FDCWD, recorded, KGB_LIMIT_PROMPT, out, err) < 0)
			return -1;
	} else {
		kgb_rounds_memory(kgb_run_log_state(facts->env->log), facts->spec->name, out);
	}
	KGB_AUTO(free)
	char *path = kgb_attempt_round_path(&facts->paths, review->round, MEMORY_NAME);
	return kgb_fs_write_atomic(AT_FDCWD, path, out->ptr, out->len, 0644, false, err);
}

/** The template has a newline behind the placeholder. */
static void drop_newline(struct kgb_buf *text)
{
	if (text->len > 0 && text->ptr[text->len - 1] == '\n')
		kgb_buf_truncate(text, text->len - 1);
}

static int add_round_text(struct kgb_review *review, struct kgb_buf *prompt, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf state = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf log = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf memory = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	const struct kgb_attempt_facts *facts = review->facts;
	const char *refusal = NULL;
	char sha256[KGB_SHA256_HEX_LEN];
	if (kgb_workspace_read_kernel(review->ws, &kernel, &refusal, err) < 0 ||
	    read_memory(review, &memory, err) < 0)
		return -1;
	kgb_sha256_hex(kernel.ptr, kernel.len, sha256);
	const struct kgb_rounds_kernel before = {
		.best = &review->versions->best,
		.round = review->round - 1,
		.exists = !refusal,
		.is_stub = !refusal && review->start->is_stub &&
			   kgb_str_eq(sha256, review->start->sha256),
		.report = review->report,
	};
	kgb_rounds_describe_kernel(&before, &state);
	kgb_rounds_log(state_of(review), &log);
	drop_newline(&log);
	drop_newline(&memory);
	const struct kgb_prompt_round round = {
		.platform = kgb_devices_platform(facts->env->devices),
		.round = review->round,
		.rounds = facts->loop.iterations,
		.state = state.ptr,
		.log = log.ptr,
		.memory = memory.ptr,
	};
	if (kgb_prompt_round_render(facts->env->method, &round, &text, err) < 0)
		return -1;
	kgb_buf_add(prompt, text.ptr, text.len);
	return prompt->overflowed
		       ? kgb_fail(err, KGB_ERR_LIMIT, "a prompt is over %u bytes", KGB_LIMIT_PROMPT)
		       : 0;
}

int kgb_review_write_prompt(struct kgb_review *review, struct kgb_buf *prompt, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *path = kgb_attempt_round_path(&review->facts->paths, review->round, "prompt.md");
	kgb_buf_addc(prompt, '\n');
	return add_round_text(review, prompt, err) < 0 ||
			       kgb_fs_write_atomic(AT_FDCWD, path, prompt->ptr, prompt->len, 0644,
						   false, err) < 0 ||
			       kgb_workspace_write(review->ws, "TASK.md", prompt->ptr, prompt->len,
						   err) < 0
		       ? -1
		       : 0;
}

/* ---- the record ---- */

/** The round's names in the history: iter-N, and `best` for the version that is. */
static int tag_round(struct kgb_review *review, bool kept, struct kgb_err *err)
{
	const char *best =
		kept ? kgb_versions_commit_of(review->versions, review->versions->best.check)
		     : NULL;
	KGB_AUTO(free) char *name = kgb_xasprintf("iter-%d", review->round);
	if (*review->commit && kgb_workspace_tag(review->ws, review->commit,
						 review->round == 0 ? "baseline" : name, err) < 0)
		return -1;
	return best ? kgb_workspace_tag(review->ws, best, "best", err) : 0;
}

/** Keep the judge's report on the version that the round left, for the next round. */
static void keep_report(struct kgb_review *review, const cJSON *verdict)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	kgb_free(review->report);
	review->report = NULL;
	if (!verdict)
		return;
	kgb_verdict_report(verdict, &text);
	review->report = kgb_buf_take(&text);
}

/** Journal the round: with the verdict of its best version when that is the best of all, else of
 * its last. */
static int record_round(struct kgb_review *review, const struct kgb_ended_round *ended,
			struct kgb_err *err)
{
	const struct kgb_rounds_best *best = &review->versions->best;
	KGB_AUTO(json) cJSON *verdict = NULL;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	const struct kgb_attempt_facts *facts = review->facts;
	bool kept = best->check > 0 && best->round == review->round;
	struct kgb_round round = {
		.number = review->round,
		.category = facts->spec->category,
		.code = review->code,
		.check = kept ? best->check : review->number,
		.kept = kept,
		.commit = *review->commit ? review->commit : NULL,
		.summary = review->summary,
		.gateway = *ended->gateway,
		.cli = ended->report->usage,
	};
	if (review->round > 0) {
		round.end = kgb_agent_end_code(ended->end);
		round.session_id = ended->session_id;
		round.prompt_sha256 = ended->prompt_sha256;
	}
	if (round.check > 0) {
		if (kgb_versions_read_verdict(review->versions, round.check, &text, &verdict, err) <
			    0 ||
		    kgb_verdict_summarise(verdict, &round.verdict, err) < 0)
			return -1;
		round.has_verdict = true;
		round.code = NULL;
	}
	keep_report(review, verdict);
	if (tag_round(review, kept, err) < 0)
		return -1;
	return kgb_event_round_finished(facts->env->log, facts->spec->name, facts->number, &round,
					err);
}

/** Write the log of rounds, for the record and for the agent, and the memory of the run, for
 * people. */
static int write_log(struct kgb_review *review, struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = review->facts;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf memory = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *path = kgb_attempt_path(&facts->paths, LOG_NAME);
	kgb_buf_addf(&text, "# Rounds on %s\n\n", facts->spec->name);
	kgb_rounds_log(state_of(review), &text);
	if (kgb_fs_write_atomic(AT_FDCWD, path, text.ptr, text.len, 0644, false, err) < 0 ||
	    kgb_workspace_write(review->ws, LOG_NAME, text.ptr, text.len, err) < 0)
		return -1;
	if (!facts->loop.memory)
		return 0;
	kgb_rounds_memory(kgb_run_log_state(facts->env->log), NULL, &memory);
	return kgb_fs_write_atomic(facts->env->dir->fd, MEMORY_NAME, memory.ptr, memory.len, 0644,
				   false, err);
}

/** Restore the best version in the workspace unless it is there. */
static int put_best_back(struct kgb_review *review, struct kgb_err *err)
{
	const struct kgb_rounds_best *best = &review->versions->best;
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf now = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	struct kgb_workspace_commit commit;
	const char *refusal = NULL;
	if (best->check == 0)
		return 0;
	if (kgb_versions_read_kernel(review->versions, best->check, &kernel, err) < 0 ||
	    kgb_workspace_read_kernel(review->ws, &now, &refusal, err) < 0)
		return -1;
	if (!refusal && now.len == kernel.len && memcmp(now.ptr, kernel.ptr, now.len) == 0)
		return 0;
	KGB_AUTO(free)
	char *message = best->round > 0
				? kgb_xasprintf("[iter %d] back to the version of round %d",
						review->round, best->round)
				: kgb_xasprintf("[iter %d] back to the kernel to begin with",
						review->round);
	if (kgb_workspace_write(review->ws, KGB_WORKSPACE_KERNEL, kernel.ptr, kernel.len, err) < 0)
		return -1;
	return kgb_workspace_commit(review->ws, message, &commit, err);
}

int kgb_review_finish(struct kgb_review *review, const struct kgb_ended_round *ended,
		      struct kgb_err *err)
{
	return record_round(review, ended, err) < 0 || write_log(review, err) < 0 ||
			       put_best_back(review, err) < 0
		       ? -1
		       : 0;
}

/* ---- judging ---- */

/** "[iter 2] SUMMARY", "[baseline] ..." */
static char *commit_message(const struct kgb_review *review)
{
	if (review->round == 0)
		return kgb_xstrdup("[baseline] the kernel to begin with");
	return kgb_xasprintf("[iter %d] %s", review->round, review->summary ? review->summary : "");
}

/** Commit the round with the verdict of a version that was judged before. */
static int reuse_verdict(struct kgb_review *review, const struct kgb_version *known,
			 const struct kgb_buf *kernel, const char *message, struct kgb_err *err)
{
	KGB_AUTO(json) cJSON *verdict = NULL;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	struct kgb_workspace_commit commit;
	if (kgb_versions_read_verdict(review->versions, known->number, &text, &verdict, err) < 0 ||
	    kgb_workspace_commit_kernel(review->ws, kernel->ptr, kernel->len, message, &commit,
					err) < 0 ||
	    kgb_workspace_note(review->ws, commit.oid, text.ptr, err) < 0)
		return -1;
	review->number = known->number;
	snprintf(review->commit, sizeof(review->commit), "%s", commit.oid);
	return 0;
}

/** Why there is nothing to judge; NULL: there is something. */
static const char *nothing_to_judge(const struct kgb_review *review, const char *refusal,
				    const char *sha256)
{
	bool is_stub = review->round > 0 && kgb_str_eq(sha256, review->start->sha256);
	if (refusal && kgb_code_find(refusal) != KGB_CODE_AGENT_KERNEL_MISSING)
		return refusal;
	return refusal || is_stub ? kgb_code_name(KGB_CODE_AGENT_NO_KERNEL) : NULL;
}

static void on_verdict(void *payload, const struct kgb_job_result *result);

/** Submit kernel.py to the judge unless it has a verdict already or does not exist. */
static void judge(struct kgb_review *review)
{
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(free) char *message = commit_message(review);
	struct kgb_err err = KGB_ERR_INIT;
	const char *refusal = NULL;
	char sha256[KGB_SHA256_HEX_LEN];
	int rc = kgb_workspace_read_kernel(review->ws, &kernel, &refusal, &err);
	kgb_sha256_hex(kernel.ptr, kernel.len, sha256);
	const struct kgb_version *known = kgb_versions_find(review->versions, sha256);
	bool submits = false;
	if (rc == 0 && !refusal && known) {
		rc = reuse_verdict(review, known, &kernel, message, &err);
	} else if (rc == 0) {
		review->code = nothing_to_judge(review, refusal, sha256);
		submits = !review->code;
	}
	/* A replay calls on_verdict inside this call. */
	if (submits)
		rc = kgb_versions_submit(review->versions, kernel.ptr, kernel.len, message,
					 on_verdict, review, &err);
	if (!submits || rc < 0)
		review->on_judged(review->payload, rc < 0 ? &err : NULL);
}

static void on_verdict(void *payload, const struct kgb_job_result *result)
{
	struct kgb_review *review = payload;
	struct kgb_verdict_summary summary;
	struct kgb_err err = result->err;
	bool usable =
		result->verdict && kgb_verdict_summarise(result->verdict, &summary, &err) == 0;
	bool is_judged = usable && !kgb_str_eq(summary.status, "infra_error");
	bool is_fatal =
		usable && kgb_versions_keep_verdict(review->versions, result, &summary, &err) < 0;
	if (!is_judged && !result->cancelled)
		kgb_warn("%s: round %d: no verdict: %s", review->facts->spec->name, review->round,
			 usable ? summary.message : err.msg);
	snprintf(review->commit, sizeof(review->commit), "%s", review->versions->commit);
	if (is_judged)
		review->number = review->versions->n_submitted;
	else
		review->code = kgb_code_name(result->cancelled ? KGB_CODE_AGENT_CANCELLED
							       : KGB_CODE_INFRA_JUDGE);
	review->on_judged(review->payload, is_fatal ? &err : NULL);
}

void kgb_review_judge(struct kgb_review *review, const struct kgb_ended_round *ended)
{
	if (review->round > 0) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_rounds_summary(ended->report->final_text, &text);
		review->summary = text.len > 0 ? kgb_buf_take(&text) : NULL;
		review->n_good_rounds += kgb_rounds_goes_on_after(ended->end);
	}
	/* A round that was cut off has not finished its kernel. */
	if (ended->is_cut_off) {
		review->code = kgb_agent_end_code(ended->end);
		review->on_judged(review->payload, NULL);
	} else {
		judge(review);
	}
}
