/* SPDX-License-Identifier: MIT */
/** \file
 * The line for people on an event of a run. */
#ifndef KGB_AGENT_SCREEN_EVENT_LINE_H
#define KGB_AGENT_SCREEN_EVENT_LINE_H

#include <stdbool.h>

#include "agent/report/styled.h"
#include "agent/screen/block.h"
#include "agent/store/state.h"
#include "base/buf.h"

/** Its columns, any text. The plain form joins them: "aten::add: check 2: PASSED 36/36 tests". */
struct kgb_event_line {
	const char *subject; /* the operator, or "run" */
	const char *after_subject;
	bool is_offline; /* a verdict on what the built-in script wrote: the line is marked */
	struct kgb_buf event; /* "check 2", "PASSED" */
	const char *after_event;
	struct kgb_buf figures; /* may be empty */
	enum kgb_style style; /* of the event */
	bool is_end; /* something ended or failed: else only -v shows it on a terminal */
};

/** Make the line of an event of type `type` that was just folded. \param op NULL: the event is
 * about the run. False, and nothing to release: the event has no line. */
bool kgb_event_line_make(const struct kgb_run_state *state, const struct kgb_op_state *op,
			 const char *type, struct kgb_event_line *out);
/** Append it without a line end. */
void kgb_event_line_print(const struct kgb_event_line *line, struct kgb_buf *out);
/** Lay it out in columns: the time since the start, the run's label if it has one, operator, event,
 * figures in at most three lines. */
void kgb_event_line_lay(const struct kgb_event_line *line, int64_t elapsed_ms, const char *label,
			struct kgb_block_columns columns, struct kgb_styled *out);
void kgb_event_line_release(struct kgb_event_line *line);
void kgb_auto_event_line(struct kgb_event_line *line);

#endif
