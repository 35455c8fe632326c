/* SPDX-License-Identifier: MIT */
/** \file
 * A model request and the budget: the request waits until its part can be reserved, and is charged.
 */
#ifndef KGB_SANDBOX_GATEWAY_EXCHANGE_ADMIT_H
#define KGB_SANDBOX_GATEWAY_EXCHANGE_ADMIT_H

#include "sandbox/gateway/exchange.h"

/** Answer a complete model request as soon as the budget allows it, or refuse it. */
void kgb_exchange__admit(struct kgb_exchange *ex);
/** The exchange is over: replace its reservation by its charge. */
void kgb_exchange__charge(struct kgb_exchange *ex);
/** No client waits for the answer any more: leave all queues and cut the call. */
void kgb_exchange__stop(struct kgb_exchange *ex);
/** Tokens of input that a request of so many bytes has at most. */
int64_t kgb_exchange__most_input(size_t body_len);
/** Copy the spent and reserved amounts of the session's budget into its totals. */
void kgb_session__tell_charged(struct kgb_session *session);
/** A reservation was settled: exchanges that wait for a budget may go. */
void kgb_gateway__admit_waiting(struct kgb_gateway *gw);

#endif
