/* SPDX-License-Identifier: MIT */
/** \file
 * Names and verdicts of a workspace's commits: tags and git notes.
 */
#include "base/mem.h"
#include "base/str.h"
#include "base/system/spare_fds.h"
#include "sandbox/workspace/git.h"
#include "sandbox/workspace/workspace.h"

static int parse_oid(const char *hex, git_oid *out, struct kgb_err *err)
{
	/* git_oid_fromstr reads 40 digits and ignores what follows. */
	if (strlen(hex) != KGB_OID_LEN - 1 || git_oid_fromstr(out, hex) < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not the id of a commit", hex);
	return 0;
}

int kgb_workspace_note(struct kgb_workspace *ws, const char *oid, const char *verdict_json,
		       struct kgb_err *err)
{
	KGB_BORROW_SPARE_FDS;
	enum { REPLACE = 1 };
	git_signature *who = NULL;
	git_oid target;
	git_oid note;

	if (parse_oid(oid, &target, err) < 0)
		return -1;
	/* libgit2 writes a note on a missing object without an error. */
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
	KGB_BORROW_SPARE_FDS;
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
