/* SPDX-License-Identifier: MIT */
/** \file
 * How an attempt ended: classified, explained when there is no kernel, and recorded.
 */
#ifndef KGB_AGENT_ATTEMPT_ENDING_H
#define KGB_AGENT_ATTEMPT_ENDING_H

#include "agent/attempt/harvest.h"
#include "agent/watch/round_sums.h"
#include "agent/watch/watcher.h"

struct kgb_ending {
	const struct kgb_attempt_facts *facts; /* borrowed, as are the next three */
	const struct kgb_report *report; /* of the last round's CLI */
	const struct kgb_round_sums *sums;
	const struct kgb_watcher *watcher;
	bool timed_out, cancelled;
	bool lingered; /* the CLI had finished and did not exit */
	int64_t result_ms; /* monotonic: when the closing event came; 0: not yet */
	enum kgb_code budget_code; /* which budget is used up */
	char budget_why[256];
	bool answers_break_off; /* the gateway refused a request for that */
	struct kgb_err
		gateway; /* why the gateway could not serve the sandbox; empty message: it could */
	const char *stopped_by; /* the rule that ended the rounds, or NULL */
};

/** How the agent of the last round ended. */
enum kgb_agent_end kgb_ending_classify(const struct kgb_ending *ending);
/** Set code and message of an outcome without a kernel. */
void kgb_ending_explain(const struct kgb_ending *ending, const struct kgb_harvest *harvest,
			struct kgb_attempt_outcome *outcome);
/** Write exit.json and journal the end; warn of processes that survived, and of a report without
 * tokens. */
KGB_MUST_CHECK int kgb_ending_record(const struct kgb_ending *ending,
				     const struct kgb_harvest *harvest,
				     const struct kgb_attempt_outcome *outcome,
				     struct kgb_err *err);

#endif
