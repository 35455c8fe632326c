/* SPDX-License-Identifier: MIT */
/** \file
 * The runs of a report, read whole: their rows, their documents, the history of each operator. */
#ifndef KGB_AGENT_PAGE_COLLECTED_H
#define KGB_AGENT_PAGE_COLLECTED_H

#include "agent/answers/runs.h"
#include "agent/page/history.h"
#include "base/formats/json.h"

struct kgb_collected_run {
	const struct kgb_run_row *row; /* borrowed */
	const char *label; /* borrowed */
	cJSON *document; /* owned: its results.json, whose words the histories borrow */
	const cJSON **nodes; /* owned: of each operator of the row, in the document; NULL: it has
				become another one since the row was read */
	struct kgb_history *histories; /* owned: of each operator of the row */
	size_t *places; /* owned: of each operator of the row, in `operators` below */
	KGB_VEC(cJSON *) samples; /* owned: lines of samples.jsonl, whose words histories borrow */
};

struct kgb_collected {
	KGB_VEC(struct kgb_collected_run) runs;
	KGB_VEC(struct kgb_op_row) operators; /* one of each name, in order of appearance */
	size_t n_cells; /* operators of all runs together */
};

/** Read the documents and samples of runs, which must live as long as *out. Released whatever it
 * returns. */
KGB_MUST_CHECK int kgb_collect(const struct kgb_runs *runs, const struct kgb_strv *labels,
			       struct kgb_collected *out, struct kgb_err *err);
void kgb_collected_release(struct kgb_collected *collected);
void kgb_auto_collected(struct kgb_collected *collected);

/** A number with five significant digits, which are all that a plot shows, and keep a page
 * small. */
double kgb_shortened(double value);

#endif
