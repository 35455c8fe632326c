/* SPDX-License-Identifier: MIT */
#include "sandbox/provider/account.h"

#include <curl/curl.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/provider/upstream.h"

static const char *const default_urls[KGB_N_PROVIDERS] = {
	[KGB_PROVIDER_ANTHROPIC] = "https://api.anthropic.com",
	[KGB_PROVIDER_OPENAI] = "https://api.openai.com",
};
#define DEFAULT_CONNECT_TIMEOUT_MS 20000
#define DEFAULT_IDLE_TIMEOUT_MS 300000
#define DEFAULT_CONCURRENT 256
/* Longest wait for an account: clients wait ten minutes for an answer, and the call's time must fit
 * in too. */
static const struct kgb_retry_policy default_retry = {
	.max_tries = 8, .base_ms = 500, .cap_ms = 30000, .total_ms = 240000};

/* A header value: a line break in it would let the environment add headers. */
static bool plain_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x21 || (unsigned char)*s > 0x7e)
			return false;
	return true;
}

static int check_account(enum kgb_provider provider, const struct kgb_account_spec *spec,
			 struct kgb_err *err)
{
	const char *url = spec->url ? spec->url : default_urls[provider];
	if (!kgb_str_starts(url, "https://") && !kgb_str_starts(url, "http://"))
		return kgb_fail(err, KGB_ERR_INVALID,
				"upstream URL '%s': must start with https:// or http://", url);
	CURLU *parsed = curl_url();
	KGB_ASSERT(parsed);
	CURLUcode code = curl_url_set(parsed, CURLUPART_URL, url, 0);
	char *query = NULL;
	bool has_query =
		code == CURLUE_OK && curl_url_get(parsed, CURLUPART_QUERY, &query, 0) == CURLUE_OK;
	curl_free(query);
	curl_url_cleanup(parsed);
	if (code != CURLUE_OK || has_query)
		return kgb_fail(err, KGB_ERR_INVALID, "upstream URL '%s': %s", url,
				has_query ? "must not have a query" : curl_url_strerror(code));
	if (spec->api_key && !plain_text(spec->api_key))
		return kgb_fail(err, KGB_ERR_INVALID,
				"the API key holds blanks or control characters: check %s",
				kgb_provider_key_variable(provider));
	return 0;
}

static int check(const struct kgb_account_spec *accounts, struct kgb_err *err)
{
	bool has_key = false;
	for (int i = 0; i < KGB_N_PROVIDERS; i++) {
		if (check_account((enum kgb_provider)i, &accounts[i], err) < 0)
			return -1;
		has_key = has_key || (accounts[i].api_key && *accounts[i].api_key);
	}
	if (!has_key)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"no API key for the live model: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use the offline model");
	return 0;
}

static void open_account(struct kgb_account *account, enum kgb_provider provider,
			 const struct kgb_account_spec *spec)
{
	account->base_url = kgb_xstrdup(spec->url ? spec->url : default_urls[provider]);
	for (size_t n = strlen(account->base_url); n > 0 && account->base_url[n - 1] == '/'; n--)
		account->base_url[n - 1] = '\0';
	if (spec->api_key && *spec->api_key)
		account->api_key = kgb_xstrdup(spec->api_key);
	/* OpenAI, and servers with its API, accept no other form. */
	account->key_is_bearer = spec->key_is_bearer || provider == KGB_PROVIDER_OPENAI;
}

static void close_account(struct kgb_account *account)
{
	if (account->api_key)
		explicit_bzero(account->api_key, strlen(account->api_key));
	kgb_free(account->api_key);
	kgb_free(account->base_url);
}

static int64_t or_default(int64_t value, int64_t standard)
{
	return value > 0 ? value : standard;
}

int kgb_accounts_open(struct kgb_accounts *accounts, uv_loop_t *loop,
		      const struct kgb_accounts_spec *spec, struct kgb_err *err)
{
	if (check(spec->by_provider, err) < 0 ||
	    kgb_upstream_new(&accounts->upstream, loop, err) < 0)
		return -1;
	accounts->connect_timeout_ms =
		or_default(spec->connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS);
	accounts->idle_timeout_ms = or_default(spec->idle_timeout_ms, DEFAULT_IDLE_TIMEOUT_MS);
	accounts->max_answer_bytes = or_default(spec->max_answer_bytes, KGB_LIMIT_HTTP_ANSWER);
	accounts->retry = spec->retry.max_tries > 0 ? spec->retry : default_retry;
	for (int i = 0; i < KGB_N_PROVIDERS; i++) {
		struct kgb_account *account = &accounts->by_provider[i];
		open_account(account, (enum kgb_provider)i, &spec->by_provider[i]);
		kgb_key_limiter_init(&account->limiter, loop,
				     spec->max_concurrent > 0 ? spec->max_concurrent
							      : DEFAULT_CONCURRENT);
	}
	return 0;
}

static void on_limiter_closed(void *payload)
{
	struct kgb_accounts *accounts = payload;
	if (--accounts->n_open > 0)
		return;
	for (int i = 0; i < KGB_N_PROVIDERS; i++)
		close_account(&accounts->by_provider[i]);
	accounts->closed(accounts->payload);
}

static void on_upstream_closed(void *payload)
{
	struct kgb_accounts *accounts = payload;
	accounts->n_open = KGB_N_PROVIDERS;
	for (int i = 0; i < KGB_N_PROVIDERS; i++)
		kgb_key_limiter_close(&accounts->by_provider[i].limiter, on_limiter_closed,
				      accounts);
}

void kgb_accounts_close(struct kgb_accounts *accounts, void (*closed)(void *payload), void *payload)
{
	accounts->closed = closed;
	accounts->payload = payload;
	kgb_upstream_close(KGB_TAKE(accounts->upstream), on_upstream_closed, accounts);
}

int64_t kgb_accounts_paused_ms(const struct kgb_accounts *accounts)
{
	int64_t longest_ms = 0;
	for (int i = 0; i < KGB_N_PROVIDERS; i++) {
		int64_t ms = kgb_key_limiter_paused_ms(&accounts->by_provider[i].limiter);
		longest_ms = ms > longest_ms ? ms : longest_ms;
	}
	return longest_ms;
}
