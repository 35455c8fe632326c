/* SPDX-License-Identifier: MIT */
/** \file
 * The runs that are shown together: those of a series, or one, which is a series of one.
 */
#ifndef KGB_AGENT_SCREEN_SHOWN_H
#define KGB_AGENT_SCREEN_SHOWN_H

#include "agent/store/state.h"

struct kgb_shown_run {
	const struct kgb_run_state *state; /* borrowed, as are all texts */
	const char *label; /* of the run in its series; NULL: it is the only one */
	bool is_cut_off; /* it has no end, and no process works on it */
};

struct kgb_shown {
	const char *name; /* of the series; NULL: that of the only run */
	const struct kgb_shown_run *runs; /* one at least */
	size_t n;
};

/** A process works on it. */
bool kgb_shown_run_lives(const struct kgb_shown_run *run);
/** "running", "cut off", or how it ended. */
const char *kgb_shown_run_status(const struct kgb_shown_run *run);
bool kgb_shown_lives(const struct kgb_shown *shown);
/** The status of the run that counts most: one that lives, one that was cut off, the worst end. */
const char *kgb_shown_status(const struct kgb_shown *shown);
/** When the command that works, or worked last, on the runs began with the last of them. */
int64_t kgb_shown_started_ms(const struct kgb_shown *shown);
/** The latest moment with known facts: now, or the last record of a run that does not live. */
int64_t kgb_shown_until_ms(const struct kgb_shown *shown, int64_t now_ms);
/** Sums over all runs. */
void kgb_shown_count(const struct kgb_shown *shown, struct kgb_run_counts *out);
/** What all attempts of a run spent, lost ones included. */
void kgb_shown_run_spent(const struct kgb_shown_run *run, struct kgb_spent *out);

#endif
