/* SPDX-License-Identifier: MIT */
/** \file
 * Removes the parts of a run that only a replay needs: the folders that an agent worked in (`home`,
 * `ws`), the git history of its work (each version that was checked is a separate file) and the
 * recorded model requests (`traffic`).
 *
 * pruned.json is written before the first file is removed, so a run whose pruning was cut off
 * counts as pruned, and a second call finishes. All folders are opened one component at a time
 * without following links: a link that an agent left there cannot lead the deletion out of the
 * run. */
#ifndef KGB_AGENT_EVIDENCE_PRUNE_H
#define KGB_AGENT_EVIDENCE_PRUNE_H

#include <stdint.h>

#include "agent/store/rundir.h"

#define KGB_PRUNED_NAME "pruned.json"

struct kgb_pruning {
	int64_t bytes_before, bytes_after; /* on disk, of the whole run */
	int64_t n_folders; /* that were dropped, or would be */
};

/** Prune a locked run and its replays. With `is_dry_run` only measure: then `bytes_after` is the
 * size that would remain. */
KGB_MUST_CHECK int kgb_prune_run(const struct kgb_rundir *dir, bool is_dry_run,
				 struct kgb_pruning *out, struct kgb_err *err);
/** Whether a run was pruned, or its pruning began. */
bool kgb_run_is_pruned(int dir_fd);

#endif
