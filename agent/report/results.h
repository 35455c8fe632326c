/* SPDX-License-Identifier: MIT */
/** \file
 * results.json: outcomes, per operator and in sum; a projection of the folded state. */
#ifndef KGB_AGENT_REPORT_RESULTS_H
#define KGB_AGENT_REPORT_RESULTS_H

#include <stdio.h>

#include "agent/store/state.h"

#define KGB_RESULTS_NAME "results.json"

/** `indent` 0 writes one line. */
void kgb_results_render(const struct kgb_run_state *state, int indent, struct kgb_buf *out);
KGB_MUST_CHECK int kgb_results_write(int dir_fd, const struct kgb_run_state *state,
				     struct kgb_err *err);

/** The table printed at the end of a run, for people. `width` in columns (0: 100), `color` allows
 * ANSI colours beside the words. `run_path` is shown as the place of evidence; may be NULL. */
void kgb_results_table(const struct kgb_run_state *state, const char *run_path, size_t width,
		       bool color, struct kgb_buf *out);
/** The exit status for the state: 0 all passed, 1 some did not, 5 budget, 4 all verdicts are
 * infra_error. */
int kgb_results_exit_code(const struct kgb_run_state *state);

#endif
