/* SPDX-License-Identifier: MIT */
/** \file
 * Between the rounds of a method that works in rounds: what a round has left is judged by the
 * harness, kept when it is better and else replaced by the best version; all of it is written down,
 * and the next round begins, or none does. The agent does not run meanwhile.
 */
#include <fcntl.h>

#include "agent/attempt/attempt_internal.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "methods/prompt.h"
#include "verify/lane/report.h"

/* A verdict of infra_error says nothing about the kernel: it is asked for again, this often in all.
 */
#define JUDGE_TRIES 2

/* Copies for the agent, in its workspace, and ours. */
#define LOG_NAME "ITERATIONS.md"
#define MEMORY_NAME "memory.md"

static const struct kgb_attempt_state *state_of(const struct kgb_attempt *attempt)
{
	return kgb_op_last_attempt(
		kgb_run_state_op(kgb_run_log_state(attempt->env->log), attempt->spec->name));
}

/* ---- what the round is told ---- */

/** A replay is told what the recorded round was: other operators come in another order now. */
static int read_memory(const struct kgb_attempt *attempt, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(attempt->round_dir, MEMORY_NAME);
	if (!attempt->loop.memory)
		return 0;
	if (attempt->env->replay) {
		KGB_AUTO(free)
		char *recorded = kgb_xasprintf("%s%s/" MEMORY_NAME, attempt->recorded_dir,
					       attempt->round_dir + strlen(attempt->dir));
		if (kgb_fs_read(AT_FDCWD, recorded, KGB_LIMIT_PROMPT, out, err) < 0)
			return -1;
	} else {
		kgb_rounds_memory(kgb_run_log_state(attempt->env->log), attempt->spec->name, out);
	}
	return kgb_fs_write_atomic(AT_FDCWD, path, out->ptr, out->len, 0644, false, err);
}

/** A template has its own behind the placeholder. */
static void drop_newline(struct kgb_buf *text)
{
	if (text->len > 0 && text->ptr[text->len - 1] == '\n')
		kgb_buf_truncate(text, text->len - 1);
}

int kgb_attempt__tell_round(struct kgb_attempt *attempt, struct kgb_buf *prompt,
			    struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf told = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf log = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf memory = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	const char *refusal = NULL;
	char sha256[KGB_SHA256_HEX_LEN];
	if (kgb_workspace_read_kernel(&attempt->ws, &kernel, &refusal, err) < 0 ||
	    read_memory(attempt, &memory, err) < 0)
		return -1;
	kgb_sha256_hex(kernel.ptr, kernel.len, sha256);
	const struct kgb_rounds_state state = {
		.best = &attempt->best,
		.round = attempt->round - 1,
		.has_kernel = !refusal,
		.is_stub = !refusal && attempt->start_is_stub &&
			   kgb_str_eq(sha256, attempt->start_sha256),
		.report = attempt->report,
	};
	kgb_rounds_tell(&state, &told);
	kgb_rounds_log(state_of(attempt), &log);
	drop_newline(&log);
	drop_newline(&memory);
	const struct kgb_prompt_round round = {
		.platform = kgb_devices_platform(attempt->env->devices),
		.round = attempt->round,
		.rounds = attempt->loop.iterations,
		.state = told.ptr,
		.log = log.ptr,
		.memory = memory.ptr,
	};
	if (kgb_prompt_round_render(attempt->env->method, &round, &text, err) < 0)
		return -1;
	kgb_buf_add(prompt, text.ptr, text.len);
	return prompt->overflowed
		       ? kgb_fail(err, KGB_ERR_LIMIT, "a prompt is over %u bytes", KGB_LIMIT_PROMPT)
		       : 0;
}

/* ---- writing down ---- */

/** The verdict of a version once more; its text too. */
static int read_verdict(const struct kgb_attempt *attempt, int check, struct kgb_buf *text,
			cJSON **out, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_attempt__verdict_file(attempt, check, "json");
	return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_VERDICT, text, err) < 0
		       ? -1
		       : kgb_json_parse(text->ptr, text->len, out, err);
}

static const char *commit_of(const struct kgb_attempt *attempt, int check)
{
	for (size_t i = 0; i < attempt->n_versions; i++)
		if (attempt->versions[i].check == check)
			return attempt->versions[i].commit;
	return NULL;
}

/** The round's names in the history: iter-N, and `best` for the version that is. */
static int tag_round(struct kgb_attempt *attempt, bool kept, struct kgb_err *err)
{
	const char *best = kept ? commit_of(attempt, attempt->best.check) : NULL;
	KGB_AUTO(free) char *name = kgb_xasprintf("iter-%d", attempt->round);
	if (*attempt->round_commit &&
	    kgb_workspace_tag(&attempt->ws, attempt->round_commit,
			      attempt->round == 0 ? "baseline" : name, err) < 0)
		return -1;
	return best ? kgb_workspace_tag(&attempt->ws, best, "best", err) : 0;
}

