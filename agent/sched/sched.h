/* SPDX-License-Identifier: MIT */
/** \file
 * Drives runs: attempts for the planned operators, at most device_count at a time, spread over the
 * devices, each followed by its final verification while the next attempt already runs. The
 * operators of several runs take turns: the first of each run, then the second of each, so that a
 * bad hour of the provider affects all runs alike. Owns the loop from start to end, answers
 * signals, and only ever appends events to the journal of the run that they belong to. */
#ifndef KGB_AGENT_SCHED_SCHED_H
#define KGB_AGENT_SCHED_SCHED_H

#include "agent/attempt/attempt_env.h"
#include "agent/devices/devices.h"
#include "agent/screen/display.h"
#include "agent/store/events.h"
#include "agent/watch/processes.h"
#include "sandbox/gateway/gateway.h"
#include "verify/protocol/judge_request.h"
#include "verify/spec/spec.h"

struct kgb_sched_item {
	const struct kgb_spec *spec; /* borrowed */
	bool generate; /* false: verify kernels/<safe_name>.py as it is */
	int n_attempts; /* of earlier starts */
};

/** One of the runs. */
struct kgb_sched_run {
	const char *label; /* before its messages; NULL: it is the only one */
	struct kgb_attempt_env env; /* its members before `loop` */
	const struct kgb_sched_item *items;
	size_t n_items;
	int own_slots; /* operators of this run at a time, independent of the others, for a bare
			  model; 0: all such runs share device_count */
	bool skip_verify;
	int64_t attempt_timeout_ms;
	/* Limits; 0: none. */
	struct kgb_charge run_budget, operator_budget;
	int64_t run_time_ms, operator_time_ms;
};

/** Shared by all runs: devices, judges and accounts. */
struct kgb_sched_spec {
	const struct kgb_sched_run *runs; /* one at least */
	size_t n_runs;
	const struct kgb_devices *devices; /* borrowed */
	int device_count; /* operators at a time */
	int max_judges; /* verifications at a time */
	int max_questions; /* to a bare model at a time */
	struct kgb_display_spec display; /* also of runs that have nothing left to do */
	struct kgb_gateway_spec gateway; /* used when something is generated */
	struct kgb_judge_request judge_request; /* common to all verifications */
};

struct kgb_sched_outcome {
	int signal; /* the one that ended the run; 0: none */
	bool fatal; /* stopped by `err` */
	struct kgb_err err;
};

/** Drive the runs to their end. The run_started and planned events of each are there already;
 * run_finished is appended here. progress.json is kept up to date and final when this returns.
 * \param out one for each run. An internal error that stops one run stops all. -1 only when nothing
 * could be started. */
KGB_MUST_CHECK int kgb_sched_drive(const struct kgb_sched_spec *spec, struct kgb_sched_outcome *out,
				   struct kgb_err *err);

#endif
