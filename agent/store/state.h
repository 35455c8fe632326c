/* SPDX-License-Identifier: MIT */
/** \file
 * The state of a run, folded from its events. One function folds the journal's JSON, both live and
 * on replay, so a rebuilt projection equals the live one. No clock is read here: times are those of
 * the records. */
#ifndef KGB_AGENT_STORE_STATE_H
#define KGB_AGENT_STORE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/store/batch.h"
#include "agent/store/gpu_times.h"
#include "agent/store/journal.h"
#include "agent/store/maker.h"
#include "agent/store/sample.h"
#include "base/mem.h"
#include "methods/events.h"
#include "sandbox/meter/prices.h"
#include "sandbox/meter/usage.h"

enum kgb_op_status {
	KGB_OP_PLANNED,
	KGB_OP_RUNNING, /* an attempt is alive */
	KGB_OP_RETRYING, /* the last attempt ended without use, another will come */
	KGB_OP_GENERATED, /* there is a kernel without a final verdict */
	KGB_OP_VERIFYING,
	KGB_OP_PASSED,
	KGB_OP_FAILED,
	KGB_OP_REFUSED,
	KGB_OP_CHEATED,
	KGB_OP_TIMEOUT,
	KGB_OP_BUDGET,
	KGB_OP_CANCELLED,
	KGB_OP_INFRA_ERROR,
	KGB_OP_N_STATUSES,
};
const char *kgb_op_status_name(enum kgb_op_status status);
/** The status in which a status of a verdict or a code leaves an operator; not NONE. */
enum kgb_op_status kgb_op_status_of(enum kgb_status status);
/** PASSED .. INFRA_ERROR. */
bool kgb_op_status_is_final(enum kgb_op_status status);

#define KGB_TIMING_NOTE_LEN 320

/** Summary of a verdict. Counts are -1 when not known. */
struct kgb_verdict_summary {
	const char *status; /* "passed", "failed", "refused", "cheated", "infra_error" */
	const char *code; /* NULL when passed */
	const char *stage;
	const char *reached; /* how far the kernel got: "core", ...; NULL: not known */
	const char *message;
	const char *failing_case; /* first failure's case, or NULL */
	const char *kernel_sha256;
	const char *spec_sha256;
	const char *seed;
	const char *platform;
	int64_t wall_ms;
	int64_t total_tests, passed_tests, failed_tests;
	int64_t noted; /* places in the text that decide nothing (docs/codes.md) */
	/* Cases as the verdict counts them (docs/results.md); NULL: it does not. */
	const cJSON *tiers, *modes, *dtypes, *interfaces;
	const cJSON *timed_cases; /* figures of the timing by case; NULL: nothing was timed */
	const char *gpu; /* name of the GPU that timed it, or NULL */
	const char *baseline; /* the baseline of the timing (docs/timing.md), or NULL */
	const char *timing_precision; /* quick, standard or thorough, or NULL */
	/* Baseline over candidate by the verdict, with its interval; 0: none. */
	double speedup, speedup_low, speedup_high;
	char timing_note[KGB_TIMING_NOTE_LEN]; /* passed on a GPU, but no speedup: why; "" else */
};
/** Summarise a verdict document of kgb-judge. Strings point into it. INVALID when it is not a
 * verdict. */
KGB_MUST_CHECK int kgb_verdict_summarise(const cJSON *verdict, struct kgb_verdict_summary *out,
					 struct kgb_err *err);

/** Spending of attempts, in tokens and billionths of a dollar. Counts that no part reports stay
 * -1. */
struct kgb_spent {
	size_t n_attempts;
	int64_t n_requests; /* to the model, as the gateway counted them */
	int64_t n_calls; /* that the provider got for them, repeated ones too */
	int64_t n_calls_unsure; /* of unknown cost */
	struct kgb_usage gateway, cli;
	int64_t cost_nanos; /* by our table of prices; the sum of what is known */
	int64_t cli_cost_nanos; /* as the CLI reports it */
	bool cost_unknown; /* of some part */
};
#define KGB_SPENT_NOTHING                                                                 \
	{                                                                                 \
		.n_requests = -1, .n_calls = -1, .n_calls_unsure = -1,                    \
		.gateway = KGB_USAGE_UNKNOWN, .cli = KGB_USAGE_UNKNOWN, .cost_nanos = -1, \
		.cli_cost_nanos = -1                                                      \
	}

/** One check that the agent requested. */
struct kgb_verify_call {
	int attempt;
	int number; /* 1, 2, ... within the attempt */
	int64_t time_ms;
	struct kgb_verdict_summary verdict;
	struct kgb_spent spent; /* by the attempt until then; the CLI reports nothing so early */
	const char *commit; /* git commit of the workspace, or NULL */
};

