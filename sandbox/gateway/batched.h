/* SPDX-License-Identifier: MIT */
/** \file
 * The accounts of requests that go to a provider in a batch. Each counts as an exchange of the
 * session: open from its reservation until its result is there, at half the price. Reserve before
 * the batch leaves and write the totals down: a killed run counts them as spent. Loop thread only.
 */
#ifndef KGB_SANDBOX_GATEWAY_BATCHED_H
#define KGB_SANDBOX_GATEWAY_BATCHED_H

#include "sandbox/gateway/gateway.h"
#include "sandbox/meter/meter.h"

/** Upper bound of the charge for one request. `output`: tokens that its answer may have. */
struct kgb_charge kgb_batched_most(const struct kgb_session *session, const char *model,
				   size_t body_len, int64_t output);
/** LIMIT, with the reason, when spent and reserved amounts leave no room in a budget. */
KGB_MUST_CHECK int kgb_batched_reserve(struct kgb_session *session, const struct kgb_charge *most,
				       struct kgb_err *why);
/** A request that an earlier session has reserved and that is still at the provider. */
void kgb_batched_reopen(struct kgb_session *session, const struct kgb_charge *most);

enum kgb_batched_end {
	KGB_BATCHED_UNSENT, /* it never left */
	KGB_BATCHED_FAILED, /* an error, expired or cancelled: providers bill none of these */
	KGB_BATCHED_LOST, /* perhaps answered and billed: counts with its upper bound */
	KGB_BATCHED_ANSWERED,
};
/** A request is over. `meter` has read its answer; only with KGB_BATCHED_ANSWERED. */
void kgb_batched_settle(struct kgb_session *session, const struct kgb_charge *most,
			enum kgb_batched_end end, const struct kgb_meter *meter);

#endif
