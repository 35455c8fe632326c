/* SPDX-License-Identifier: MIT */
/** \file
 * The block that shows how a run stands: a bar, what is left and spent, the operators that did not
 * pass, those that are worked on. The run's own terminal and `kgb-agent watch` draw the same lines.
 */
#ifndef KGB_AGENT_SCREEN_BLOCK_H
#define KGB_AGENT_SCREEN_BLOCK_H

#include "agent/report/styled.h"
#include "agent/screen/forecast.h"
#include "agent/store/state.h"

struct kgb_block_view {
	size_t rows; /* lines at most; the block always has one */
	int64_t now_ms; /* wall clock */
	const struct kgb_forecast *forecast;
	bool is_cut_off; /* the run has no end, and no process works on it */
};

/** Lay it out in lines of out->width columns. What does not fit is counted: "+N more". */
void kgb_block_lay(const struct kgb_run_state *state, const struct kgb_block_view *view,
		   struct kgb_styled *out);

/** Columns for the operators' names: as many as the longest of the plan needs, within reason. */
size_t kgb_block_names(const struct kgb_run_state *state, size_t width);

/** "0:07", "12:05", "1:02:03": fixed enough not to jump about; returns out. */
#define KGB_CLOCK_LEN 32
#define KGB_CLOCK_COLUMNS 7
const char *kgb_clock_format(int64_t ms, char out[KGB_CLOCK_LEN]);

#endif
