/* SPDX-License-Identifier: MIT */
/** \file
 * progress.json: a projection of the folded state. Replaced atomically, at most every 200 ms while
 * a run lives and within 250 ms of an event. It holds only times of the journal, so a rebuild gives
 * the same bytes. */
#ifndef KGB_AGENT_REPORT_PROGRESS_H
#define KGB_AGENT_REPORT_PROGRESS_H

#include <uv.h>

#include "agent/store/events.h"

#define KGB_PROGRESS_NAME "progress.json"
#define KGB_PROGRESS_INTERVAL_MS 200

void kgb_progress_render(const struct kgb_run_state *state, struct kgb_buf *out);
KGB_MUST_CHECK int kgb_progress_write(int dir_fd, const struct kgb_run_state *state,
				      struct kgb_err *err);

/** Keeps the file up to date while a run lives. */
struct kgb_progress;
/** Listens to `log`. dir_fd is borrowed until close. */
KGB_MUST_CHECK int kgb_progress_start(struct kgb_progress **out, uv_loop_t *loop,
				      struct kgb_run_log *log, int dir_fd, struct kgb_err *err);
/** Writes the last state and closes; *progress is freed by the loop's next turn. The log must not
 * report any more events after this. A failed write is an error here (warned once before). */
KGB_MUST_CHECK int kgb_progress_close(struct kgb_progress *progress, struct kgb_err *err);

#endif