/** One round of a method that works in rounds (struct kgb_method_loop). */
struct kgb_round {
	int number; /* from 1; 0: the kernel that it began with was judged, no agent ran */
	int64_t time_ms; /* when it was over */
	const char *category; /* of the operator */
	const char *end; /* how the agent ended: "agent.ok"; NULL for number 0 */
	const char *code; /* why there is nothing to judge: "agent.no_kernel", ...; NULL */
	bool has_verdict;
	struct kgb_verdict_summary verdict; /* of its best version when kept, else of its last */
	int check; /* that version's number below verdicts/; 0: none */
	bool kept; /* it is the best so far */
	const char *commit; /* of the workspace, or NULL */
	const char *summary; /* the agent's summary of the change: one line, or NULL */
	const char *session_id; /* or NULL */
	const char *prompt_sha256; /* NULL for number 0 */
	struct kgb_usage gateway, cli; /* of this round alone */
};

struct kgb_attempt_state {
	int number; /* from 1 */
	int device; /* -1: none */
	struct kgb_maker maker;
	struct kgb_price price; /* of the model as asked, when it started */
	int64_t started_ms;
	int64_t ended_ms; /* -1: alive */
	int64_t timeout_ms;
	const char *dir; /* relative to the run directory */
	const char *prompt_sha256;
	enum kgb_agent_end end; /* valid when ended */
	bool retry; /* another attempt follows */
	int exit_code; /* -1: did not exit */
	int term_signal; /* 0: none */
	bool code_generated;
	const char *kernel_sha256; /* NULL: no kernel */
	const char *kernel_source; /* "verified", "file", "message"; NULL: no kernel */
	const char *error_code; /* "agent.no_code", ...; NULL: none */
	const char *error_message;
	bool has_gateway;
	struct kgb_totals gateway;
	bool has_cli;
	struct kgb_report cli; /* the journal's record of it */
	const char *sandbox; /* the sandbox's measurements, a JSON object in one line; NULL: not
				recorded */
	int n_verify_calls;
	struct kgb_round *rounds; /* in order; none unless the method has a loop */
	size_t n_rounds;
	const char *stopped_by; /* "iterations", "patience", "target": why no round followed */
};

struct kgb_op_state {
	const char *name; /* "aten::add" */
	const char *safe_name;
	const char *spec_sha256; /* or NULL */
	const char *source, *category; /* of the specification; NULL: an older journal lacks them */
	enum kgb_op_status status;
	struct kgb_attempt_state *attempts; /* in order */
	size_t n_attempts;
	struct kgb_verify_call *calls; /* of all attempts, in order */
	size_t n_calls;
	struct kgb_sample *samples; /* of a bare model, in order of their answers */
	size_t n_samples;
	struct kgb_batch_record *batches; /* of its samples, in order of their leaving */
	size_t n_batches;
	bool code_generated;
	const char
		*kernel_sha256; /* of kernels/<safe_name>.py when it was last judged or written */
	const char *made_sha256; /* of the kernel that an attempt left, or that was adopted; NULL */
	struct kgb_maker adopted_from; /* of a kernel that was adopted, as far as known */
	const char *device; /* where its last final verification is made: "cuda:0"; or NULL */
	int64_t verify_started_ms; /* -1: never */
	int64_t verified_ms; /* -1: not (yet) */
	bool has_verdict;
	struct kgb_verdict_summary verdict;
	const char *verdict_path; /* relative to the run directory */
	const char *error_code;
	const char *error_message;
	int64_t changed_ms; /* time of the last event that concerned it */
	char doing[96]; /* by its agent now, as the CLI's last event; "" in a replay */
	int n_queued, n_judging; /* verifications of its kernels now, of all kinds; not replayed */
};

enum kgb_run_end {
	KGB_RUN_COMPLETED,
	KGB_RUN_INTERRUPTED,
	KGB_RUN_BUDGET,
	KGB_RUN_FAILED, /* stopped by an error of ours: disk full, lost gateway */
	KGB_RUN_N_ENDS,
};
const char *kgb_run_end_name(enum kgb_run_end end);

struct kgb_run_state {
	struct kgb_arena arena;
	const char *run_name;
	const char *dataset;
	struct kgb_maker maker; /* of the last start that generated; before one: the method alone */
	const char *version; /* of kgb-agent */
	const char *cli_name;
	const char *cli_version;
	const char *isolation;
	const char *platform;
	const char *from_run; /* the run whose kernels it began with, or NULL */
	const char *host;
	bool skip_gen, skip_verify;
	int n_samples; /* of each operator; 0: not of a bare model */
	int n_rounds; /* of each sample, which is a chain with reflection; 0: without */
	int device_count;
	int64_t first_started_ms; /* 0: never */
	int64_t started_ms; /* of the last run_started; 0: none */
	int64_t earlier_ms; /* wall time of the starts before that one */
	int64_t active_ms; /* of these, of the starts that generated */
	bool finished;
	enum kgb_run_end end;
	int exit_code;
	const char *end_message;
	int64_t ended_ms; /* -1 */
	int64_t updated_ms; /* time of the last record */
	struct kgb_op_state *ops; /* the plan, in plan order */
	size_t n_ops;
	struct kgb_gpu_times *gpus; /* of all starts whose end is recorded; none on the CPU */
	size_t n_gpus;
	int64_t n_unknown_events; /* skipped records of unknown type */
};
#define KGB_RUN_STATE_INIT     \
	{                      \
		.ended_ms = -1 \
	}

