/* SPDX-License-Identifier: MIT */
/** \file
 * Private to sandbox/workspace: libgit2's errors as ours.
 */
#ifndef KGB_SANDBOX_WORKSPACE_GIT_H
#define KGB_SANDBOX_WORKSPACE_GIT_H

#include <git2.h>

#include "base/err.h"

#define KGB_WORKSPACE_NOTES "refs/notes/kgb"

/** Fill *err from a libgit2 return value and its last message; returns -1. */
#define kgb_workspace__fail(err, rc, ...) \
	kgb_workspace__fail_at((err), (rc), __FILE__, __LINE__, __VA_ARGS__)
int kgb_workspace__fail_at(struct kgb_err *err, int rc, const char *file, int line, const char *fmt,
			   ...) KGB_PRINTF(5, 6);

/** Start libgit2 without any configuration outside of the repository. Counted: each call needs a
 * git_libgit2_shutdown. */
KGB_MUST_CHECK int kgb_workspace__start(struct kgb_err *err);
/** Author and committer of everything, at the current time. The caller frees it with
 * git_signature_free. */
KGB_MUST_CHECK int kgb_workspace__signature(git_signature **out, struct kgb_err *err);

#endif
