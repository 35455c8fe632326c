/* SPDX-License-Identifier: MIT */
/** \file
 * The block that shows the progress of runs: a bar over all of them, time and cost so far and to
 * come, a line for each run of a series, the operators that did not pass, those in work. The
 * terminal of the runs and `kgb-agent watch` draw the same lines. */
#ifndef KGB_AGENT_SCREEN_BLOCK_H
#define KGB_AGENT_SCREEN_BLOCK_H

#include "agent/report/styled.h"
#include "agent/screen/forecast.h"
#include "agent/screen/shown.h"

struct kgb_block_view {
	size_t rows; /* lines at most; the block always has one */
	int64_t now_ms; /* wall clock */
	const struct kgb_forecast *forecast;
};

/** Lay it out in lines of out->width columns. Rows that do not fit are counted: "+N more". */
void kgb_block_lay(const struct kgb_shown *shown, const struct kgb_block_view *view,
		   struct kgb_styled *out);

/** Columns before an operator's line. */
struct kgb_block_columns {
	size_t label; /* 0: there is one run */
	size_t name;
};
/** As many as the longest label and name of the plans need, within reason. */
struct kgb_block_columns kgb_block_columns(const struct kgb_shown *shown, size_t width);
/** Add the label of a run as a cell, if there is one, and a gap; a label that is too long is cut at
 * its front, because its end has the number of the repetition. */
void kgb_block_add_label(const char *label, size_t columns, struct kgb_styled *out);

/** "0:07", "12:05", "1:02:03": fixed enough not to jump about; returns out. */
#define KGB_CLOCK_LEN 32
#define KGB_CLOCK_COLUMNS 7
const char *kgb_clock_format(int64_t ms, char out[KGB_CLOCK_LEN]);

#endif
