/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/workspace_history.h"

#include "base/str.h"
#include "sandbox/workspace/git.h"

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

	if (git_oid_fromstr(&id, oid) < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not the id of a commit", oid);
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
