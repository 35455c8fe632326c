/* SPDX-License-Identifier: MIT */
/** \file
 * The answer of an exchange on its way to the client.
 */
#ifndef KGB_SANDBOX_GATEWAY_EXCHANGE_REPLY_H
#define KGB_SANDBOX_GATEWAY_EXCHANGE_REPLY_H

#include "sandbox/gateway/exchange.h"

/** End the answer: nothing more is appended. An answer that was cut stays cut. */
void kgb_exchange__end_reply(struct kgb_exchange *ex, enum kgb_reply_end end);
/** Answer in one piece. */
void kgb_exchange__reply(struct kgb_exchange *ex, int status, const char *content_type,
			 const char *body, size_t len);
/** Answer with an error of the protocol. */
void kgb_exchange__reply_error(struct kgb_exchange *ex, int status, const char *message);
/** Stop the server from asking for more until __wake; watch meanwhile for a hang-up. */
void kgb_exchange__suspend(struct kgb_exchange *ex);
void kgb_exchange__wake(struct kgb_exchange *ex);
/** Give status and headers to the server, and the body or a reader for it. */
enum MHD_Result kgb_exchange__queue(struct kgb_exchange *ex);

#endif
