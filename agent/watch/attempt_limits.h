/* SPDX-License-Identifier: MIT */
/** \file
 * The limits of each attempt of a run, and the limit that an attempt broke.
 */
#ifndef KGB_AGENT_WATCH_ATTEMPT_LIMITS_H
#define KGB_AGENT_WATCH_ATTEMPT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "methods/events.h"
#include "sandbox/isolation/ladder.h"

struct kgb_attempt_limits {
	const struct kgb_ladder *ladder; /* borrowed */
	/** The sandbox contains the GPU on which the kernels are judged, and `python`: an
	 * interpreter with torch (borrowed). */
	bool gpu;
	const char *python;
	int64_t disk_bytes;
	int64_t n_files;
	int64_t memory_bytes;
	int64_t n_tasks;
	int64_t idle_timeout_ms; /* 0: for ever */
	int64_t first_request_ms; /* until the CLI has sent the model one; 0: for ever */
	int64_t tmp_bytes;
	bool watch_files; /* record which private files the agent opens */
};

struct kgb_broken_limit {
	const char *name; /* static; NULL: no limit is broken */
	enum kgb_agent_end end; /* of the attempt, because of it */
	int64_t limit, measured;
	char why[640];
};

/** Record a broken limit with a message. Only the first is kept. */
void kgb_broken_limit_set(struct kgb_broken_limit *broken, enum kgb_agent_end end, const char *name,
			  int64_t limit, int64_t measured, const char *fmt, ...) KGB_PRINTF(6, 7);

#endif
