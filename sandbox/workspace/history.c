/* SPDX-License-Identifier: MIT */
/** \file
 * Reading a workspace's history, and the verdicts that hang on it as git notes.
 */
#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/workspace/git.h"
#include "sandbox/workspace/workspace.h"

static int parse_oid(const char *hex, git_oid *out, struct kgb_err *err)
{
	/* git_oid_fromstr reads 40 digits and does not look behind them. */
	if (strlen(hex) != KGB_OID_LEN - 1 || git_oid_fromstr(out, hex) < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not the id of a commit", hex);
	return 0;
}

int kgb_workspace_note(struct kgb_workspace *ws, const char *oid, const char *verdict_json,
		       struct kgb_err *err)
{
	enum { REPLACE = 1 };
	git_signature *who = NULL;
	git_oid target;
	git_oid note;

	if (parse_oid(oid, &target, err) < 0)
		return -1;
	/* git itself would take a note on an object that does not exist. */
	git_commit *commit = NULL;
	int rc = git_commit_lookup(&commit, ws->repo, &target);
	git_commit_free(commit);
	if (rc < 0)
		return kgb_workspace__fail(err, rc, "note on commit %s", oid);
	if (kgb_workspace__signature(&who, err) < 0)
		return -1;
	rc = git_note_create(&note, ws->repo, KGB_WORKSPACE_NOTES, who, who, &target, verdict_json,
			     REPLACE);
	git_signature_free(who);
	return rc < 0 ? kgb_workspace__fail(err, rc, "note on commit %s", oid) : 0;
}

int kgb_workspace_tag(struct kgb_workspace *ws, const char *oid, const char *name,
		      struct kgb_err *err)
{
	enum { FORCE = 1 };
	git_reference *made = NULL;
	git_oid target;

	if (parse_oid(oid, &target, err) < 0)
		return -1;
	KGB_AUTO(free) char *path = kgb_xasprintf("refs/tags/%s", name);
	int rc = git_reference_create(&made, ws->repo, path, &target, FORCE, NULL);
	git_reference_free(made);
	return rc < 0 ? kgb_workspace__fail(err, rc, "tag '%s'", name) : 0;
}

/* Describe one commit to the callback. Returns its answer, or -1 with *failed set. */
static int visit(struct kgb_workspace *ws, const git_oid *oid, kgb_workspace_entry_fn fn,
		 void *payload, bool *failed, struct kgb_err *err)
{
	char hex[KGB_OID_LEN];
	char kernel_hex[KGB_OID_LEN] = "";
	git_commit *commit = NULL;
	git_tree *tree = NULL;
	git_note *note = NULL;
	int answer = -1;

	git_oid_tostr(hex, sizeof(hex), oid);
	int rc = git_commit_lookup(&commit, ws->repo, oid);
	if (rc >= 0)
		rc = git_commit_tree(&tree, commit);
	if (rc >= 0) {
		rc = git_note_read(&note, ws->repo, KGB_WORKSPACE_NOTES, oid);
		rc = rc == GIT_ENOTFOUND ? 0 : rc;
	}
	*failed = rc < 0;
	if (rc < 0) {
		(void)kgb_workspace__fail(err, rc, "read commit %s", hex);
	} else {
		const git_tree_entry *kernel = git_tree_entry_byname(tree, KGB_WORKSPACE_KERNEL);
		if (kernel)
			git_oid_tostr(kernel_hex, sizeof(kernel_hex), git_tree_entry_id(kernel));
		const struct kgb_workspace_entry entry = {
			.oid = hex,
			.message = git_commit_message(commit),
			.time_s = git_commit_time(commit),
			.kernel_oid = kernel_hex,
			.note = note ? git_note_message(note) : NULL,
		};
		answer = fn(&entry, payload);
	}
	git_note_free(note);
	git_tree_free(tree);
	git_commit_free(commit);
	return answer;
}

int kgb_workspace_history(struct kgb_workspace *ws, kgb_workspace_entry_fn fn, void *payload,
			  struct kgb_err *err)
{
	git_revwalk *walk = NULL;
	git_oid oid;
	bool failed = false;

	int rc = git_revwalk_new(&walk, ws->repo);
	if (rc >= 0)
		rc = git_revwalk_sorting(walk, GIT_SORT_TOPOLOGICAL | GIT_SORT_REVERSE);
	if (rc >= 0)
		rc = git_revwalk_push_head(walk);
	while (rc >= 0 && (rc = git_revwalk_next(&oid, walk)) >= 0)
		if (visit(ws, &oid, fn, payload, &failed, err) != 0)
			break;
	git_revwalk_free(walk);
	if (failed)
		return -1;
	if (rc < 0 && rc != GIT_ITEROVER)
		return kgb_workspace__fail(err, rc, "walk the history");
	return 0;
}

int kgb_workspace_kernel_at(struct kgb_workspace *ws, const char *oid, struct kgb_buf *out,
			    struct kgb_err *err)
{
	git_oid id;
	git_commit *commit = NULL;
	git_tree *tree = NULL;
	git_blob *blob = NULL;
	int result = -1;

	if (parse_oid(oid, &id, err) < 0)
		return -1;
	int rc = git_commit_lookup(&commit, ws->repo, &id);
	if (rc >= 0)
		rc = git_commit_tree(&tree, commit);
	if (rc >= 0) {
		const git_tree_entry *kernel = git_tree_entry_byname(tree, KGB_WORKSPACE_KERNEL);
		rc = kernel ? git_blob_lookup(&blob, ws->repo, git_tree_entry_id(kernel))
			    : GIT_ENOTFOUND;
	}
	if (rc == GIT_ENOTFOUND) {
		(void)kgb_fail(err, KGB_ERR_NOT_FOUND, "commit %s has no '%s'", oid,
			       KGB_WORKSPACE_KERNEL);
	} else if (rc < 0) {
		(void)kgb_workspace__fail(err, rc, "read '%s' of commit %s", KGB_WORKSPACE_KERNEL,
					  oid);
	} else {
		kgb_buf_clear(out);
		result =
			kgb_buf_add(out, git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob));
		if (result < 0)
			(void)kgb_fail(err, KGB_ERR_LIMIT, "'%s' of commit %s is over %zu bytes",
				       KGB_WORKSPACE_KERNEL, oid, out->limit);
	}
	git_blob_free(blob);
	git_tree_free(tree);
	git_commit_free(commit);
	return result;
}
