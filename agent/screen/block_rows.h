/* SPDX-License-Identifier: MIT */
/** \file
 * The rows of a block below its head: a line for each run of a series, then operators. Internal to
 * screen/.
 */
#ifndef KGB_AGENT_SCREEN_BLOCK_ROWS_H
#define KGB_AGENT_SCREEN_BLOCK_ROWS_H

#include "agent/screen/block.h"

/** The time in memory of the enclosing block. */
#define KGB_CLOCK(ms) kgb_clock_format((ms), (char[KGB_CLOCK_LEN]){0})

/** "passed", or "generated" where nothing is verified. */
const char *kgb_block__word_for_completed(const struct kgb_run_state *state);
/** \param now_ms Of what is worked on; n_rows: at most. */
void kgb_block__add_rows(const struct kgb_shown *shown, int64_t now_ms, size_t n_rows,
			 struct kgb_styled *out);

#endif
