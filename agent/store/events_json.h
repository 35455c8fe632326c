/* SPDX-License-Identifier: MIT */
/** \file
 * The JSON forms of what events carry, written and read in one place. Internal to store/ and
 * report/.
 */
#ifndef KGB_AGENT_STORE_EVENTS_JSON_H
#define KGB_AGENT_STORE_EVENTS_JSON_H

#include "agent/store/state.h"
#include "base/formats/jsonw.h"

/** Write rows as a member that is an object; null when `from` is NULL. */
void kgb_rows__write_object(struct kgb_jsonw *w, const char *key, const struct kgb_row *rows,
			    const void *from);

extern const struct kgb_row kgb_run_started__rows[], kgb_run_state__rows[],
	kgb_attempt_finished__rows[], kgb_attempt_state__rows[], kgb_maker__rows[],
	kgb_price__rows[], kgb_verdict_summary__rows[], kgb_round__rows[], kgb_sample__rows[],
	kgb_sample_check__rows[], kgb_sample_verdict__rows[], kgb_gpu_times__rows[];

/** Members that are missing or null leave a field as it is. Strings go to the arena. */
void kgb_maker__read(const cJSON *node, struct kgb_arena *arena, struct kgb_maker *maker);

/** The members that the journal holds. */
void kgb_cli_report__read(const cJSON *node, struct kgb_report *out);

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
/** INVALID when a member has an impossible value. Strings go to the arena; NULL arena: only
 * checks. */
KGB_MUST_CHECK int kgb_round__read(const cJSON *node, struct kgb_arena *arena,
				   struct kgb_round *out, struct kgb_err *err);

/** Index of `name` in a list of `n` names, or -1. */
int kgb_enum__find(const char *name, const char *(*name_of)(int value), int n);

/** Fold a record, or with `apply` false only find out whether it could be folded. */
KGB_MUST_CHECK int kgb_run_state__fold(struct kgb_run_state *state,
				       const struct kgb_journal_record *record, bool apply,
				       struct kgb_err *err);

#endif
