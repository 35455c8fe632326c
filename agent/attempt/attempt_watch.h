/* SPDX-License-Identifier: MIT */
/** \file
 * State of the watch over one attempt (attempt_watch.c): limits on what it writes, signs of life,
 * clocks, and what it was waiting for. Loop thread only, but for counting files.
 */
#ifndef KGB_AGENT_ATTEMPT_ATTEMPT_WATCH_H
#define KGB_AGENT_ATTEMPT_ATTEMPT_WATCH_H

#include <uv.h>

#include "base/formats/jsonw.h"
#include "base/system/proc_tree.h"
#include "methods/events.h"
#include "sandbox/isolation/disk.h"

#define KGB_WATCH_TEXT_LEN 320
#define KGB_WATCH_PROBES_MAX 8
/* From SIGINT (the CLI reports its usage) to SIGKILL. */
#define KGB_STOP_GRACE_MS 5000

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

struct kgb_attempt;

struct kgb_watch {
	struct kgb_attempt *attempt;
	int dir_fd; /* of the attempt; -1: not open */

	/* Files. `counted` belongs to the worker while `counting`. */
	uv_work_t work;
	bool counting;
	struct kgb_disk_count counted, disk;
	int64_t disk_next_ms;
	struct kgb_disk_room room; /* when the last count began */
	bool had_room; /* the disk was far from full when the attempt began */

	/* Processes: now and at the look before. */
	struct kgb_proc_tree tree, before;
	int64_t sample_ms, passed_ms, cpu_ms;
	int64_t io_bytes; /* of its processes with disks, ever */
	bool in_tool;

	/* Clocks; monotonic times, and sums. */
	int64_t start_ms, end_ms, tick_ms, life_ms, open_since_ms;
	int64_t api_ms, tool_ms;
	int64_t idle_ms; /* the longest silence */
	int64_t n_open, n_events, stdout_offset;

	/* Why we or the launcher ended it. */
	bool has_end;
	enum kgb_agent_end end;
	const char *limit;
	int64_t limit_value, limit_seen;
	char why[2 * KGB_WATCH_TEXT_LEN];

	const char *waiting_class; /* NULL: nobody asked */
	char waiting[KGB_WATCH_TEXT_LEN];

	struct {
		char what[32];
		char path[96]; /* of the first */
		int64_t count;
	} probes[KGB_WATCH_PROBES_MAX]; /* at the gateway */
	size_t n_probes;
};

/** Before the CLI starts; its directory exists. */
KGB_MUST_CHECK int kgb_attempt__watch_open(struct kgb_attempt *attempt, struct kgb_err *err);
/** A round begins: what was between it and the one before is no silence of the CLI. */
void kgb_attempt__watch_round(struct kgb_attempt *attempt);
/** On each tick; may end the attempt. */
void kgb_attempt__watch(struct kgb_attempt *attempt);
/** The CLI talks, or is talked to. */
void kgb_attempt__note_life(struct kgb_attempt *attempt);
/** Something was tried at the gateway that is not offered. */
void kgb_attempt__watch_probe(struct kgb_attempt *attempt, const char *what, const char *path);
/** Find out what it waits for, before it is asked to end. The first answer is kept. */
void kgb_attempt__diagnose(struct kgb_attempt *attempt);
/** The sandbox is gone, the launcher's words are all there. */
void kgb_attempt__watch_ended(struct kgb_attempt *attempt);
/** Release; no count may be running. */
void kgb_attempt__watch_close(struct kgb_attempt *attempt);
/** All that was found out, as a JSON object for the result. */
void kgb_attempt__write_sandbox(struct kgb_jsonw *w, const struct kgb_attempt *attempt);

#endif
