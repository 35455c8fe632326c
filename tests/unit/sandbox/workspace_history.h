/* SPDX-License-Identifier: MIT */
/** \file
 * Reads a workspace's commits, kernels and verdicts back.
 */
#ifndef KGB_TESTS_UNIT_SANDBOX_WORKSPACE_HISTORY_H
#define KGB_TESTS_UNIT_SANDBOX_WORKSPACE_HISTORY_H

#include "sandbox/workspace/workspace.h"

struct kgb_workspace_entry {
	const char *oid;
	const char *message;
	int64_t time_s; /* since the epoch */
	const char *kernel_oid; /* "" when the commit has no kernel.py */
	const char *note; /* NULL when none */
};
/** Return nonzero to stop. Strings live until it returns. */
typedef int (*kgb_workspace_entry_fn)(const struct kgb_workspace_entry *entry, void *payload);
/** Every commit, oldest first. */
KGB_MUST_CHECK int kgb_workspace_history(struct kgb_workspace *ws, kgb_workspace_entry_fn fn,
					 void *payload, struct kgb_err *err);
/** kernel.py of a commit. NOT_FOUND when there is none. */
KGB_MUST_CHECK int kgb_workspace_kernel_at(struct kgb_workspace *ws, const char *oid,
					   struct kgb_buf *out, struct kgb_err *err);

#endif
