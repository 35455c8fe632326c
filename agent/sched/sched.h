/* SPDX-License-Identifier: MIT */
/** \file
 * Drives a run: attempts for the planned operators, at most device_count at a time, spread over the
 * devices, each followed by its final verification on the same device while the next attempt
 * already runs. Owns the loop from start to end, answers signals, and only ever appends events.
 */
#ifndef KGB_AGENT_SCHED_SCHED_H
#define KGB_AGENT_SCHED_SCHED_H

#include "agent/devices/devices.h"
#include "agent/report/display.h"
#include "agent/store/events.h"
#include "agent/store/rundir.h"
#include "agent/watch/attempt_limits.h"
#include "base/err.h"
#include "methods/method.h"
#include "sandbox/gateway/gateway.h"
#include "verify/protocol/judge_request.h"
#include "verify/spec/spec.h"

struct kgb_sched_item {
	const struct kgb_spec *spec; /* borrowed */
	bool generate; /* false: verify kernels/<safe_name>.py as it is */
	int n_attempts; /* that there were already */
};

struct kgb_sched_spec {
	struct kgb_run_log *log;
	const struct kgb_rundir *dir;
	const struct kgb_method *method; /* NULL when nothing is generated */
	const struct kgb_sched_item *items;
	size_t n_items;
	int device_count; /* operators at a time */
	const struct kgb_devices *devices; /* borrowed */
	bool skip_verify;
	enum kgb_display_style status_style;
	struct kgb_gateway_spec gateway; /* used when something is generated */
	const struct kgb_replay_source *replay; /* NULL: not a replay */
	struct kgb_maker maker; /* borrowed strings */
	const char *data_dir, *bin_dir, *cli_path, *model;
	struct kgb_judge_request judge_request; /* what all verifications have in common */
	int64_t attempt_timeout_ms, max_verify_calls;
	int64_t iterations; /* rounds at most, in place of the method's own number; 0: that one */
	struct kgb_attempt_limits limits;
	int max_attempts;
	/* Limits; 0: none. */
	struct kgb_charge run_budget, operator_budget, attempt_budget;
	int64_t run_time_ms, operator_time_ms;
	int warn_percent;
};

struct kgb_sched_outcome {
	int signal; /* the one that ended the run; 0: none */
	bool fatal; /* stopped by `err` */
	struct kgb_err err;
};

/** Run to the end. The run_started and planned events are there already; run_finished is appended
 * here. progress.json is kept up to date and final when this returns. -1 only when nothing could be
 * started. */
KGB_MUST_CHECK int kgb_sched_run(const struct kgb_sched_spec *spec, struct kgb_sched_outcome *out,
				 struct kgb_err *err);

#endif
