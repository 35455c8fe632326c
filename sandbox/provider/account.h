/* SPDX-License-Identifier: MIT */
/** \file
 * The accounts at providers: address, key and limiter of each, and the connections and limits that
 * all calls share. Loop thread only.
 */
#ifndef KGB_SANDBOX_PROVIDER_ACCOUNT_H
#define KGB_SANDBOX_PROVIDER_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "sandbox/meter/protocol.h"
#include "sandbox/provider/key_limiter.h"
#include "sandbox/provider/retry.h"

struct kgb_upstream;

struct kgb_account_spec {
	const char *url; /* NULL: the provider's address; a path prefix is kept */
	const char *api_key; /* NULL: its requests are refused */
	bool key_is_bearer; /* Anthropic: send "Authorization: Bearer KEY" instead of
			       "x-api-key: KEY" */
};

struct kgb_account {
	char *base_url; /* owned; without trailing slash */
	char *api_key; /* owned; NULL: there is none */
	bool key_is_bearer;
	struct kgb_key_limiter limiter;
};

struct kgb_accounts_spec {
	struct kgb_account_spec by_provider[KGB_N_PROVIDERS];
	int64_t connect_timeout_ms; /* 0: 20 s */
	int64_t idle_timeout_ms; /* longest silence of a provider before the call ends; 0: 300 s */
	int64_t max_answer_bytes; /* an answer is cut there; 0: KGB_LIMIT_HTTP_ANSWER */
	struct kgb_retry_policy retry; /* all 0: 8 tries within 4 minutes */
	size_t max_concurrent; /* calls of one account at a time; 0: 256 */
};

/** All zero in a gateway without calls: then no account has a key. */
struct kgb_accounts {
	struct kgb_account by_provider[KGB_N_PROVIDERS];
	struct kgb_upstream *upstream; /* owned; NULL: no calls */
	int64_t connect_timeout_ms, idle_timeout_ms, max_answer_bytes;
	struct kgb_retry_policy retry;
	int64_t reported_ms; /* monotonic: the last line about a call that is made again; 0: none */
	size_t n_open; /* limiters that are not closed */
	void (*closed)(void *payload);
	void *payload;
};

/** Strings are copied. INVALID on a bad URL or when no account has a key. */
KGB_MUST_CHECK int kgb_accounts_open(struct kgb_accounts *accounts, uv_loop_t *loop,
				     const struct kgb_accounts_spec *spec, struct kgb_err *err);
/** No call may wait or run. Wipes the keys; `closed` comes from the loop. */
void kgb_accounts_close(struct kgb_accounts *accounts, void (*closed)(void *payload),
			void *payload);
/** The longest pause that a provider has asked of an account, in ms; 0: none. */
int64_t kgb_accounts_paused_ms(const struct kgb_accounts *accounts);

#endif
