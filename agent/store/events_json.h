/* SPDX-License-Identifier: MIT */
/** \file
 * The JSON forms of what events carry, written and read in one place. Internal to store/ and
 * report/.
 */
#ifndef KGB_AGENT_STORE_EVENTS_JSON_H
#define KGB_AGENT_STORE_EVENTS_JSON_H

#include "agent/store/state.h"
#include "base/formats/jsonw.h"

/** Members input, output, cache_creation, cache_read; unknown counts are null. */
void kgb_usage__write_members(struct kgb_jsonw *w, const struct kgb_usage *usage);
/** Missing and null members become -1. */
void kgb_usage__read(const cJSON *node, struct kgb_usage *out);

/** Members method, model, gateway, endpoint. */
void kgb_maker__write_members(struct kgb_jsonw *w, const struct kgb_maker *maker);
/** Members that are missing or null leave a field as it is. Strings go to the arena. */
void kgb_maker__read(const cJSON *node, struct kgb_arena *arena, struct kgb_maker *maker);

/** Member price_nanos: nanos for one token of each class; NULL: null. */
void kgb_price__write(struct kgb_jsonw *w, const struct kgb_price *price);
struct kgb_price kgb_price__read(const cJSON *node);

void kgb_totals__write(struct kgb_jsonw *w, const struct kgb_totals *totals);
void kgb_totals__read(const cJSON *node, struct kgb_totals *out);

void kgb_cli_report__write(struct kgb_jsonw *w, const struct kgb_cli_report *report);
/** Strings go to the arena. */
void kgb_cli_report__read(const cJSON *node, struct kgb_arena *arena, struct kgb_cli_report *out);

void kgb_verdict_summary__write(struct kgb_jsonw *w, const struct kgb_verdict_summary *summary);
/** Members speedup, speedup_low, speedup_high and timing_note, of a journal's record or a
 * projection; NULL: there is no verdict. */
void kgb_verdict_summary__write_speedup(struct kgb_jsonw *w,
					const struct kgb_verdict_summary *summary);
/** INVALID when the status is none of a verdict's. Strings go to the arena; NULL arena: only
 * checks. */
KGB_MUST_CHECK int kgb_verdict_summary__read(const cJSON *node, struct kgb_arena *arena,
					     struct kgb_verdict_summary *out, struct kgb_err *err);

/** All members but the time, which is the record's. */
void kgb_round__write_members(struct kgb_jsonw *w, const struct kgb_round *round);
/** INVALID when something in it cannot be. Strings go to the arena; NULL arena: only checks. */
KGB_MUST_CHECK int kgb_round__read(const cJSON *node, struct kgb_arena *arena,
				   struct kgb_round *out, struct kgb_err *err);

/** Index of `name` in a list of `n` names, or -1. */
int kgb_enum__find(const char *name, const char *(*name_of)(int value), int n);

/** Fold a record, or with `apply` false only find out whether it could be folded. */
KGB_MUST_CHECK int kgb_run_state__fold(struct kgb_run_state *state,
				       const struct kgb_journal_record *record, bool apply,
				       struct kgb_err *err);

#endif
