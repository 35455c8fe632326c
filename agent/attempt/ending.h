/* SPDX-License-Identifier: MIT */
/** \file
 * How an attempt ended: classified, explained when there is no kernel, and as JSON.
 */
#ifndef KGB_AGENT_ATTEMPT_ENDING_H
#define KGB_AGENT_ATTEMPT_ENDING_H

#include "agent/attempt/harvest.h"
#include "agent/watch/round_sums.h"
#include "agent/watch/watcher.h"
#include "base/formats/jsonw.h"

struct kgb_ending {
	const struct kgb_attempt_facts *facts; /* borrowed, as are the next three */
	const struct kgb_report *report; /* of the last round's CLI */
	const struct kgb_round_sums *sums;
	const struct kgb_watcher *watcher;
	bool timed_out, cancelled;
	bool lingered; /* the CLI had finished and did not exit */
	int64_t result_ms; /* monotonic: when the closing event came; 0: not yet */
	const char *budget_code; /* which budget is used up; NULL: none */
	char budget_why[256];
};

/** How the agent of the last round ended. */
enum kgb_agent_end kgb_ending_classify(const struct kgb_ending *ending);
/** Code and message of an attempt that ended so and left no kernel. */
void kgb_ending_explain(const struct kgb_ending *ending, enum kgb_agent_end end,
			const struct kgb_harvest *harvest, const char **code, const char **message);
/** Write exit.json. */
KGB_MUST_CHECK int kgb_ending_write_exit(const struct kgb_ending *ending, enum kgb_agent_end end,
					 struct kgb_err *err);
/** Append what the watcher and the launcher measured, as a JSON object. */
void kgb_ending_write_sandbox(struct kgb_jsonw *w, const struct kgb_ending *ending);

#endif
