/* SPDX-License-Identifier: MIT */
/** \file
 * Drives a run: attempts for the planned operators, at most device_count at a time, spread over the
 * devices, each followed by its final verification while the next attempt already runs. Owns the
 * loop from start to end, answers signals, and only ever appends events.
 */
#ifndef KGB_AGENT_SCHED_SCHED_H
#define KGB_AGENT_SCHED_SCHED_H

#include "agent/attempt/attempt_env.h"
#include "agent/devices/devices.h"
#include "agent/store/events.h"
#include "agent/watch/processes.h"
#include "sandbox/gateway/gateway.h"
#include "verify/protocol/judge_request.h"
#include "verify/spec/spec.h"

struct kgb_sched_item {
	const struct kgb_spec *spec; /* borrowed */
	bool generate; /* false: verify kernels/<safe_name>.py as it is */
	int n_attempts; /* that there were already */
};

struct kgb_sched_spec {
	struct kgb_attempt_env env; /* its members before `loop` */
	const struct kgb_sched_item *items;
	size_t n_items;
	int device_count; /* operators at a time */
	int max_judges; /* verifications at a time */
	int max_questions; /* to a bare model at a time */
	bool skip_verify;
	enum kgb_display_style status_style;
	struct kgb_gateway_spec gateway; /* used when something is generated */
	struct kgb_judge_request judge_request; /* what all verifications have in common */
	int64_t attempt_timeout_ms;
	/* Limits; 0: none. */
	struct kgb_charge run_budget, operator_budget;
	int64_t run_time_ms, operator_time_ms;
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
