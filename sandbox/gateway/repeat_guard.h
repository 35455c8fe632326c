/* SPDX-License-Identifier: MIT */
/** \file
 * Requests of one session whose answers broke off. Some CLIs (OpenCode) ask for the same again and
 * again, without a word and without an end; each answer that had begun is billed. So the same
 * request, byte for byte, is answered only so often.
 */
#ifndef KGB_SANDBOX_GATEWAY_REPEAT_GUARD_H
#define KGB_SANDBOX_GATEWAY_REPEAT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

/** After so many broken answers to one request there is no other. Some CLIs
 * give up earlier. */
#define KGB_BROKEN_LIMIT 3
/** That many different requests are remembered, the latest ones: sub-agents ask side by side. */
#define KGB_BROKEN_REQUESTS 8

/** What a client reads then. Without a number: OpenCode takes some for a status. */
#define KGB_BROKEN_TEXT "the provider's answers to this request break off each time"

struct kgb_repeat_guard {
	struct {
		char sha256[KGB_SHA256_HEX_LEN]; /* of the body; "": none */
		int n;
	} asked[KGB_BROKEN_REQUESTS];
	size_t next; /* to be forgotten */
};

/** An answer to that request broke off; it counts as `weight` of them. */
void kgb_repeat_guard_note(struct kgb_repeat_guard *guard, const char *sha256, int weight);
/** It was answered well. */
void kgb_repeat_guard_forget(struct kgb_repeat_guard *guard, const char *sha256);
/** Something is remembered. */
bool kgb_repeat_guard_any(const struct kgb_repeat_guard *guard);
/** To ask once more is hopeless. */
bool kgb_repeat_guard_is_hopeless(const struct kgb_repeat_guard *guard, const char *sha256);

#endif
