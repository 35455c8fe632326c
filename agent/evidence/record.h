/* SPDX-License-Identifier: MIT */
/** \file
 * The record of one run, opened to be read: its folder and the folded state of its journal. A run
 * that still goes on is read as far as it has come. */
#ifndef KGB_AGENT_EVIDENCE_RECORD_H
#define KGB_AGENT_EVIDENCE_RECORD_H

#include "agent/store/rundir.h"
#include "agent/store/state.h"
#include "base/buf.h"

struct kgb_run_record {
	struct kgb_rundir dir; /* not locked */
	struct kgb_run_state state;
	bool is_pruned;
};
#define KGB_RECORD_INIT                                              \
	{                                                            \
		.dir = KGB_RUNDIR_INIT, .state = KGB_RUN_STATE_INIT, \
	}

/** NOT_FOUND when the folder has no journal; errors name it. */
KGB_MUST_CHECK int kgb_run_record_open(struct kgb_run_record *out, const char *path,
				       struct kgb_err *err);
/** Read a file of it as an adversary's; one that is not there leaves `out` as it is. */
KGB_MUST_CHECK int kgb_run_record_read(int run_fd, const char *path, size_t limit,
				       struct kgb_buf *out, struct kgb_err *err);
void kgb_run_record_release(struct kgb_run_record *record);
void kgb_auto_record(struct kgb_run_record *record);

#endif
