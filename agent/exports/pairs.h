/* SPDX-License-Identifier: MIT */
/** \file
 * Pairs of versions of a kernel to learn from, one JSON object a line (kgb.pair/1,
 * docs/schemas/pair.schema.json):
 * - `correction`: a version that did not pass, and the next one of the same attempt that did;
 * - `optimization`: a version that passed, and the next one that is faster, by a ratio of speedups
 *   whose 95 % interval excludes 1.
 *
 * Both sides have the verdict as the maker of the kernel read it. Seeds are in none, and no verdict
 * on final inputs but its status is in any.
 */
#ifndef KGB_AGENT_EXPORTS_PAIRS_H
#define KGB_AGENT_EXPORTS_PAIRS_H

#include "agent/evidence/record.h"

struct kgb_verdict_summary;

/** Append the pairs of an operator. */
KGB_MUST_CHECK int kgb_pairs_of(const struct kgb_run_record *record, const struct kgb_op_state *op,
				struct kgb_buf *out, size_t *n, struct kgb_err *err);

struct kgb_gain {
	double ratio, low, high;
};
/** The ratio of two speedups over the same baseline, each with its own interval: MOVER on
 * logarithms (Zou and Donner 2008): the distance from the ratio to each bound is the root of the
 * sum of squares of the two sides' distances. False where a side has no interval, or other
 * baselines or GPUs. */
bool kgb_gain_of(const struct kgb_verdict_summary *before, const struct kgb_verdict_summary *after,
		 struct kgb_gain *out);

#endif
