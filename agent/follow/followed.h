/* SPDX-License-Identifier: MIT */
/** \file
 * Runs of another process that are followed together: those of a series, or one.
 */
#ifndef KGB_AGENT_FOLLOW_FOLLOWED_H
#define KGB_AGENT_FOLLOW_FOLLOWED_H

#include "agent/follow/followed_run.h"
#include "agent/screen/shown.h"

struct kgb_followed {
	struct kgb_followed_run *runs; /* owned; one at least */
	size_t n;
	char *path; /* owned; of the series or of the run */
	struct kgb_shown_run *shown_runs; /* owned */
	struct kgb_shown shown; /* of these, as they were read last */
};

/** Open a series, or else a run as kgb_rundir_open does, and read all as far as it goes. \param
 * name NULL: the latest run, with its series. */
KGB_MUST_CHECK int kgb_followed_open(struct kgb_followed *out, const char *runs_dir,
				     const char *name, struct kgb_err *err);
/** Read what was added to each run (kgb_followed_run_read). */
KGB_MUST_CHECK int kgb_followed_read(struct kgb_followed *followed, kgb_followed_fn fn,
				     void *payload, struct kgb_err *err);
/** Whether a process works on a run of them; else nothing more will be read. */
bool kgb_followed_is_held(const struct kgb_followed *followed);
bool kgb_followed_is_cut_off(const struct kgb_followed *followed);
/** Records read of all runs. */
int64_t kgb_followed_n_records(const struct kgb_followed *followed);
void kgb_followed_release(struct kgb_followed *followed);

#endif
