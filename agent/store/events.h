/* SPDX-License-Identifier: MIT */
/** \file
 * The events of a run. The scheduler and attempts append events; each is checked against the state,
 * written to the journal, folded into the state and passed to the listeners, in this order. */
#ifndef KGB_AGENT_STORE_EVENTS_H
#define KGB_AGENT_STORE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/store/rundir.h"
#include "agent/store/state.h"

/** The journal of a locked run directory together with its folded state. */
struct kgb_run_log;

/** Called after each event, with the operator that it concerned (NULL: the run). Not called during
 * replay. */
typedef void (*kgb_run_log_fn)(void *payload, const struct kgb_run_state *state,
			       const struct kgb_op_state *op, const char *type);

KGB_MUST_CHECK int kgb_run_log_open(struct kgb_run_log **out, const struct kgb_rundir *dir,
				    struct kgb_err *err);
void kgb_run_log_close(struct kgb_run_log *log);
const struct kgb_run_state *kgb_run_log_state(const struct kgb_run_log *log);
/** Report the current activity of an operator's agent; any text. Listeners get it as an event of
 * type "doing" if it changed; it is not journalled. */
void kgb_run_log_set_doing(struct kgb_run_log *log, const char *operator, const char * text);
/** Report changes of the numbers of an operator's verifications that wait for a judge, and that a
 * judge works on. Listeners get it as an event of type "job"; it is not journalled. */
void kgb_run_log_move_job(struct kgb_run_log *log, const char *operator, int queued, int judging);
/** Several listeners: progress file, status block. */
void kgb_run_log_listen(struct kgb_run_log *log, kgb_run_log_fn fn, void *payload);

struct kgb_event_run_started {
	const char *run_name, *dataset, *cli_name, *cli_version, *isolation, *platform;
	struct kgb_maker maker; /* the method alone when nothing is generated */
	const char *from_run; /* run of the initial kernels; NULL: none */
	int device_count;
	int n_samples; /* of each operator; 0: not of a bare model */
	int n_rounds; /* of each sample; 0: without reflection */
	bool skip_gen, skip_verify;
};
struct kgb_event_plan_item {
	const char *name, *safe_name;
	const char *spec_sha256, *source, *category; /* may be NULL */
};
struct kgb_event_attempt_started {
	const char *operator;
	int attempt; /* last number + 1 */
	int device; /* -1: none */
	struct kgb_maker maker;
	const struct kgb_price *price; /* of the model; NULL: not known */
	int64_t timeout_ms;
	const char *prompt_sha256;
};
struct kgb_event_attempt_finished {
	const char *operator;
	int attempt;
	enum kgb_agent_end end;
	bool retry;
	int exit_code, term_signal;
	const char *kernel_sha256; /* NULL: nothing was harvested */
	const char *kernel_source;
	const char *error_code, *error_message;
	const struct kgb_totals *gateway; /* may be NULL */
	const struct kgb_report *cli; /* may be NULL */
	const char *sandbox; /* the sandbox's measurements, a JSON object; NULL: none */
	const char
		*stopped_by; /* of a method that works in rounds: why it ended by itself, or NULL */
};
struct kgb_event_run_finished {
	enum kgb_run_end end;
	int exit_code;
	const char *message; /* may be NULL */
	const struct kgb_gpu_times *gpus; /* since the start that ends */
	size_t n_gpus;
};

/* Each appends one record (synced unless its comment denies it), folds it and calls the listeners.
 */
KGB_MUST_CHECK int kgb_event_run_started(struct kgb_run_log *log,
					 const struct kgb_event_run_started *event,
					 struct kgb_err *err);
/** The plan. Operators that are planned already are left alone. */
KGB_MUST_CHECK int kgb_event_planned(struct kgb_run_log *log,
				     const struct kgb_event_plan_item *items, size_t n,
				     struct kgb_err *err);
KGB_MUST_CHECK int kgb_event_attempt_started(struct kgb_run_log *log,
					     const struct kgb_event_attempt_started *event,
					     struct kgb_err *err);
/** A check by the agent. `commit` may be NULL. */
KGB_MUST_CHECK int kgb_event_verify_call(struct kgb_run_log *log, const char *operator, int attempt,
					 const struct kgb_verdict_summary *verdict,
					 const char *commit, struct kgb_err *err);
/** A round is over and judged. The time is the record's, not `round->time_ms`. */
KGB_MUST_CHECK int kgb_event_round_finished(struct kgb_run_log *log, const char *operator,
					    int attempt, const struct kgb_round *round,
					    struct kgb_err *err);
/** A bare model has answered. The time is the record's; fields of a verdict are not written.
 * `totals` of the attempt, in the same record, may be NULL. */
KGB_MUST_CHECK int kgb_event_sample(struct kgb_run_log *log, const char *operator,
				    const struct kgb_sample * sample,
				    const struct kgb_totals *totals, struct kgb_err *err);
/** A batch has come to `batch->state`, with the totals of its attempt then. */
KGB_MUST_CHECK int kgb_event_batch(struct kgb_run_log *log, const char *operator,
				   const struct kgb_batch_record * batch,
				   const struct kgb_totals *totals, struct kgb_err *err);
/** The check of an answer that the next round is shown: check_status and check_code of `sample`. */
KGB_MUST_CHECK int kgb_event_sample_checked(struct kgb_run_log *log, const char *operator,
					    const struct kgb_sample * sample, struct kgb_err *err);
/** The verdict on an answer: status, code, reached and speedup of `sample`. */
KGB_MUST_CHECK int kgb_event_sample_judged(struct kgb_run_log *log, const char *operator,
					   const struct kgb_sample * sample, struct kgb_err *err);
/** Tokens so far; not synced. */
KGB_MUST_CHECK int kgb_event_usage(struct kgb_run_log *log, const char *operator, int attempt,
				   const struct kgb_totals *totals, struct kgb_err *err);
KGB_MUST_CHECK int kgb_event_attempt_finished(struct kgb_run_log *log,
					      const struct kgb_event_attempt_finished *event,
					      struct kgb_err *err);
/** A kernel came from elsewhere (--kernels DIR). */
KGB_MUST_CHECK int kgb_event_kernel_adopted(struct kgb_run_log *log, const char *operator,
					    const char * kernel_sha256, const char *origin,
					    struct kgb_err *err);
/** `device`: where the final verification is made, "cuda:0". */
KGB_MUST_CHECK int kgb_event_verify_started(struct kgb_run_log *log, const char *operator,
					    const char * kernel_sha256, const char *device,
					    struct kgb_err *err);
KGB_MUST_CHECK int kgb_event_verified(struct kgb_run_log *log, const char *operator,
				      const struct kgb_verdict_summary * verdict,
				      const char *verdict_path, struct kgb_err *err);
/** An operator ends outside of an attempt and a verdict: no kernel to verify, the judge could not
 * be run, cancelled. */
KGB_MUST_CHECK int kgb_event_operator_ended(struct kgb_run_log *log, const char *operator,
					    enum kgb_op_status status, const char *code,
					    const char *message, struct kgb_err *err);
KGB_MUST_CHECK int kgb_event_run_finished(struct kgb_run_log *log,
					  const struct kgb_event_run_finished *event,
					  struct kgb_err *err);

#endif
