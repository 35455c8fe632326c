/* SPDX-License-Identifier: MIT */
/** \file
 * The document of `show`: one operator of one run, from its prompt to the kernel that counts. */
#ifndef KGB_AGENT_ANSWERS_SHOW_H
#define KGB_AGENT_ANSWERS_SHOW_H

#include "agent/evidence/drafts.h"
#include "agent/evidence/record.h"
#include "agent/report/tabular.h"

struct kgb_show {
	struct kgb_run_record record;
	const struct kgb_op_state *op; /* of the state, as the rest */
	const struct kgb_attempt_state *attempt; /* NULL: no attempt began */
	int sample; /* of a bare model: the one whose drafts these are; 0: of an attempt */
	struct kgb_drafts drafts;
	struct kgb_buf prompt, kernel; /* texts; empty: not there */
	char *prompt_path, *kernel_path; /* owned; relative to the run's folder */
	struct kgb_table versions;
};

/** Read the record of an operator. The caller sets `op` and the number of an attempt or a
 * sample. */
KGB_MUST_CHECK int kgb_show_read(struct kgb_show *show, struct kgb_err *err);
void kgb_show_release(struct kgb_show *show);

enum kgb_show_form {
	KGB_SHOW_PLAIN,
	KGB_SHOW_COLOR,
	KGB_SHOW_MARKDOWN,
};
/** Append it for people. Text of a model or an agent is stripped of terminal controls. */
KGB_MUST_CHECK int kgb_show_text(const struct kgb_show *show, enum kgb_show_form form, size_t width,
				 struct kgb_buf *out, struct kgb_err *err);
/** Append one document, kgb.show/1. */
KGB_MUST_CHECK int kgb_show_json(const struct kgb_show *show, struct kgb_buf *out,
				 struct kgb_err *err);
/** Append the hunks from the draft before, or nothing for the first. */
KGB_MUST_CHECK int kgb_show_diff(const struct kgb_show *show, size_t draft, struct kgb_buf *out,
				 double *similarity, struct kgb_err *err);
/** The number of the draft whose bytes count as the operator's kernel; 0: none. */
int kgb_show_final_draft(const struct kgb_show *show);

#endif
