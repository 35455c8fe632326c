/* SPDX-License-Identifier: MIT */
/** \file
 * The judge's decision, as a value and as the one JSON document of a verification (schema
 * "kgb.verdict/1").
 */
#ifndef KGB_VERIFY_LANE_VERDICT_H
#define KGB_VERIFY_LANE_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/codes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/isolation/probe.h"
#include "verify/cases/cases.h"
#include "verify/lane/phase.h"
#include "verify/lane/reached.h"
#include "verify/protocol/conditions.h"
#include "verify/static/scan.h"
#include "verify/timer/gpu_peak.h"
#include "verify/timer/timer.h"

#define KGB_VERDICT_SCHEMA "kgb.verdict/1"
#define KGB_VERDICT_FAILURES_MAX 20
#define KGB_VERDICT_KERNELS_MAX 64
#define KGB_VERDICT_ABLATIONS_MAX 256
#define KGB_VERDICT_TIMINGS_MAX 64
#define KGB_HEALTH_NOTES_MAX 8

enum kgb_stage {
	KGB_STAGE_CONTRACT,
	KGB_STAGE_L1,
	KGB_STAGE_CORRECTNESS,
	KGB_STAGE_L2,
	KGB_STAGE_L3,
	KGB_STAGE_TIMING,
	KGB_N_STAGES,
};
const char *kgb_stage_name(enum kgb_stage stage);

enum kgb_stage_status {
	KGB_STAGE_SKIPPED, /* an earlier stage decided, or it does not apply */
	KGB_STAGE_PASSED,
	KGB_STAGE_FAILED,
};

struct kgb_stage_result {
	enum kgb_stage_status status;
	int64_t wall_ms;
	enum kgb_code code; /* of FAILED */
	const char *message; /* arena or static; NULL: none */
};

/** A reason to reject the kernel, with or without a case. Strings live in the verdict's arena. */
struct kgb_failure {
	const char *case_name; /* NULL: not about a case */
	size_t turn; /* of the case, in the order in which cases are judged */
	const char *interface;
	enum kgb_code code;
	const char *message;
	const char *hint;
	const char *inputs;
	bool has_values; /* the rest is about wrong elements */
	bool index_is_first; /* of the wrong elements; else the worst */
	int ndim;
	int64_t index[KGB_MAX_DIMS];
	double expected, got;
	int64_t n_wrong, n_elements;
	double max_abs_err, allowed_abs_err;
};

struct kgb_kernel_count {
	const char *name;
	int64_t count;
};
/** One run with launches replaced by nothing: all of them, or only those of one kernel. */
struct kgb_ablation_run {
	const char *case_name;
	const char *kernel; /* NULL: all */
	bool broken; /* the result became wrong, as it must */
};
struct kgb_timing {
	const char *case_name;
	double candidate_ms, baseline_ms; /* medians */
	struct kgb_interval speedup; /* with json */
	double process_reach; /* with json: the part of its logarithm's half-width by the choice of
				 processes */
	const char *
		json; /* arena; the whole object from the timer; NULL: only the medians are known */
	const char *rates; /* with json: the object in `timed_cases` */
};

/** The largest error of right results, relative to the tolerance. */
struct kgb_closest {
	const char *case_name; /* arena; NULL: no result of a floating-point type was compared */
	double share; /* error over allowed error, the largest of all comparisons that were right */
};

/** State of the GPU at the end of the verdict. */
struct kgb_gpu_health {
	bool tested; /* a failure required it */
	bool well; /* with tested */
	int64_t wall_ms;
	const char *notes[KGB_HEALTH_NOTES_MAX]; /* arena or static */
	size_t n_notes;
};

