/* SPDX-License-Identifier: MIT */
/** \file
 * Pieces that the projections share with each other and with an attempt's exit.json. Internal to
 * report/, screen/ and sched/.
 */
#ifndef KGB_AGENT_REPORT_COMMON_H
#define KGB_AGENT_REPORT_COMMON_H

#include "agent/store/state.h"
#include "base/formats/jsonw.h"
#include "base/time.h"

/** RFC 3339 in `out`, or NULL when ms <= 0. */
const char *kgb_report__time(int64_t ms, char out[KGB_TIME_LEN]);
/** The same, in memory of the enclosing block. */
#define KGB_REPORT_TIME(ms) kgb_report__time(ms, (char[KGB_TIME_LEN]){0})
/** Seconds of milliseconds; NaN, which is written as null, when negative. */
double kgb_report__seconds(int64_t ms);
/** Dollars of billionths; NaN when negative. */
double kgb_report__dollars(int64_t nanos);
/** Marks every figure whose model is the built-in script, so that no quoted line hides it. */
#define KGB_MARK_OFFLINE "OFFLINE"

/** {"input_tokens":..,"output_tokens":..,"cache_creation_input_tokens":..,"cache_read_input_tokens":..,
 *  "total_tokens":..}; unknown counts are null, the total too as soon as one is unknown. */
void kgb_report__usage(struct kgb_jsonw *w, const char *key, const struct kgb_usage *usage);
/** true, false, or null when one meter lacks a count. */
void kgb_report__agree(struct kgb_jsonw *w, const struct kgb_usage *a, const struct kgb_usage *b);
/** "by_status":{"passed":2, ..}: statuses that no operator has are left out. */
void kgb_report__by_status(struct kgb_jsonw *w, const struct kgb_run_counts *counts);
/** "speedup":{"geometric_mean":..,"operators":..} of the run; the mean of none is null. */
void kgb_report__speedup(struct kgb_jsonw *w, const struct kgb_run_state *state);
/** When the operator was first and last worked on; -1 when not. */
/** Why gateway and CLI count different tokens for an attempt that has ended; NULL when they agree,
 * or one of them has no count. */
const char *kgb_report__disagreement(const struct kgb_attempt_state *attempt);
/** Append "aten::add: why" for each operator whose attempt that counts disagrees. */
void kgb_report__run_disagreement(const struct kgb_run_state *state, struct kgb_buf *out);
/** Milliseconds of all attempts; of one that runs, up to the last record. */
int64_t kgb_report__agent_ms(const struct kgb_run_state *state, const struct kgb_op_state *op);
int64_t kgb_report__op_start(const struct kgb_op_state *op);
int64_t kgb_report__op_end(const struct kgb_op_state *op);
/** Milliseconds of its last final verification, -1 when there was none. */
int64_t kgb_report__verify_ms(const struct kgb_op_state *op);

/** "1.23x (1.2 to 1.25)"; returns out. */
const char *kgb_report__interval(const struct kgb_verdict_summary *verdict, char *out, size_t cap);
/** "12.3k", "4.5M", "-" when negative; returns out. */
const char *kgb_report__count(int64_t n, char *out, size_t cap);
/** Append "12.3k in 456 out". */
void kgb_report__add_tokens(struct kgb_buf *out, const struct kgb_usage *usage);
/** Prompt tokens of all kinds; -1 when nothing is known. */
int64_t kgb_report__prompt_tokens(const struct kgb_usage *usage);
/** Append text (escaped), cut with "~" so that it takes at most `columns` columns; returns the
 * columns taken. */
size_t kgb_report__cut(struct kgb_buf *out, const char *text, size_t columns);

#endif
