/* SPDX-License-Identifier: MIT */
/** \file
 * What a run looks like while it lives, on stderr: on a terminal a block of one line per live
 * operator below the log, redrawn in place at most ten times a second; elsewhere one plain line per
 * event. Colours only on a terminal, never with NO_COLOR or TERM=dumb, and never without words.
 */
#ifndef KGB_AGENT_REPORT_DISPLAY_H
#define KGB_AGENT_REPORT_DISPLAY_H

#include <uv.h>

#include "agent/store/events.h"

enum kgb_display_style {
	KGB_DISPLAY_AUTO, /* BLOCK when stderr is a terminal that can move its cursor */
	KGB_DISPLAY_BLOCK,
	KGB_DISPLAY_PLAIN,
	KGB_DISPLAY_QUIET, /* nothing */
};

struct kgb_display_spec {
	struct kgb_run_log *log; /* borrowed */
	const char *label; /* before each plain line, where several runs are shown; borrowed; NULL:
			      none */
	enum kgb_display_style style;
};

struct kgb_display;
/** Listens to the log and hooks base/log. */
KGB_MUST_CHECK int kgb_display_start(struct kgb_display **out, uv_loop_t *loop,
				     const struct kgb_display_spec *spec, struct kgb_err *err);
/** What an operator is doing just now ("Bash: kgb-verify"); any text, shown escaped and cut. Not
 * journalled. */
void kgb_display_note(struct kgb_display *display, const char *operator, const char * text);
/** Erases the block, unhooks the log and closes; freed by the loop's next turn. */
void kgb_display_close(struct kgb_display *display);

struct kgb_display_screen {
	size_t rows, columns;
	bool color;
};
/** The block as text without cursor movement, for `now_ms` on the wall clock: one line per live
 * operator, as many as leave a quarter of the screen to the log, the number of the others, and a
 * summary line. `notes` has one entry per operator of the plan (entries may be NULL), or is NULL.
 */
void kgb_display_render(const struct kgb_run_state *state, const char *const *notes, int64_t now_ms,
			const struct kgb_display_screen *screen, struct kgb_buf *out);
/** One plain line for an event (no newline), or nothing when it is not worth a line. */
void kgb_display_line(const struct kgb_run_state *state, const struct kgb_op_state *op,
		      const char *type, struct kgb_buf *out);

#endif
