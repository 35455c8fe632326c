/* SPDX-License-Identifier: MIT */
/** \file
 * Watches a running agent: limits on its files, signs of life, clocks, and the cause of its waits.
 * The watcher ends nothing itself; it returns an order to its owner. Loop thread only. */
#ifndef KGB_AGENT_WATCH_WATCHER_H
#define KGB_AGENT_WATCH_WATCHER_H

#include "agent/watch/attempt_limits.h"
#include "agent/watch/disk_watch.h"
#include "agent/watch/processes.h"
#include "methods/program.h"
#include "sandbox/spawn/sandbox_child.h"

/** The order to the owner. */
enum kgb_watcher_order {
	KGB_WATCHER_LETS_RUN,
	KGB_WATCHER_STOPS, /* by SIGINT first */
	KGB_WATCHER_KILLS,
};

struct kgb_watcher_spec {
	const char *operator; /* for messages; strings and pointers are borrowed */
	const char *dir; /* of the attempt */
	const struct kgb_program *program; /* the CLI */
	const char *program_path;
	uv_loop_t *loop;
	const struct kgb_attempt_limits *limits;
	struct kgb_processes *processes; /* of all attempts */
	/** A count of files is over. */
	void (*on_counted)(void *payload, enum kgb_watcher_order order);
	void *payload;
};

/** The state of the agent at one moment. */
struct kgb_watcher_view {
	pid_t launcher; /* 0: none runs */
	bool is_running; /* and is not asked to end */
	bool has_result; /* the CLI's closing event came */
	bool awaits_verdict;
	int64_t n_open_requests; /* to the model */
	int64_t stdout_offset; /* bytes of its output that were read */
};

struct kgb_watcher {
	struct kgb_watcher_spec spec;
	struct kgb_disk_watch disk;

	/* Processes at the last sample and at the one before. */
	struct kgb_proc_tree tree, before;
	int64_t sample_ms, passed_ms, cpu_ms;
	int64_t io_bytes; /* of its processes with disks, ever */
	bool in_tool;

	/* Clocks; monotonic times, and sums. */
	bool has_asked; /* the CLI has sent the gateway something */
	int64_t start_ms, end_ms, round_ms, tick_ms, life_ms, open_since_ms;
	int64_t api_ms, tool_ms;
	int64_t idle_ms; /* the longest silence */
	int64_t n_open_requests, stdout_offset; /* at the last tick */

	struct kgb_broken_limit broken; /* by the watcher or by the launcher */
	const char *waiting_class; /* NULL: not diagnosed */
	char waiting[320];

	struct {
		char what[32];
		char path[96]; /* of the first */
		int64_t count;
	} probes[8]; /* at the gateway */
	size_t n_probes;
};

/** The attempt's folder exists; nothing runs yet. */
KGB_MUST_CHECK int kgb_watcher_open(struct kgb_watcher *watcher,
				    const struct kgb_watcher_spec *spec, struct kgb_err *err);
/** A round begins: the time since the last round does not count as silence of the CLI. */
void kgb_watcher_begin_round(struct kgb_watcher *watcher);
enum kgb_watcher_order kgb_watcher_tick(struct kgb_watcher *watcher,
					const struct kgb_watcher_view *view);
/** Note traffic between the CLI and the gateway. */
void kgb_watcher_note_request(struct kgb_watcher *watcher);
/** Count a request for something that the gateway does not offer. */
void kgb_watcher_count_probe(struct kgb_watcher *watcher, const char *what, const char *path);
/** Record what the agent waits for, before it is asked to end. The first answer is kept. */
void kgb_watcher_diagnose(struct kgb_watcher *watcher, const struct kgb_watcher_view *view);
/** The sandbox is gone: record the broken limit that its launcher reports, and start the last count
 * of files. */
void kgb_watcher_end_round(struct kgb_watcher *watcher, const struct kgb_watcher_view *view,
			   const struct kgb_sandbox_status *status,
			   const struct kgb_sandbox_child_result *result);
/** Release; no count may be running. */
void kgb_watcher_close(struct kgb_watcher *watcher);

#endif
