/* SPDX-License-Identifier: MIT */
/** \file
 * A batch of a bare model's questions at a provider, as the journal has it: written before it
 * leaves, when its id is known, when another attempt goes on with it, and when it is over.
 */
#ifndef KGB_AGENT_STORE_BATCH_H
#define KGB_AGENT_STORE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/meter/budget.h"

struct kgb_batch_record {
	const char *key; /* names it and its requests at the provider */
	const char *id; /* the provider's; NULL: not known, and perhaps there is none */
	const char *state; /* "leaving", "submitted", "over" */
	int attempt; /* whose totals hold its open requests */
	const int *numbers; /* of its samples */
	size_t n;
	struct kgb_charge most; /* that each request can take */
	int64_t left_ms; /* when it left: its first event */
};

struct kgb_op_state;
/** Samples of a batch that have no answer. */
size_t kgb_op_n_outstanding(const struct kgb_op_state *op, const struct kgb_batch_record *batch);

#endif
