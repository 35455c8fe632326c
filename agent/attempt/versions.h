/* SPDX-License-Identifier: MIT */
/** \file
 * The versions of kernel.py in one attempt: their commits, the files NNN.py and NNN.json below
 * verdicts/, the job that judges one of them, and which one is the best.
 */
#ifndef KGB_AGENT_ATTEMPT_VERSIONS_H
#define KGB_AGENT_ATTEMPT_VERSIONS_H

#include <sys/stat.h>

#include "agent/attempt/attempt_facts.h"
#include "agent/attempt/rounds.h"
#include "base/vec.h"
#include "sandbox/workspace/workspace.h"

/** A version that was judged. */
struct kgb_version {
	char sha256[KGB_SHA256_HEX_LEN];
	char commit[KGB_OID_LEN];
	int number; /* of its files below verdicts/ */
};

struct kgb_versions {
	const struct kgb_attempt_facts *facts; /* borrowed */
	struct kgb_workspace *ws; /* borrowed */
	KGB_VEC(struct kgb_version) list;
	struct kgb_rounds_best best; /* the fastest version that passed, or else the last (with
				      rounds: the first) */
	int round; /* to which new versions belong */
	int n_submitted; /* also the number of the last one */
	char commit[KGB_OID_LEN]; /* of the last one */
	struct kgb_job *job; /* that judges the last one; NULL: none */
	kgb_job_done_fn done;
	void *payload;
	struct stat kernel_stat; /* of kernel.py when it was last committed */
	int n_watched; /* commits by kgb_versions_commit_change */
};

void kgb_versions_release(struct kgb_versions *versions);
/** Write these bytes to a file, commit them with that message, and submit them to the judge. `done`
 * is called once, from the loop; in a replay inside this call. */
KGB_MUST_CHECK int kgb_versions_submit(struct kgb_versions *versions, const char *kernel,
				       size_t len, const char *message, kgb_job_done_fn done,
				       void *payload, struct kgb_err *err);
/** End the job early, if there is one. */
void kgb_versions_cancel_job(struct kgb_versions *versions);
/** Keep the verdict of the version that was submitted last, as a file, as a git note, and among the
 * versions. */
KGB_MUST_CHECK int kgb_versions_keep_verdict(struct kgb_versions *versions,
					     const struct kgb_job_result *result,
					     const struct kgb_verdict_summary *summary,
					     struct kgb_err *err);
/** The version with these bytes, or NULL. */
const struct kgb_version *kgb_versions_find(const struct kgb_versions *versions,
					    const char *sha256);
/** The commit of the version with that number, or NULL. */
const char *kgb_versions_commit_of(const struct kgb_versions *versions, int number);
KGB_MUST_CHECK int kgb_versions_read_kernel(const struct kgb_versions *versions, int number,
					    struct kgb_buf *out, struct kgb_err *err);
/** The verdict, and its text. */
KGB_MUST_CHECK int kgb_versions_read_verdict(const struct kgb_versions *versions, int number,
					     struct kgb_buf *text, cJSON **out,
					     struct kgb_err *err);
/** Commit kernel.py if it has changed since the last call; after 2000 commits only if `is_last`. */
KGB_MUST_CHECK int kgb_versions_commit_change(struct kgb_versions *versions, bool is_last,
					      struct kgb_err *err);

#endif
