/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>

#include "agent/attempt/attempt_internal.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "verify/lane/report.h"

enum {
	HTTP_OK = 200,
	HTTP_CONFLICT = 409,
	HTTP_TOO_LARGE = 413,
	HTTP_TOO_MANY = 429,
	HTTP_UNAVAILABLE = 503
};

/* Changes of kernel.py that are committed without being asked for; a file that is rewritten without
 * end must not fill the disk. Checks and the final version are kept in any case. */
#define WATCHED_MAX 2000

char *kgb_attempt__verdict_file(const struct kgb_attempt *attempt, int check, const char *suffix)
{
	return kgb_xasprintf("%s/verdicts/%03d.%s", attempt->dir, check, suffix);
}

const struct kgb_version *kgb_attempt__version(const struct kgb_attempt *attempt,
					       const char *sha256)
{
	for (size_t i = 0; i < attempt->n_versions; i++)
		if (kgb_str_eq(attempt->versions[i].sha256, sha256))
			return &attempt->versions[i];
	return NULL;
}

/** The agent reads verdicts without what would help it to foresee the final one. */
static void reply_verdict(struct kgb_attempt *attempt, const cJSON *verdict)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	kgb_verdict_report(verdict, &text);
	int64_t left = attempt->env->max_verify_calls - attempt->n_checks;
	kgb_buf_addf(&text, "checks left: %lld\n", (long long)left);
	char warning[160];
	if (kgb_budget_warning(&attempt->budget, warning, sizeof(warning)))
		kgb_buf_addf(&text, "budget: %s\n", warning);
	kgb_verify_reply(attempt->check, HTTP_OK, text.ptr);
	attempt->check = NULL;
}

static void reply_trouble(struct kgb_attempt *attempt, const char *why)
{
	KGB_AUTO(free) char *text = kgb_xasprintf("the check could not be run: %s\n", why);
	kgb_verify_reply(attempt->check, HTTP_UNAVAILABLE, text);
	attempt->check = NULL;
}

/** A later version replaces an earlier one unless it is known to be slower; in a loop only when it
 * is better for sure. */
static void note_best(struct kgb_attempt *attempt, const struct kgb_verdict_summary *summary)
{
	struct kgb_rounds_best *best = &attempt->best;
	bool is_better = kgb_attempt__has_loop(attempt) ? kgb_rounds_is_better(best, summary)
							: kgb_str_eq(summary->status, "passed") &&
								  summary->speedup >= best->speedup;
	if (is_better)
		*best = (struct kgb_rounds_best){attempt->n_asked, attempt->round,
						 summary->speedup};
}

/** A machine that was in trouble has said nothing of the version itself. */
static void note_version(struct kgb_attempt *attempt, const struct kgb_verdict_summary *summary)
{
	note_best(attempt, summary);
	if (kgb_str_eq(summary->status, "infra_error") || !summary->kernel_sha256)
		return;
	attempt->versions = kgb_xreallocarray(attempt->versions, attempt->n_versions + 1,
					      sizeof(*attempt->versions));
	struct kgb_version *version = &attempt->versions[attempt->n_versions++];
	*version = (struct kgb_version){.check = attempt->n_asked};
	snprintf(version->sha256, sizeof(version->sha256), "%s", summary->kernel_sha256);
	snprintf(version->commit, sizeof(version->commit), "%s", attempt->check_commit);
}

int kgb_attempt__keep_verdict(struct kgb_attempt *attempt, const struct kgb_job_result *result,
			      const struct kgb_verdict_summary *summary, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_attempt__verdict_file(attempt, attempt->n_asked, "json");
	if (kgb_fs_write_atomic(AT_FDCWD, path, result->text, result->len, 0644, false, err) < 0 ||
	    kgb_workspace_note(&attempt->ws, attempt->check_commit, result->text, err) < 0)
		return -1;
	note_version(attempt, summary);
	return 0;
}

/** Evidence first: the verdict as a file, a git note and a journal record; then the agent may know
 * it. */
static int answer_agent(struct kgb_attempt *attempt, const struct kgb_job_result *result,
			const struct kgb_verdict_summary *summary, struct kgb_err *err)
{
	attempt->n_checks++;
	if (kgb_attempt__keep_verdict(attempt, result, summary, err) < 0 ||
	    kgb_event_verify_call(attempt->env->log, attempt->spec->name, attempt->number, summary,
				  attempt->check_commit, err) < 0)
		return -1;
	reply_verdict(attempt, result->verdict);
	return 0;
}