void kgb_run_state_release(struct kgb_run_state *state);
void kgb_auto_run_state(struct kgb_run_state *state);
/** By name; NULL when not planned. */
struct kgb_op_state *kgb_run_state_op(const struct kgb_run_state *state, const char *name);
/** Whether the judged kernel differs from the one that was made: the file was changed. */
bool kgb_op_is_replaced(const struct kgb_op_state *op);
/** Last attempt or NULL. */
struct kgb_attempt_state *kgb_op_last_attempt(const struct kgb_op_state *op);
/** The round that is the best so far, or NULL. */
const struct kgb_round *kgb_attempt_best_round(const struct kgb_attempt_state *attempt);
/** Fold one record into the state. INVALID when a record contradicts what came before (an attempt
 * of an operator that was never planned, ...). A kgb_journal_fn with a struct kgb_run_state * as
 * payload. */
KGB_MUST_CHECK int kgb_run_state_fold(void *state, const struct kgb_journal_record *record,
				      struct kgb_err *err);

/** Wall time of all starts in milliseconds; of one that has not ended, up to its last record. */
int64_t kgb_run_wall_ms(const struct kgb_run_state *state);

/** The maker of all attempts of the run; `.gateway_mode` is KGB_MIXED, and model and endpoint are
 * NULL, when they differ (resume --force). */
struct kgb_maker kgb_run_maker(const struct kgb_run_state *state);

/** Whether a method makes the run's kernels. Else they come from elsewhere (`--kernels`), and the
 * maker, as far as known, is that of the run that made them. */
bool kgb_run_is_made(const struct kgb_run_state *state);

/** The maker of an operator's kernel: that of the last attempt with a kernel, else that of the last
 * attempt, or without attempts that of the adopted kernel. Unknown fields are NULL. */
struct kgb_maker kgb_op_maker(const struct kgb_op_state *op);

/** The attempt that gives an operator's figures: the last that left a kernel, else the last; NULL
 * without attempts. The others are lost: infra and provider faults, kills. */
const struct kgb_attempt_state *kgb_op_counting_attempt(const struct kgb_op_state *op);

/** Get the spending of an attempt. \param attempt NULL: all counts are unknown. */
void kgb_attempt_spent(const struct kgb_attempt_state *attempt, struct kgb_spent *out);
/** sum += part. */
void kgb_spent_add(struct kgb_spent *sum, const struct kgb_spent *part);
/** Get the spending of the attempt that counts; all attempts of a bare model count. */
void kgb_op_spent(const struct kgb_op_state *op, struct kgb_spent *out);
/** Get the spending of the attempts that do not count. */
void kgb_op_lost(const struct kgb_op_state *op, struct kgb_spent *out);
/** Get the spending of all operators, by the attempts that count and by the others. */
void kgb_run_spent(const struct kgb_run_state *state, struct kgb_spent *counting,
		   struct kgb_spent *lost);
/** The cost of an attempt by our table of prices, in billionths of a dollar; -1: not known. */
int64_t kgb_attempt_cost_nanos(const struct kgb_attempt_state *attempt);
/** The amount that budgets count for all attempts of an operator; requests that were open when
 * kgb-agent died count with their reservations. */
void kgb_op_charged(const struct kgb_op_state *op, int64_t *tokens, int64_t *nanos);
/** Milliseconds of all ended attempts of an operator, or of the answers of a bare model, which also
 * waits for verdicts. */
int64_t kgb_op_agent_ms(const struct kgb_op_state *op);

/** Geometric mean of the speedups of operators that passed, and how many have one; 0: none. */
double kgb_run_speedup(const struct kgb_run_state *state, size_t *n);

struct kgb_run_counts {
	size_t total, pending, running, completed, failed; /* total: sum of the other four */
	size_t generated; /* part of completed: a kernel, not verified */
	size_t core; /* kernel right on all core cases; replaced ones apart */
	size_t replaced; /* part of failed: the judged kernel is not the one that was made */
	size_t by_status[KGB_OP_N_STATUSES]; /* replaced ones apart */
};
void kgb_run_state_count(const struct kgb_run_state *state, struct kgb_run_counts *out);

#endif
