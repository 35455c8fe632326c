/* SPDX-License-Identifier: MIT */
/** \file
 * The inputs of an attempt from its run, its operator and limits, and its outcome. */
#ifndef KGB_AGENT_ATTEMPT_ATTEMPT_ENV_H
#define KGB_AGENT_ATTEMPT_ATTEMPT_ENV_H

#include <uv.h>

#include "agent/broker/broker.h"
#include "agent/store/events.h"
#include "agent/store/rundir.h"
#include "agent/watch/attempt_limits.h"
#include "agent/watch/processes.h"
#include "methods/chat_prompt.h"
#include "methods/method.h"
#include "sandbox/client/ask.h"
#include "sandbox/gateway/gateway.h"
#include "verify/spec/spec.h"

/** The recorded run that a replay takes its answers from. */
struct kgb_replay_source {
	const char *dir; /* of the recorded run, absolute */
	const struct kgb_run_state *state; /* its journal, folded */
};

/** Settings of the requests to a bare model. */
struct kgb_sampling_plan {
	enum kgb_protocol protocol;
	struct kgb_sampling sampling; /* `refused` grows as the server refuses fields */
	bool stream;
	int n_samples; /* of each operator */
	bool batch; /* by way of the provider's batches */
	int64_t batch_poll_ms;
	int choices; /* samples that one request asks for; 1 once the server has refused more */
	bool only_judge; /* send no question: only judge samples without a verdict */
	int n_rounds; /* of each sample at most: 1 without reflection */
	const struct kgb_chat_texts *texts; /* borrowed */
};

/** Shared by all attempts of a run; borrowed, outlives them. The schedule fills in the members from
 * `loop` on. */
struct kgb_attempt_env {
	struct kgb_run_log *log;
	const struct kgb_rundir *dir;
	struct kgb_maker maker; /* recorded with each attempt; texts borrowed */
	const struct kgb_replay_source *replay; /* NULL: none */
	const struct kgb_method *method; /* NULL when nothing is generated */
	const char *data_dir;
	const char *bin_dir;
	const char *cli_path; /* the coding CLI's executable */
	const char *model; /* never empty */
	struct kgb_prompt_vars prompt; /* the same for all operators, so without sees_gpu */
	int64_t iterations; /* rounds at most, in place of the method's own number; 0: that one */
	struct kgb_charge budget; /* limits of one attempt; 0: none */
	int warn_percent;
	struct kgb_attempt_limits limits;
	int max_attempts;
	struct kgb_sampling_plan *samples; /* of a bare model; NULL else */
	const char *offline_seed; /* draws the offline model's kernels of agents, with operator and
				     round; NULL: its script's are shown */
	uv_loop_t *loop;
	const struct kgb_devices *devices; /* one object for all runs, built by the broker */
	struct kgb_gateway *gateway;
	enum kgb_gateway_mode gateway_mode;
	const struct kgb_prices *prices; /* may be NULL */
	struct kgb_broker *broker;
	struct kgb_asker *asker; /* of a bare model; NULL else */
	struct kgb_processes *processes; /* shared: one reading of /proc serves all */
	/** The run cannot go on (journal or disk failed). Called at most once per attempt. */
	void (*on_fatal)(void *payload, const struct kgb_err *err);
	void *payload;
};

/** The operator and the limits of an attempt. */
struct kgb_attempt_task {
	const struct kgb_spec *spec; /* borrowed until done */
	int number; /* from 1 */
	int slot; /* of those that run at the same time; it gives the device */
	struct kgb_budget *budget; /* the operator's; borrowed until done; NULL: none */
	int64_t timeout_ms;
	const char *timed_by; /* owner of that time if not the attempt: "operator", "run"; NULL */
};

struct kgb_attempt_outcome {
	enum kgb_agent_end end;
	bool has_kernel; /* kernels/<safe_name>.py is there */
	bool retry; /* worth another attempt */
	const char *code; /* why there is no kernel; NULL else */
	const char *message;
};

#endif