void kgb_attempt__take_verdict(struct kgb_attempt *attempt, const struct kgb_job_result *result)
{
	struct kgb_verdict_summary summary;
	struct kgb_err err = result->err;
	attempt->job = NULL;
	if (!attempt->check) {
		kgb_attempt__round_judged(attempt, result);
		return;
	}
	if (!result->verdict || kgb_verdict_summarise(result->verdict, &summary, &err) < 0) {
		if (!result->cancelled)
			kgb_warn("%s: check %d: %s", attempt->spec->name, attempt->n_asked,
				 err.msg);
		reply_trouble(attempt, err.msg);
	} else if (answer_agent(attempt, result, &summary, &err) < 0) {
		reply_trouble(attempt, err.msg);
		kgb_attempt__fatal(attempt, &err);
	}
	kgb_attempt__maybe_settled(attempt);
}

static void on_job_done(void *payload, const struct kgb_job_result *result)
{
	kgb_attempt__take_verdict(payload, result);
}

/** Keep the bytes that are about to be judged, as a file and as a commit. */
static int keep_candidate(struct kgb_attempt *attempt, const char *kernel, size_t len,
			  const char *message, struct kgb_err *err)
{
	attempt->n_asked++;
	KGB_AUTO(free) char *path = kgb_attempt__verdict_file(attempt, attempt->n_asked, "py");
	struct kgb_workspace_commit commit;
	if (kgb_fs_write_atomic(AT_FDCWD, path, kernel, len, 0644, false, err) < 0 ||
	    kgb_workspace_commit_kernel(&attempt->ws, kernel, len, message, &commit, err) < 0)
		return -1;
	snprintf(attempt->check_commit, sizeof(attempt->check_commit), "%s", commit.oid);
	return 0;
}

int kgb_attempt__submit(struct kgb_attempt *attempt, const char *kernel, size_t len,
			const char *message, struct kgb_err *err)
{
	if (keep_candidate(attempt, kernel, len, message, err) < 0)
		return -1;
	if (attempt->env->replay) {
		kgb_attempt__replay_check(attempt, kernel, len);
		return 0;
	}
	KGB_AUTO(free) char *path = kgb_attempt__verdict_file(attempt, attempt->n_asked, "py");
	const struct kgb_device *device = kgb_devices_at(attempt->env->devices, attempt->slot);
	const struct kgb_job_spec job = {
		.spec_path = attempt->spec->path,
		.kernel_path = path,
		.device = device,
		.timed = attempt->env->method->verify_timing && device->number >= 0,
		.done = on_job_done,
		.payload = attempt,
	};
	attempt->job = kgb_broker_submit(attempt->env->broker, &job);
	return 0;
}

void kgb_attempt__on_verify(void *payload, struct kgb_verify_request *req, const char *kernel,
			    size_t len)
{
	struct kgb_attempt *attempt = payload;
	if (attempt->check) {
		kgb_verify_reply(req, HTTP_CONFLICT, "a check is running already; wait for it\n");
		return;
	}
	if (attempt->n_checks >= attempt->env->max_verify_calls) {
		kgb_verify_reply(req, HTTP_TOO_MANY,
				 "no checks left; finish with the best version you have\n");
		return;
	}
	if (len > KGB_LIMIT_KERNEL) {
		KGB_AUTO(free)
		char *text = kgb_xasprintf("kernel.py has %zu bytes; at most %u are allowed\n", len,
					   KGB_LIMIT_KERNEL);
		kgb_verify_reply(req, HTTP_TOO_LARGE, text);
		return;
	}
	struct kgb_err err = KGB_ERR_INIT;
	attempt->check = req;
	if (attempt->phase != KGB_ATTEMPT_RUNNING) {
		reply_trouble(attempt, "the attempt is ending");
		return;
	}
	KGB_AUTO(free) char *message = kgb_xasprintf("check %d", attempt->n_asked + 1);
	if (kgb_attempt__submit(attempt, kernel, len, message, &err) < 0) {
		reply_trouble(attempt, err.msg);
		kgb_attempt__fatal(attempt, &err);
	}
}

void kgb_attempt__watch_kernel(struct kgb_attempt *attempt)
{
	struct stat now;
	if (fstatat(attempt->ws.worktree_fd, KGB_WORKSPACE_KERNEL, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	struct stat *last = &attempt->kernel_stat;
	/* The time of change, which no program can set, and not that of modification. */
	bool same = now.st_ctim.tv_sec == last->st_ctim.tv_sec &&
		    now.st_ctim.tv_nsec == last->st_ctim.tv_nsec && now.st_size == last->st_size &&
		    now.st_ino == last->st_ino;
	if (same || attempt->n_watched >= WATCHED_MAX)
		return;
	*last = now;
	attempt->n_watched++;
	struct kgb_workspace_commit commit;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_workspace_commit(&attempt->ws, "kernel.py changed", &commit, &err) < 0)
		kgb_attempt__fatal(attempt, &err);
	else if (commit.refusal)
		kgb_verbose("%s: kernel.py is not taken: %s", attempt->spec->name, commit.refusal);
}
