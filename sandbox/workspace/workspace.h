/* SPDX-License-Identifier: MIT */
/** \file
 * The git history of one attempt. The work tree is a directory that the agent may write; the
 * repository lies outside of it, where the agent cannot write, so the agent cannot change history,
 * objects or hooks. Commits take only named files, opened as files of an adversary. Verdicts are
 * git notes (refs/notes/kgb): `git --git-dir=GIT log --notes=kgb` shows all.
 *
 * One owner, one thread at a time. Uses libgit2; no global or system configuration is read, no
 * hooks, no filters.
 */
#ifndef KGB_SANDBOX_WORKSPACE_WORKSPACE_H
#define KGB_SANDBOX_WORKSPACE_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define KGB_OID_LEN 41 /* 40 hex digits and the NUL */
#define KGB_WORKSPACE_KERNEL "kernel.py"

struct kgb_workspace {
	struct git_repository *repo; /* owned */
	char *worktree; /* owned */
	int worktree_fd; /* owned */
};

struct kgb_workspace_file {
	const char *name; /* in the root of the work tree */
	const char *text;
	size_t len;
};

struct kgb_workspace_spec {
	const char *worktree; /* made if absent; must be empty */
	const char *git_dir; /* made; must not lie in the work tree */
	const struct kgb_workspace_file *files; /* prompt and instructions: the first commit */
	size_t n_files;
	const char *message; /* of the first commit */
};

/** Make the repository and the first commit. */
KGB_MUST_CHECK int kgb_workspace_create(struct kgb_workspace *ws,
					const struct kgb_workspace_spec *spec, struct kgb_err *err);
void kgb_workspace_release(struct kgb_workspace *ws);
void kgb_auto_workspace(struct kgb_workspace *ws);

struct kgb_workspace_commit {
	char oid[KGB_OID_LEN]; /* of HEAD after the call */
	char kernel_oid[KGB_OID_LEN]; /* blob of kernel.py in it; "" when it has none */
	bool changed; /* a commit was made */
	const char *refusal; /* NULL, or why kernel.py was not taken; codes below */
};
/* Reason codes: agent.kernel_symlink agent.kernel_not_regular agent.kernel_too_large
 * agent.kernel_hard_link agent.kernel_unreadable agent.kernel_missing (only of
 * kgb_workspace_read_kernel). */

/** Commit kernel.py if it differs from HEAD's or was removed. A refused kernel.py keeps its last
 * committed content and is reported in out->refusal; that is no error. */
KGB_MUST_CHECK int kgb_workspace_commit(struct kgb_workspace *ws, const char *message,
					struct kgb_workspace_commit *out, struct kgb_err *err);
/** Make a commit (also when nothing differs) in which kernel.py is exactly these bytes, independent
 * of the work tree: the commit shows the bytes that a check judged. */
KGB_MUST_CHECK int kgb_workspace_commit_kernel(struct kgb_workspace *ws, const char *kernel,
					       size_t len, const char *message,
					       struct kgb_workspace_commit *out,
					       struct kgb_err *err);
/** Read kernel.py from the work tree as a file of an adversary. Returns 0 with *out_refusal NULL
 * and the text, or 0 with a reason code and *out empty; -1 for a fault of this machine. */
KGB_MUST_CHECK int kgb_workspace_read_kernel(const struct kgb_workspace *ws, struct kgb_buf *out,
					     const char **out_refusal, struct kgb_err *err);

/** Put a file into the root of the work tree, replacing any file of the agent. No process of the
 * agent may be running. */
KGB_MUST_CHECK int kgb_workspace_write(struct kgb_workspace *ws, const char *name, const void *data,
				       size_t len, struct kgb_err *err);
/** Give a commit a name, refs/tags/NAME; one that is there already moves. */
KGB_MUST_CHECK int kgb_workspace_tag(struct kgb_workspace *ws, const char *oid, const char *name,
				     struct kgb_err *err);
/** Attach (or replace) the verdict of a commit. */
KGB_MUST_CHECK int kgb_workspace_note(struct kgb_workspace *ws, const char *oid,
				      const char *verdict_json, struct kgb_err *err);

#endif
