/* SPDX-License-Identifier: MIT */
/** \file
 * A run of another process, read from its journal as that grows, and from progress.json. The run is
 * not disturbed: its lock is tested, not taken, and nothing is written. */
#ifndef KGB_AGENT_FOLLOW_FOLLOWED_RUN_H
#define KGB_AGENT_FOLLOW_FOLLOWED_RUN_H

#include <stdbool.h>
#include <sys/stat.h>

#include "agent/store/journal.h"
#include "agent/store/rundir.h"
#include "agent/store/state.h"

struct kgb_followed_run {
	struct kgb_rundir dir;
	struct kgb_run_state state;
	bool is_held; /* a process works on it */
	struct kgb_journal_scan read; /* of the journal */
	struct timespec doing_read; /* when the progress.json that was read last was written */
};

/** Called after each event of a run, with the operator that it concerned (NULL: the run). */
typedef void (*kgb_followed_fn)(void *payload, const struct kgb_followed_run *run,
				const struct kgb_op_state *op, const char *type);

/** Open a run as kgb_rundir_open does and read it as far as it goes. */
KGB_MUST_CHECK int kgb_followed_run_open(struct kgb_followed_run *out, const char *runs_dir,
					 const char *name, struct kgb_err *err);
/** Read the new records. If is_held is false afterwards, no more will follow. NOT_FOUND when the
 * folder of the run was removed. \param fn NULL: nothing is called. */
KGB_MUST_CHECK int kgb_followed_run_read(struct kgb_followed_run *run, kgb_followed_fn fn,
					 void *payload, struct kgb_err *err);
/** It has no end, and no process works on it: it was killed, or its machine went down. */
bool kgb_followed_run_is_cut_off(const struct kgb_followed_run *run);
void kgb_followed_run_release(struct kgb_followed_run *run);

#endif
