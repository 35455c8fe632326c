/* SPDX-License-Identifier: MIT */
/** \file
 * Drafts: the versions of a kernel that were judged on the way to the one that counts, in order,
 * each with its verdict. Of an attempt of a coding CLI these are the checks; of a bare model the
 * rounds of one sample.
 */
#ifndef KGB_AGENT_EVIDENCE_DRAFTS_H
#define KGB_AGENT_EVIDENCE_DRAFTS_H

#include "agent/store/state.h"
#include "base/formats/json.h"
#include "base/vec.h"

struct kgb_draft {
	int number; /* of the check, or of the round */
	int round; /* of a method that works in rounds, and of a sample; 0: there are none */
	const char *path; /* of the kernel, relative to the run's folder */
	struct kgb_buf kernel; /* owned; empty: there is none, or its file is gone */
	char sha256[65]; /* of the kernel; "": none */
	cJSON *document; /* owned; the verdict before the maker went on; NULL: not judged */
	struct kgb_verdict_summary verdict; /* points into it; status NULL: not judged */
	const char *report; /* owned; the verdict as the maker of the kernel reads it, without
			       seeds; NULL: not judged */
	const struct kgb_verify_call *call; /* borrowed: of an attempt, as the journal has it */
	const struct kgb_sample *sample; /* borrowed: of a bare model */
};

struct kgb_drafts {
	KGB_VEC(struct kgb_draft) list;
	struct kgb_arena arena; /* of paths */
};

/** The checks of an attempt. Files that are not there leave a draft without kernel or verdict.
 * `op` must live as long as the drafts. */
KGB_MUST_CHECK int kgb_drafts_of_attempt(struct kgb_drafts *out, int run_fd,
					 const struct kgb_op_state *op,
					 const struct kgb_attempt_state *attempt,
					 struct kgb_err *err);
/** The rounds of a sample of a bare model; none when it was not answered. The verdict is that of
 * the check which the next round was shown; where there is none, the final one. */
KGB_MUST_CHECK int kgb_drafts_of_sample(struct kgb_drafts *out, int run_fd,
					const struct kgb_op_state *op, int number,
					struct kgb_err *err);
/** "attempts/aten__add/001/samples/0007-2", relative to the run's folder: the files of an answer
 * without their suffixes; malloc'ed. */
char *kgb_sample_stem(const char *safe_name, const struct kgb_sample *sample);
bool kgb_draft_passed(const struct kgb_draft *draft);
void kgb_drafts_release(struct kgb_drafts *drafts);
void kgb_auto_drafts(struct kgb_drafts *drafts);

#endif
