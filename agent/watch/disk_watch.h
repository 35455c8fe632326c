/* SPDX-License-Identifier: MIT */
/** \file
 * Counts the files of an attempt every few seconds, and checks them against its limits. Loop thread
 * only; the counting itself runs on a thread of the loop's pool.
 */
#ifndef KGB_AGENT_WATCH_DISK_WATCH_H
#define KGB_AGENT_WATCH_DISK_WATCH_H

#include <uv.h>

#include "agent/watch/attempt_limits.h"
#include "base/err.h"
#include "sandbox/isolation/disk.h"

/** The folders of an attempt. */
enum kgb_disk_part {
	KGB_DISK_WS,
	KGB_DISK_HOME,
	KGB_DISK_TRAFFIC,
	KGB_DISK_GIT,
	KGB_DISK_VERDICTS,
	KGB_DISK_ROUNDS, /* traffic of each round, and homes of those that are over */
	KGB_N_DISK_PARTS,
};

struct kgb_disk_count {
	struct kgb_disk_usage total;
	int64_t parts[KGB_N_DISK_PARTS]; /* bytes */
	int64_t output; /* bytes of stdout and stderr */
	int64_t cost_ms;
};

struct kgb_disk_watch {
	const struct kgb_attempt_limits *limits; /* borrowed */
	uv_loop_t *loop; /* borrowed */
	void (*on_counted)(void *payload);
	void *payload;
	int dir_fd; /* of the attempt; -1: not open */
	uv_work_t work;
	bool is_counting;
	struct kgb_disk_count counted; /* the worker's while is_counting */
	struct kgb_disk_count used; /* by the last count that is over */
	int64_t next_ms;
	struct kgb_disk_room room; /* when the last count began */
	bool had_room; /* the disk was far from full when the attempt began */
};

/** Watch the folder `dir`. `on_counted` comes from the loop after each count. */
KGB_MUST_CHECK int kgb_disk_watch_open(struct kgb_disk_watch *disk, const char *dir,
				       const struct kgb_attempt_limits *limits, uv_loop_t *loop,
				       void (*on_counted)(void *payload), void *payload,
				       struct kgb_err *err);
/** Start a count unless one runs. */
void kgb_disk_watch_count(struct kgb_disk_watch *disk);
/** Start a count if one is due, or if the disk as a whole has lost much room. */
void kgb_disk_watch_tick(struct kgb_disk_watch *disk);
/** Compare the last count with the limits. */
void kgb_disk_watch_check(const struct kgb_disk_watch *disk, struct kgb_broken_limit *broken);
/** Release; no count may be running. */
void kgb_disk_watch_close(struct kgb_disk_watch *disk);

#endif
