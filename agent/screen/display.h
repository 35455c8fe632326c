/* SPDX-License-Identifier: MIT */
/** \file
 * The display of live runs, on stderr. On a terminal: a line in columns for each end and failure
 * (with -v for every event), and below them a block with the progress of the runs, redrawn in place
 * at most ten times a second. Elsewhere: one plain line for each event. Colours only on a terminal,
 * never with NO_COLOR or TERM=dumb, and never without words. */
#ifndef KGB_AGENT_SCREEN_DISPLAY_H
#define KGB_AGENT_SCREEN_DISPLAY_H

#include <uv.h>

#include "agent/store/events.h"

enum kgb_display_style {
	KGB_DISPLAY_AUTO, /* BLOCK when stderr is a terminal that can move its cursor */
	KGB_DISPLAY_BLOCK,
	KGB_DISPLAY_PLAIN,
	KGB_DISPLAY_QUIET, /* nothing */
};

struct kgb_display_run {
	struct kgb_run_log *log;
	const char *label; /* before each of its lines; NULL: it is the only one */
};

/** Texts and logs are borrowed until the display is closed. */
struct kgb_display_spec {
	const struct kgb_display_run *runs; /* one at least; copied */
	size_t n_runs;
	const char *series; /* its name; NULL: it is one run */
	enum kgb_display_style style;
};

struct kgb_display;
/** Listens to the logs and hooks base/log. */
KGB_MUST_CHECK int kgb_display_start(struct kgb_display **out, uv_loop_t *loop,
				     const struct kgb_display_spec *spec, struct kgb_err *err);
/** Erases the block, unhooks the log and closes; freed by the loop's next turn. */
void kgb_display_close(struct kgb_display *display);

#endif
