/* SPDX-License-Identifier: MIT */
/** \file
 * An exchange that asks for a verdict. The request outlives it: the judge may answer late.
 */
#ifndef KGB_SANDBOX_GATEWAY_EXCHANGE_VERIFY_H
#define KGB_SANDBOX_GATEWAY_EXCHANGE_VERIFY_H

#include "sandbox/gateway/exchange.h"

/** Call the session's on_verify with the exchange's body. */
void kgb_exchange__verify(struct kgb_exchange *ex);
/** The exchange ends without a verdict. */
void kgb_exchange__drop_verify(struct kgb_exchange *ex);

#endif
