/* SPDX-License-Identifier: MIT */
/** \file
 * Details beyond the figures of an operator: its steps, its cost when it was solved, and its parts.
 * All of it is in the arena of the runs. */
#ifndef KGB_AGENT_ANSWERS_DETAILS_H
#define KGB_AGENT_ANSWERS_DETAILS_H

#include "agent/answers/runs.h"
#include "base/formats/json.h"

/** Take from an operator of results.json the details that runs->details asks for. */
void kgb_details__read(struct kgb_runs *runs, const cJSON *node, struct kgb_op_row *op);
/** Take the samples of a bare model from the lines of its samples.jsonl. INVALID names the line. */
KGB_MUST_CHECK int kgb_details__read_samples(struct kgb_runs *runs, struct kgb_run_row *run,
					     const char *text, size_t len, struct kgb_err *err);

#endif
