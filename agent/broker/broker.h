/* SPDX-License-Identifier: MIT */
/** \file
 * Runs verifications: a queue of jobs, each one kgb-judge process, at most one for each operator in
 * work. A job that ends without a verdict by a fault of the machine is tried once more; one that
 * cannot start for want of descriptors, processes or memory waits for them. Owns the warm zygotes
 * of each device from which the judges fork their workers; zygotes that die are started again, and
 * meanwhile judges start their own (slower, same verdict). Loop thread only. */
#ifndef KGB_AGENT_BROKER_BROKER_H
#define KGB_AGENT_BROKER_BROKER_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "agent/devices/devices.h"
#include "base/err.h"
#include "base/formats/json.h"
#include "verify/gpu/gpu_lease.h"
#include "verify/protocol/judge_request.h"

struct kgb_broker;
struct kgb_job;

/** Time beyond the judge's limit and its wait for other judges; then the broker ends the judge and
 * ignores its verdict. */
#define KGB_BROKER_SLACK_MS (KGB_WAITS_MAX_MS + 30000)
/** Time for a judge that was asked to end: it kills its workers first, which is slow on a busy
 * machine. */
#define KGB_BROKER_GRACE_MS 10000

struct kgb_broker_spec {
	uv_loop_t *loop;
	const char *bin_dir; /* where kgb-judge is */
	const char *data_dir;
	const char *zygote_dir; /* existing directory; folders for the zygotes' sockets are made in
				   it */
	const struct kgb_devices *devices; /* borrowed, outlives the broker */
	bool shares_devices; /* a job may run on any device, and not only on its operator's */
	int max_jobs; /* at once */
	int64_t slack_ms; /* beyond the judge's limit; then it is asked to end */
	int64_t grace_ms; /* for a judge that was asked to end; then it is killed */
	struct kgb_judge_request request; /* common to all jobs: python and limits. Its texts are
					     borrowed and outlive the broker */
};

/** How a job ended. Pointers live until the callback returns. */
struct kgb_job_result {
	const cJSON *verdict; /* NULL: none, for the reason in `err` */
	const char *text; /* the verdict as the judge wrote it */
	size_t len;
	struct kgb_err err;
	bool cancelled;
};
typedef void (*kgb_job_done_fn)(void *payload, const struct kgb_job_result *result);
/** A job was queued, a judge began with it, it went back to the queue, or it ended: by how many
 * more jobs wait for a judge, and by how many more a judge works on; each is -1, 0 or 1. */
typedef void (*kgb_job_moved_fn)(void *payload, int queued, int judging);

/** The device for the next job of an operator whose own device is `own`: the one with the fewest
 * jobs, `own` among equals, and always `own` where devices are not shared. */
const struct kgb_device *kgb_broker_device(const struct kgb_broker *broker,
					   const struct kgb_device *own);

struct kgb_job_spec {
	const char *spec_path; /* the operator's */
	const char *kernel_path; /* absolute, not writable by an agent */
	const struct kgb_device *device; /* one of the broker's list */
	bool final; /* false: a check that the agent requested */
	bool timed; /* else only correctness is judged */
	int64_t rank; /* lower ones go first; equal ones in order of arrival */
	kgb_job_moved_fn moved; /* called also from inside submit; before `done` the last time */
	kgb_job_done_fn done;
	void *payload; /* of both */
};

/** Starts the zygotes at once; jobs may be submitted at once too and wait for them. Strings but
 * those of the request are copied. */
KGB_MUST_CHECK int kgb_broker_start(struct kgb_broker **out, const struct kgb_broker_spec *spec,
				    struct kgb_err *err);
/** Queue a verification. `done` is called exactly once, from the loop; it invalidates the job. */
struct kgb_job *kgb_broker_submit(struct kgb_broker *broker, const struct kgb_job_spec *spec);
/** End a job early: its `done` is still called, with `cancelled`. */
void kgb_job_cancel(struct kgb_job *job);
/** Cancels what is left, ends the zygotes, frees the broker and calls `done` from the loop. */
void kgb_broker_close(struct kgb_broker *broker, void (*done)(void *payload), void *payload);

#endif