/** What the judge said of the version that the round left, for the next one. */
static void take_report(struct kgb_attempt *attempt, const cJSON *verdict)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	kgb_free(attempt->report);
	attempt->report = NULL;
	if (!verdict)
		return;
	kgb_verdict_report(verdict, &text);
	attempt->report = kgb_buf_take(&text);
}

/** The round in the journal: the verdict of its best version when that is the best of all, else of
 * its last.
 */
static int record_round(struct kgb_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_rounds_best *best = &attempt->best;
	KGB_AUTO(json) cJSON *verdict = NULL;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	bool kept = best->check > 0 && best->round == attempt->round;
	struct kgb_round round = {
		.number = attempt->round,
		.category = attempt->spec->category,
		.code = attempt->round_code,
		.check = kept ? best->check : attempt->round_check,
		.kept = kept,
		.commit = *attempt->round_commit ? attempt->round_commit : NULL,
		.summary = attempt->summary,
		.gateway = attempt->sums.round.usage,
		.cli = attempt->stream.events.report.usage,
	};
	if (attempt->round > 0) {
		round.end = kgb_agent_end_code(kgb_attempt__classify(attempt));
		round.session_id = attempt->session_id;
		round.prompt_sha256 = attempt->round_prompt_sha256;
	}
	if (round.check > 0) {
		if (read_verdict(attempt, round.check, &text, &verdict, err) < 0 ||
		    kgb_verdict_summarise(verdict, &round.verdict, err) < 0)
			return -1;
		round.has_verdict = true;
		round.code = NULL;
	}
	take_report(attempt, verdict);
	if (tag_round(attempt, kept, err) < 0)
		return -1;
	return kgb_event_round_finished(attempt->env->log, attempt->spec->name, attempt->number,
					&round, err);
}

/** The log for the agent and ours, and for people the memory of the run. */
static int write_log(struct kgb_attempt *attempt, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(buf) struct kgb_buf memory = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *path = kgb_attempt__path(attempt, LOG_NAME);
	kgb_buf_addf(&text, "# Rounds on %s\n\n", attempt->spec->name);
	kgb_rounds_log(state_of(attempt), &text);
	if (kgb_fs_write_atomic(AT_FDCWD, path, text.ptr, text.len, 0644, false, err) < 0 ||
	    kgb_workspace_write(&attempt->ws, LOG_NAME, text.ptr, text.len, err) < 0)
		return -1;
	if (!attempt->loop.memory)
		return 0;
	kgb_rounds_memory(kgb_run_log_state(attempt->env->log), NULL, &memory);
	return kgb_fs_write_atomic(attempt->env->dir->fd, MEMORY_NAME, memory.ptr, memory.len, 0644,
				   false, err);
}

/** What is not the best version gives way to it. */
static int put_best_back(struct kgb_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_rounds_best *best = &attempt->best;
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf now = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	struct kgb_workspace_commit commit;
	const char *refusal = NULL;
	if (best->check == 0)
		return 0;
	KGB_AUTO(free) char *path = kgb_attempt__verdict_file(attempt, best->check, "py");
	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, &kernel, err) < 0 ||
	    kgb_workspace_read_kernel(&attempt->ws, &now, &refusal, err) < 0)
		return -1;
	if (!refusal && now.len == kernel.len && memcmp(now.ptr, kernel.ptr, now.len) == 0)
		return 0;
	KGB_AUTO(free)
	char *message = best->round > 0
				? kgb_xasprintf("[iter %d] back to the version of round %d",
						attempt->round, best->round)
				: kgb_xasprintf("[iter %d] back to the kernel to begin with",
						attempt->round);
	if (kgb_workspace_write(&attempt->ws, KGB_WORKSPACE_KERNEL, kernel.ptr, kernel.len, err) <
	    0)
		return -1;
	return kgb_workspace_commit(&attempt->ws, message, &commit, err);
}

/* ---- what comes next ---- */

static bool may_go_on(struct kgb_attempt *attempt)
{
	int64_t requests = attempt->env->method->limits.model_requests;
	if (attempt->last_round || attempt->cancelled || attempt->reported_fatal)
		return false;
	if (attempt->round == 0)
		return true;
	if (!kgb_rounds_goes_on_after(kgb_attempt__classify(attempt)) || attempt->budget_code ||
	    kgb_budget_reached(&attempt->budget) ||
	    (requests > 0 && attempt->sums.totals.n_exchanges >= requests))
		return false;
	attempt->stopped_by = kgb_rounds_stop(&attempt->loop, attempt->round, &attempt->best);
	return !attempt->stopped_by;
}

/** All is judged: write it down, make the workspace ready, go on. */
static void settle(struct kgb_attempt *attempt)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (record_round(attempt, &err) < 0 || write_log(attempt, &err) < 0 ||
	    put_best_back(attempt, &err) < 0)
		kgb_attempt__fatal(attempt, &err);
	if (may_go_on(attempt))
		kgb_attempt__next_round(attempt);
	else
		kgb_attempt__conclude(attempt);
}

