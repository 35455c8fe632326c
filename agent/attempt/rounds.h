/* SPDX-License-Identifier: MIT */
/** \file
 * Rules and texts of methods that work in rounds (struct kgb_method_loop): when a version is
 * better, when the rounds end, and what the next round reads about the earlier ones. Nothing here
 * reads clocks or files.
 */
#ifndef KGB_AGENT_ATTEMPT_ROUNDS_H
#define KGB_AGENT_ATTEMPT_ROUNDS_H

#include "agent/store/state.h"
#include "base/buf.h"
#include "methods/method.h"

/** The best version so far. */
struct kgb_rounds_best {
	int check; /* its number below verdicts/; 0: none has passed yet */
	int round; /* round that produced it; 0: the initial kernel, or none */
	double speedup; /* 0: not timed */
};

/** A version that passed is better than none, and one that was timed than one that was not. Else
 * the lower end of its interval must be above the best's speedup. An equal version, or one that was
 * not timed, does not replace the older one. */
bool kgb_rounds_is_better(const struct kgb_rounds_best *best,
			  const struct kgb_verdict_summary *verdict);

/** Why no further round begins after `round`: "iterations", "patience" or "target"; NULL: one does.
 */
const char *kgb_rounds_stop(const struct kgb_method_loop *loop, int round,
			    const struct kgb_rounds_best *best);

/** Whether another round may follow this end of the agent: it finished, or reached a limit that
 * applies to one round only. */
bool kgb_rounds_goes_on_after(enum kgb_agent_end end);

/** Append the first line of an agent's last message as one plain line without markup, cut at
 * KGB_ROUNDS_SUMMARY_LEN bytes; nothing where there is none. */
#define KGB_ROUNDS_SUMMARY_LEN 160
void kgb_rounds_summary(const char *message, struct kgb_buf *out);

/** Append the rounds so far as a table in Markdown. */
void kgb_rounds_log(const struct kgb_attempt_state *attempt, struct kgb_buf *out);
/** Append the results of rounds on all operators but `except` (NULL: on all), the latest
 * KGB_ROUNDS_MEMORY_LINES of them, one a line. */
#define KGB_ROUNDS_MEMORY_LINES 60
void kgb_rounds_memory(const struct kgb_run_state *state, const char *except, struct kgb_buf *out);

/** kernel.py when a round begins. */
struct kgb_rounds_kernel {
	const struct kgb_rounds_best *best;
	int round; /* the one before; 0: none */
	bool exists;
	bool is_stub; /* that is unchanged */
	const char *report; /* the judge's, on the version that was judged last; NULL: none */
};
/** Append a paragraph that describes it, with the report if that version was not kept. */
void kgb_rounds_describe_kernel(const struct kgb_rounds_kernel *kernel, struct kgb_buf *out);

#endif
