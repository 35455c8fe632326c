/* SPDX-License-Identifier: MIT */
/** \file
 * The review after a round of a method that works in rounds: submits the kernel that the round left
 * to the judge, records the round, restores the best version in the workspace, and writes the text
 * that the next round reads. The agent does not run meanwhile. */
#ifndef KGB_AGENT_ATTEMPT_REVIEW_H
#define KGB_AGENT_ATTEMPT_REVIEW_H

#include "agent/attempt/attempt_setup.h"
#include "agent/attempt/versions.h"

struct kgb_review {
	const struct kgb_attempt_facts *facts; /* borrowed, as are the next three */
	const struct kgb_start_kernel *start;
	struct kgb_workspace *ws;
	struct kgb_versions *versions;
	/** The kernel is judged, or there is nothing to judge. `fatal` is NULL unless the disk
	 * failed. */
	void (*on_judged)(void *payload, const struct kgb_err *fatal);
	void *payload;
	int round; /* under review; 0: the initial kernel */
	int n_good_rounds; /* its agent ended well */
	int number; /* of the version that the round left, once it is judged; 0 */
	const char *code; /* why there is no such version, or NULL */
	char commit[KGB_OID_LEN]; /* of that version; "": none */
	char *summary; /* owned; the agent's words on the round, or NULL */
	char *report; /* owned; the judge's, on the version that the last round left, or NULL */
};

/** A round that is over. */
struct kgb_ended_round {
	enum kgb_agent_end end;
	bool is_cut_off; /* the harness ended it: the kernel that it left is not judged */
	const char *session_id;
	const char *prompt_sha256;
	const struct kgb_report *report; /* the CLI's, of this round */
	const struct kgb_usage *gateway; /* of this round */
};

void kgb_review_release(struct kgb_review *review);
/** A round begins. */
void kgb_review_begin_round(struct kgb_review *review, int round);
/** Append this round's text to the task, and write both to the round's folder and TASK.md. */
KGB_MUST_CHECK int kgb_review_write_prompt(struct kgb_review *review, struct kgb_buf *prompt,
					   struct kgb_err *err);
/** Submit the kernel that the round left to the judge. on_judged is called once; inside this call
 * if there is nothing to judge, and in a replay. */
void kgb_review_judge(struct kgb_review *review, const struct kgb_ended_round *ended);
/** After on_judged: record the round in the journal, the history and the logs, and restore the best
 * version. */
KGB_MUST_CHECK int kgb_review_finish(struct kgb_review *review, const struct kgb_ended_round *ended,
				     struct kgb_err *err);

#endif