/** "[iter 2] what its agent said of it", "[baseline]" */
static char *commit_message(const struct kgb_attempt *attempt)
{
	if (attempt->round == 0)
		return kgb_xstrdup("[baseline] the kernel to begin with");
	return kgb_xasprintf("[iter %d] %s", attempt->round,
			     attempt->summary ? attempt->summary : "");
}

/** A version that was judged before: the round has a commit with that verdict too. */
static int take_known(struct kgb_attempt *attempt, const struct kgb_version *known,
		      const struct kgb_buf *kernel, const char *message, struct kgb_err *err)
{
	KGB_AUTO(json) cJSON *verdict = NULL;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	struct kgb_workspace_commit commit;
	if (read_verdict(attempt, known->check, &text, &verdict, err) < 0 ||
	    kgb_workspace_commit_kernel(&attempt->ws, kernel->ptr, kernel->len, message, &commit,
					err) < 0 ||
	    kgb_workspace_note(&attempt->ws, commit.oid, text.ptr, err) < 0)
		return -1;
	attempt->round_check = known->check;
	snprintf(attempt->round_commit, sizeof(attempt->round_commit), "%s", commit.oid);
	return 0;
}

/** Why there is nothing to judge; NULL: there is something. */
static const char *nothing_to_judge(const struct kgb_attempt *attempt, const char *refusal,
				    const char *sha256)
{
	bool is_stub = attempt->round > 0 && kgb_str_eq(sha256, attempt->start_sha256);
	if (refusal && !kgb_str_eq(refusal, "agent.kernel_missing"))
		return refusal;
	return refusal || is_stub ? "agent.no_kernel" : NULL;
}

/** Have kernel.py judged, unless that is done already or there is none. True: the answer comes to
 * kgb_attempt__round_judged. */
static bool judge(struct kgb_attempt *attempt)
{
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(free) char *message = commit_message(attempt);
	struct kgb_err err = KGB_ERR_INIT;
	const char *refusal = NULL;
	char sha256[KGB_SHA256_HEX_LEN];
	int rc = kgb_workspace_read_kernel(&attempt->ws, &kernel, &refusal, &err);
	kgb_sha256_hex(kernel.ptr, kernel.len, sha256);
	const struct kgb_version *known = kgb_attempt__version(attempt, sha256);
	bool submitted = false;
	if (rc == 0 && !refusal && known) {
		rc = take_known(attempt, known, &kernel, message, &err);
	} else if (rc == 0) {
		attempt->round_code = nothing_to_judge(attempt, refusal, sha256);
		submitted = !attempt->round_code;
	}
	/* A replay answers at once. */
	if (submitted)
		rc = kgb_attempt__submit(attempt, kernel.ptr, kernel.len, message, &err);
	if (rc < 0)
		kgb_attempt__fatal(attempt, &err);
	return submitted && rc == 0;
}

void kgb_attempt__round_judged(struct kgb_attempt *attempt, const struct kgb_job_result *result)
{
	struct kgb_verdict_summary summary;
	struct kgb_err err = result->err;
	bool usable =
		result->verdict && kgb_verdict_summarise(result->verdict, &summary, &err) == 0;
	bool is_said = usable && !kgb_str_eq(summary.status, "infra_error");
	attempt->n_judge_tries++;
	if (usable && kgb_attempt__keep_verdict(attempt, result, &summary, &err) < 0)
		kgb_attempt__fatal(attempt, &err);
	if (!is_said && !result->cancelled)
		kgb_warn("%s: round %d: no verdict: %s", attempt->spec->name, attempt->round,
			 usable ? summary.message : err.msg);
	snprintf(attempt->round_commit, sizeof(attempt->round_commit), "%s", attempt->check_commit);
	if (is_said)
		attempt->round_check = attempt->n_asked;
	else
		attempt->round_code = result->cancelled ? "agent.cancelled" : "infra.judge";
	bool again = !is_said && !result->cancelled && !attempt->env->replay &&
		     !attempt->reported_fatal && attempt->n_judge_tries < JUDGE_TRIES;
	if (!again || !judge(attempt))
		settle(attempt);
}

void kgb_attempt__round_over(struct kgb_attempt *attempt)
{
	if (!kgb_attempt__has_loop(attempt)) {
		kgb_attempt__conclude(attempt);
		return;
	}
	if (attempt->round > 0) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_rounds_summary(attempt->stream.events.report.final_text, &text);
		attempt->summary = text.len > 0 ? kgb_buf_take(&text) : NULL;
		attempt->n_good_rounds += kgb_rounds_goes_on_after(kgb_attempt__classify(attempt));
	}
	attempt->n_judge_tries = 0;
	/* What an agent was cut off from is not its word on the kernel. */
	bool cut_off = attempt->cancelled || attempt->timed_out || attempt->reported_fatal;
	if (cut_off)
		attempt->round_code = kgb_agent_end_code(kgb_attempt__classify(attempt));
	if (cut_off || !judge(attempt))
		settle(attempt);
}
