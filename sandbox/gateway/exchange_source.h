/* SPDX-License-Identifier: MIT */
/** \file
 * The sources of a model request's answer: a provider, the script, the record.
 */
#ifndef KGB_SANDBOX_GATEWAY_EXCHANGE_SOURCE_H
#define KGB_SANDBOX_GATEWAY_EXCHANGE_SOURCE_H

#include "sandbox/gateway/exchange.h"

/** The account that a request is charged to. */
struct kgb_account *kgb_exchange__account(const struct kgb_exchange *ex);
/** Prepare the answer of a script or a record: the reply, or the request's key. On any thread. */
void kgb_exchange__prepare_source(struct kgb_exchange *ex);
/** Ask the source of the gateway's mode for the answer. */
void kgb_exchange__start_source(struct kgb_exchange *ex);

#endif
