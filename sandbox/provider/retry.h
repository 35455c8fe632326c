/* SPDX-License-Identifier: MIT */
/** \file
 * Decides whether a failed call is repeated, and when. Only the gateway retries. No call is
 * repeated once an answer has begun to reach the client, because it may have been billed. */
#ifndef KGB_SANDBOX_PROVIDER_RETRY_H
#define KGB_SANDBOX_PROVIDER_RETRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct kgb_retry_policy {
	int max_tries; /* calls for one request in all; 1: none is repeated */
	int64_t base_ms; /* first wait; doubled each time */
	int64_t cap_ms; /* longest wait without a request of the provider */
	int64_t total_ms; /* a request fails rather than wait longer */
};

/** The end of a call without an answer, or with an error for an answer. */
struct kgb_retry_fault {
	int status; /* 0: none came; see err */
	const struct kgb_err *err; /* libcurl's error; NULL when there is a status */
	const char *retry_after; /* header values, or NULL */
	const char *retry_after_ms;
	const char *should_retry; /* "x-should-retry" */
};

struct kgb_retry_decision {
	bool again;
	int64_t wait_ms; /* of this request */
	int64_t pause_ms; /* of all calls with the same key */
	bool crowded; /* the provider was overloaded */
};

/** `n_tries` calls were made so far, the first of them `since_ms` ago. `dice` in [0, 1) spreads the
 * waits. */
void kgb_retry_decide(const struct kgb_retry_policy *policy, const struct kgb_retry_fault *fault,
		      int n_tries, int64_t since_ms, double dice, struct kgb_retry_decision *out);

/** "12", "0.5" or an HTTP date; -1 when it is neither. At most a day. */
int64_t kgb_retry_after_ms(const char *value, int64_t wall_ms);

#endif
