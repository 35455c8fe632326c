/* SPDX-License-Identifier: MIT */
/** \file
 * The limits of each attempt of a run.
 */
#ifndef KGB_AGENT_WATCH_ATTEMPT_LIMITS_H
#define KGB_AGENT_WATCH_ATTEMPT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/isolation/ladder.h"

struct kgb_attempt_limits {
	const struct kgb_ladder *ladder; /* borrowed */
	/** The agent sees the GPU on which its kernels are judged, and `python`: an interpreter
	 * with torch (borrowed). */
	bool gpu;
	const char *python;
	int64_t disk_bytes;
	int64_t n_files;
	int64_t memory_bytes;
	int64_t n_tasks;
	int64_t idle_timeout_ms; /* 0: for ever */
	int64_t tmp_bytes;
	bool watch_files; /* which files the agent opens is looked at */
};

#endif
