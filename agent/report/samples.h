/* SPDX-License-Identifier: MIT */
/** \file
 * The samples of a bare model in results.json and in samples.jsonl (docs/results.md).
 */
#ifndef KGB_AGENT_REPORT_SAMPLES_H
#define KGB_AGENT_REPORT_SAMPLES_H

#include "agent/report/sample_rung.h"
#include "agent/statistics/bootstrap.h"
#include "agent/store/state.h"
#include "base/formats/jsonw.h"

#define KGB_SAMPLES_NAME "samples.jsonl"

/** pass@k of a run at one rung, over the operators that have k answers. */
struct kgb_estimate kgb_run_pass_at_k(const struct kgb_run_state *state, enum kgb_sample_rung rung,
				      size_t k);
/** Member `samples` of an operator; nothing when the run has no bare model. */
void kgb_samples_write_op(struct kgb_jsonw *w, const struct kgb_run_state *state,
			  const struct kgb_op_state *op);
/** Member `samples` of the summary; nothing when the run has no bare model. */
void kgb_samples_write_run(struct kgb_jsonw *w, const struct kgb_run_state *state);
/** One line of samples.jsonl, with its line break. */
void kgb_samples_write_line(const struct kgb_op_state *op, const struct kgb_sample *sample,
			    struct kgb_buf *out);
/** Write samples.jsonl of a run with a bare model. */
KGB_MUST_CHECK int kgb_samples_write_file(int dir_fd, const struct kgb_run_state *state,
					  struct kgb_err *err);

#endif
