/* SPDX-License-Identifier: MIT */
#include "agent/follow/followed_run.h"

#include <limits.h>

#include "agent/report/progress.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "base/system/fs.h"

struct reading {
	struct kgb_followed_run *run;
	kgb_followed_fn fn;
	void *payload;
};

static int on_record(void *payload, const struct kgb_journal_record *record, struct kgb_err *err)
{
	const struct reading *reading = payload;
	struct kgb_followed_run *run = reading->run;
	if (kgb_run_state_fold(&run->state, record, err) < 0)
		return -1;
	const char *name = kgb_json_str(record->data, "operator", NULL);
	const struct kgb_op_state *op = name ? kgb_run_state_op(&run->state, name) : NULL;
	if (reading->fn)
		reading->fn(reading->payload, run, op, record->type);
	return 0;
}

/** Current activity of an operator. A value that is no count reads as 0. */
static void read_present(const cJSON *node, struct kgb_op_state *op)
{
	snprintf(op->doing, sizeof(op->doing), "%s", kgb_json_str(node, "doing", ""));
	const int64_t n_queued = kgb_json_i64(node, "judge.queued", 0);
	const int64_t n_judging = kgb_json_i64(node, "judge.running", 0);
	op->n_queued = n_queued > 0 && n_queued <= INT_MAX ? (int)n_queued : 0;
	op->n_judging = n_judging > 0 && n_judging <= INT_MAX ? (int)n_judging : 0;
}

/** Only progress.json has the current activity of agents and judges. Without the file it is
 * unknown. */
static void read_doing(struct kgb_followed_run *run)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *progress = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	struct stat st;
	const cJSON *node = NULL;
	if (fstatat(run->dir.fd, KGB_PROGRESS_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (st.st_mtim.tv_sec == run->doing_read.tv_sec &&
	     st.st_mtim.tv_nsec == run->doing_read.tv_nsec))
		return;
	run->doing_read = st.st_mtim;
	if (kgb_fs_read(run->dir.fd, KGB_PROGRESS_NAME, KGB_LIMIT_JSON, &text, &err) < 0 ||
	    kgb_json_parse(text.ptr, text.len, &progress, &err) < 0)
		return;
	cJSON_ArrayForEach(node, kgb_json_get(progress, "operators")) {
		struct kgb_op_state *op = kgb_run_state_op(&run->state, node->string);
		if (op)
			read_present(node, op);
	}
}

int kgb_followed_run_read(struct kgb_followed_run *run, kgb_followed_fn fn, void *payload,
			  struct kgb_err *err)
{
	struct reading reading = {run, fn, payload};
	/* Test the lock first: a process that has released the run writes no more. */
	run->is_held = kgb_rundir_is_held(&run->dir);
	if (kgb_journal_read_on(run->dir.fd, on_record, &reading, &run->read, err) < 0)
		return err->kind == KGB_ERR_NOT_FOUND
			       ? kgb_fail(err, KGB_ERR_NOT_FOUND,
					  "run '%s' is gone: '%s' was removed", run->dir.name,
					  run->dir.path)
			       : kgb_ctx(err, "run '%s'", run->dir.name);
	if (run->is_held)
		read_doing(run);
	return 0;
}

int kgb_followed_run_open(struct kgb_followed_run *out, const char *runs_dir, const char *name,
			  struct kgb_err *err)
{
	struct kgb_followed_run run = {.dir = KGB_RUNDIR_INIT, .state = KGB_RUN_STATE_INIT};
	if (kgb_rundir_open(&run.dir, runs_dir, name, KGB_RUNDIR_READ, err) < 0)
		return -1;
	if (kgb_followed_run_read(&run, NULL, NULL, err) < 0) {
		kgb_followed_run_release(&run);
		return -1;
	}
	*out = run;
	return 0;
}

bool kgb_followed_run_is_cut_off(const struct kgb_followed_run *run)
{
	return !run->is_held && !run->state.finished;
}

void kgb_followed_run_release(struct kgb_followed_run *run)
{
	kgb_rundir_release(&run->dir);
	kgb_run_state_release(&run->state);
}