struct kgb_verdict {
	struct kgb_arena arena;
	const char *operator_name;
	const char *platform; /* static: "cpu", "cuda" */
	bool final_mode;
	enum kgb_status status;
	enum kgb_code code;
	enum kgb_stage decided_by; /* when there is a code */
	const char *message;
	const char *hint;
	char kernel_sha256[KGB_SHA256_HEX_LEN];
	char spec_sha256[KGB_SHA256_HEX_LEN];
	struct kgb_seed seed;
	int64_t started_wall_ms;
	int64_t wall_ms;
	struct kgb_stage_result stages[KGB_N_STAGES];
	int64_t phase_ns[KGB_N_PHASES]; /* summed over lanes */
	int lanes; /* number of lanes in stage correctness; 0: it was not reached */
	int64_t total_tests, passed_tests, failed_tests; /* the rest was not run */
	int64_t drawn_tests; /* of all: cases drawn by the seed */
	struct kgb_interface_count *interfaces; /* arena */
	size_t n_interfaces;
	struct kgb_notes notes; /* notes of the static stage that do not decide */
	struct kgb_failure failures[KGB_VERDICT_FAILURES_MAX];
	size_t n_failures;
	struct kgb_closest closest;
	bool deterministic; /* all repetitions gave the same bits */
	int64_t n_nondeterministic;
	int64_t n_replayed_on_gpu; /* cases; the machine for Triton's IR replayed the others */
	int64_t n_in_sandbox; /* on a GPU: passed by results from the candidate's process */
	struct kgb_ablation_run ablations[KGB_VERDICT_ABLATIONS_MAX];
	size_t n_ablations;
	struct kgb_kernel_count kernels[KGB_VERDICT_KERNELS_MAX];
	size_t n_kernels;
	int64_t n_truths_recalled; /* answers of the reference that an earlier verification kept */
	int64_t n_proofs_recalled; /* proofs of compilations that an earlier verification kept */
	/** What the conditions of kernel.py were in all replays that the machine for Triton's IR
	 * made. Owned. */
	struct kgb_conditions conditions;
	int64_t n_inline_ptx; /* compiled kernels with PTX in their source, on a GPU */
	bool timing_comparable; /* the times are those of the device that the operator is for */
	const char *timing_reason; /* why not; NULL when comparable */
	const char *timing_precision; /* static: of kgb_timing_precision_names */
	const char *timing_baseline; /* static: "torch.compile", "kernel", or kgb_spec_baseline() */
	struct kgb_timing timings[KGB_VERDICT_TIMINGS_MAX];
	size_t n_timings;
	bool has_machine;
	struct kgb_gpu_peak machine; /* the GPU that was timed on */
	struct kgb_gpu_health health;
	bool has_isolation;
	struct kgb_isolation_info isolation;
	char python[32], torch[64], triton[32];
};

/** Everything unknown, nothing decided. Pair with kgb_verdict_release. */
void kgb_verdict_init(struct kgb_verdict *verdict);
void kgb_verdict_release(struct kgb_verdict *verdict);

/** Decide, once: the first decision stays. The failure's code determines the status. */
void kgb_verdict_decide(struct kgb_verdict *verdict, enum kgb_stage stage,
			const struct kgb_failure *failure);
/** Take the decision back, for another one. */
void kgb_verdict_withdraw(struct kgb_verdict *verdict);
/** Decide for an infrastructure fault: `code` is one of status infra_error, the error's text is the
 * message. */
void kgb_verdict_decide_infra(struct kgb_verdict *verdict, enum kgb_stage stage, enum kgb_code code,
			      const struct kgb_err *err);
/** Add to the failures, which stay in the order of their cases' turns. Beyond
 * KGB_VERDICT_FAILURES_MAX the latest are dropped, cheats last. */
void kgb_verdict_add_failure(struct kgb_verdict *verdict, const struct kgb_failure *failure);
/** Record the error of a right result against the tolerance; the largest stays. */
void kgb_verdict_note_closest(struct kgb_verdict *verdict, const char *case_name, double share);
/** The first failure that is a cheat; NULL: there is none. */
const struct kgb_failure *kgb_verdict_cheat(const struct kgb_verdict *verdict);
/** Close the verdict: without a decision it is "passed" if every required stage passed and every
 * case was run; else "infra_error". */
void kgb_verdict_close(struct kgb_verdict *verdict, bool needs_kernels);
/** Add another lane's verdict about other cases of the same interfaces. The strings of `from` move
 * to `to`; release `from` nevertheless. */
void kgb_verdict_merge(struct kgb_verdict *to, struct kgb_verdict *from);
/** Add launches to the count of a kernel name; names beyond the table are counted under "(others)".
 */
void kgb_verdict_count_launches(struct kgb_verdict *verdict, const char *name, int64_t count);
/** Add the timer's result for one case; `samples` keeps every raw sample in the document. Cases
 * beyond the table are left out. */
void kgb_verdict_add_timing(struct kgb_verdict *verdict, const struct kgb_timer *timer,
			    const struct kgb_timer_result *result, bool samples);
/** The rung of an interface, or of all together (`entry` is NULL), by its counts and the stages. */
enum kgb_reached kgb_verdict_reached(const struct kgb_verdict *verdict,
				     const struct kgb_interface_count *count);
/** The document, complete, without a line end. */
void kgb_verdict_write(const struct kgb_verdict *verdict, struct kgb_buf *out);

#endif
