/* SPDX-License-Identifier: MIT */
#include "agent/attempt/versions.h"

#include <fcntl.h>

#include "agent/attempt/recording.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"

/* Most commits of changes of kernel.py: endless rewriting must not fill the disk. */
#define WATCHED_MAX 2000

void kgb_versions_release(struct kgb_versions *versions)
{
	KGB_VEC_RELEASE(&versions->list);
}

const struct kgb_version *kgb_versions_find(const struct kgb_versions *versions, const char *sha256)
{
	KGB_VEC_FOREACH(version, &versions->list)
		if (kgb_str_eq(version->sha256, sha256))
			return version;
	return NULL;
}

const char *kgb_versions_commit_of(const struct kgb_versions *versions, int number)
{
	KGB_VEC_FOREACH(version, &versions->list)
		if (version->number == number)
			return version->commit;
	return NULL;
}

int kgb_versions_read_kernel(const struct kgb_versions *versions, int number, struct kgb_buf *out,
			     struct kgb_err *err)
{
	KGB_AUTO(free)
	char *path = kgb_attempt_verdict_path(&versions->facts->paths, number, "py");
	return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, out, err);
}

int kgb_versions_read_verdict(const struct kgb_versions *versions, int number, struct kgb_buf *text,
			      cJSON **out, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *path = kgb_attempt_verdict_path(&versions->facts->paths, number, "json");
	return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_VERDICT, text, err) < 0
		       ? -1
		       : kgb_json_parse(text->ptr, text->len, out, err);
}

/** A later version replaces an earlier one unless it is known to be slower; with rounds only if
 * kgb_rounds_is_better. */
static void note_best(struct kgb_versions *versions, const struct kgb_verdict_summary *summary)
{
	struct kgb_rounds_best *best = &versions->best;
	bool is_better = versions->facts->paths.has_rounds
				 ? kgb_rounds_is_better(best, summary)
				 : kgb_str_eq(summary->status, "passed") &&
					   summary->speedup >= best->speedup;
	if (is_better)
		*best = (struct kgb_rounds_best){versions->n_submitted, versions->round,
						 summary->speedup};
}

/** infra_error is no verdict on the version. */
static void note_version(struct kgb_versions *versions, const struct kgb_verdict_summary *summary)
{
	note_best(versions, summary);
	if (kgb_str_eq(summary->status, "infra_error") || !summary->kernel_sha256)
		return;
	struct kgb_version version = {.number = versions->n_submitted};
	snprintf(version.sha256, sizeof(version.sha256), "%s", summary->kernel_sha256);
	snprintf(version.commit, sizeof(version.commit), "%s", versions->commit);
	KGB_VEC_ADD(&versions->list, version);
}

int kgb_versions_keep_verdict(struct kgb_versions *versions, const struct kgb_job_result *result,
			      const struct kgb_verdict_summary *summary, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *path =
		kgb_attempt_verdict_path(&versions->facts->paths, versions->n_submitted, "json");
	if (kgb_fs_write_atomic(AT_FDCWD, path, result->text, result->len, 0644, false, err) < 0 ||
	    kgb_workspace_note(versions->ws, versions->commit, result->text, err) < 0)
		return -1;
	note_version(versions, summary);
	return 0;
}

static void on_job_moved(void *payload, int queued, int judging)
{
	const struct kgb_attempt_facts *facts = ((struct kgb_versions *)payload)->facts;
	kgb_run_log_move_job(facts->env->log, facts->spec->name, queued, judging);
}

static void on_job_done(void *payload, const struct kgb_job_result *result)
{
	struct kgb_versions *versions = payload;
	versions->job = NULL;
	versions->done(versions->payload, result);
}

int kgb_versions_submit(struct kgb_versions *versions, const char *kernel, size_t len,
			const char *message, kgb_job_done_fn done, void *payload,
			struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = versions->facts;
	int number = ++versions->n_submitted;
	KGB_AUTO(free) char *path = kgb_attempt_verdict_path(&facts->paths, number, "py");
	struct kgb_workspace_commit commit;
	if (kgb_fs_write_atomic(AT_FDCWD, path, kernel, len, 0644, false, err) < 0 ||
	    kgb_workspace_commit_kernel(versions->ws, kernel, len, message, &commit, err) < 0)
		return -1;
	snprintf(versions->commit, sizeof(versions->commit), "%s", commit.oid);
	if (facts->recording) {
		kgb_recording_judge(facts->recording, number, kernel, len, done, payload);
		return 0;
	}
	versions->done = done;
	versions->payload = payload;
	const struct kgb_job_spec job = {
		.spec_path = facts->spec->path,
		.kernel_path = path,
		.device = kgb_broker_device(facts->env->broker, facts->device),
		.timed = facts->env->method->verify_timing && facts->device->number >= 0,
		.moved = on_job_moved,
		.done = on_job_done,
		.payload = versions,
	};
	versions->job = kgb_broker_submit(facts->env->broker, &job);
	return 0;
}

void kgb_versions_cancel_job(struct kgb_versions *versions)
{
	if (versions->job)
		kgb_job_cancel(versions->job);
}

int kgb_versions_commit_change(struct kgb_versions *versions, bool is_last, struct kgb_err *err)
{
	struct stat now;
	if (fstatat(versions->ws->worktree_fd, KGB_WORKSPACE_KERNEL, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	struct stat *last = &versions->kernel_stat;
	/* The time of change, which no program can set, and not that of modification. */
	bool same = now.st_ctim.tv_sec == last->st_ctim.tv_sec &&
		    now.st_ctim.tv_nsec == last->st_ctim.tv_nsec && now.st_size == last->st_size &&
		    now.st_ino == last->st_ino;
	if (same || (versions->n_watched >= WATCHED_MAX && !is_last))
		return 0;
	*last = now;
	versions->n_watched++;
	struct kgb_workspace_commit commit;
	if (kgb_workspace_commit(versions->ws, "kernel.py changed", &commit, err) < 0)
		return -1;
	if (commit.refusal)
		kgb_verbose("%s: kernel.py is refused: %s", versions->facts->spec->name,
			    commit.refusal);
	return 0;
}
