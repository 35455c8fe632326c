/* SPDX-License-Identifier: MIT */
/** \file
 * Requests of one session whose answers broke off. Some CLIs (OpenCode) repeat such a request
 * silently and for ever; each answer that had begun is billed. So the same request, byte for byte,
 * is answered only a few times. */
#ifndef KGB_SANDBOX_GATEWAY_REPEAT_GUARD_H
#define KGB_SANDBOX_GATEWAY_REPEAT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

/** Most broken answers to one request. Some CLIs give up earlier. */
#define KGB_BROKEN_LIMIT 3
/** Number of latest requests that are stored: sub-agents send requests in parallel. */
#define KGB_BROKEN_REQUESTS 8

/** The message to the client. It has no number, because OpenCode takes some numbers for a
 * status. */
#define KGB_BROKEN_TEXT "the provider's answers to this request break off each time"

struct kgb_repeat_guard {
	struct {
		char sha256[KGB_SHA256_HEX_LEN]; /* of the body; "": none */
		int n;
	} asked[KGB_BROKEN_REQUESTS];
	size_t next; /* to be forgotten */
};

/** Record that an answer to that request broke off; it counts as `weight` broken answers. */
void kgb_repeat_guard_note(struct kgb_repeat_guard *guard, const char *sha256, int weight);
/** The request received a whole answer: forget it. */
void kgb_repeat_guard_forget(struct kgb_repeat_guard *guard, const char *sha256);
/** Whether some request is stored. */
bool kgb_repeat_guard_any(const struct kgb_repeat_guard *guard);
/** Whether the request has used up its answers. */
bool kgb_repeat_guard_is_hopeless(const struct kgb_repeat_guard *guard, const char *sha256);

#endif
