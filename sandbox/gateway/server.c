/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/gateway.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/gateway/internal.h"

static const char *const default_urls[KGB_N_PROVIDERS] = {
	[KGB_PROVIDER_ANTHROPIC] = "https://api.anthropic.com",
	[KGB_PROVIDER_OPENAI] = "https://api.openai.com",
};
#define DEFAULT_CONNECT_TIMEOUT_MS 20000
#define DEFAULT_IDLE_TIMEOUT_MS 300000
#define DEFAULT_CONCURRENT 256
/* Clients wait ten minutes for an answer; a call's own time must fit in too. */
static const struct kgb_retry_policy default_retry = {
	.max_tries = 8, .base_ms = 500, .cap_ms = 30000, .total_ms = 240000};

const char *kgb_gateway_mode_name(enum kgb_gateway_mode mode)
{
	switch (mode) {
	case KGB_GATEWAY_LIVE:
		return "live";
	case KGB_GATEWAY_OFFLINE:
		return "offline";
	case KGB_GATEWAY_REPLAY:
		return "replay";
	}
	KGB_UNREACHABLE();
}

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

static int check_live(const struct kgb_gateway_spec *spec, struct kgb_err *err)
{
	bool has_key = false;
	for (int i = 0; i < KGB_N_PROVIDERS; i++) {
		if (check_account((enum kgb_provider)i, &spec->accounts[i], err) < 0)
			return -1;
		has_key = has_key || (spec->accounts[i].api_key && *spec->accounts[i].api_key);
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
	/* OpenAI and those who speak like it know nothing else. */
	account->key_is_bearer = spec->key_is_bearer || provider == KGB_PROVIDER_OPENAI;
}

static void close_account(struct kgb_account *account)
{
	if (account->api_key)
		explicit_bzero(account->api_key, strlen(account->api_key));
	kgb_free(account->api_key);
	kgb_free(account->base_url);
}

int kgb_gateway_new(struct kgb_gateway **out, uv_loop_t *loop, const struct kgb_gateway_spec *spec,
		    struct kgb_err *err)
{
	if (spec->mode == KGB_GATEWAY_LIVE && check_live(spec, err) < 0)
		return -1;
	struct kgb_gateway *gw = kgb_xcalloc(1, sizeof(*gw));
	gw->loop = loop;
	gw->mode = spec->mode;
	gw->allow_provider_tools = spec->allow_provider_tools;
	gw->connect_timeout_ms = spec->connect_timeout_ms > 0 ? spec->connect_timeout_ms
							      : DEFAULT_CONNECT_TIMEOUT_MS;
	gw->idle_timeout_ms =
		spec->idle_timeout_ms > 0 ? spec->idle_timeout_ms : DEFAULT_IDLE_TIMEOUT_MS;
	gw->max_answer_bytes =
		spec->max_answer_bytes > 0 ? spec->max_answer_bytes : KGB_LIMIT_HTTP_ANSWER;
	gw->retry = spec->retry.max_tries > 0 ? spec->retry : default_retry;
	gw->prices = spec->prices;
	gw->model = spec->model ? kgb_xstrdup(spec->model) : NULL;
	if (spec->mode == KGB_GATEWAY_LIVE) {
		if (kgb_upstream_new(&gw->upstream, loop, err) < 0) {
			kgb_free(gw->model);
			kgb_free(gw);
			return -1;
		}
		size_t places =
			spec->max_concurrent > 0 ? spec->max_concurrent : DEFAULT_CONCURRENT;
		for (int i = 0; i < KGB_N_PROVIDERS; i++) {
			open_account(&gw->accounts[i], (enum kgb_provider)i, &spec->accounts[i]);
			kgb_key_limiter_init(&gw->accounts[i].limiter, loop, places);
		}
	}
	uv_timer_init(loop, &gw->closer);
	gw->closer.data = gw;
	*out = gw;
	return 0;
}

static void on_closer_closed(uv_handle_t *handle)
{
	struct kgb_gateway *gw = handle->data;
	void (*done)(void *) = gw->done;
	void *payload = gw->done_payload;
	for (int i = 0; i < KGB_N_PROVIDERS; i++)
		close_account(&gw->accounts[i]);
	kgb_free(gw->model);
	kgb_free(gw);
	if (done)
		done(payload);
}

static void close_closer(struct kgb_gateway *gw)
{
	uv_close((uv_handle_t *)&gw->closer, on_closer_closed);
}

static void on_limiter_closed(void *payload)
{
	struct kgb_gateway *gw = payload;
	if (--gw->n_open_accounts == 0)
		close_closer(gw);
}

static void on_upstream_closed(void *payload)
{
	struct kgb_gateway *gw = payload;
	gw->n_open_accounts = KGB_N_PROVIDERS;
	for (int i = 0; i < KGB_N_PROVIDERS; i++)
		kgb_key_limiter_close(&gw->accounts[i].limiter, on_limiter_closed, gw);
}

void kgb_gateway__maybe_done(struct kgb_gateway *gw)
{
	if (!gw->closing || gw->finishing || gw->sessions)
		return;
	gw->finishing = true;
	if (gw->upstream)
		kgb_upstream_close(KGB_TAKE(gw->upstream), on_upstream_closed, gw);
	else
		close_closer(gw);
}

static void on_close(uv_timer_t *timer)
{
	kgb_gateway__maybe_done(timer->data);
}

void kgb_gateway_close(struct kgb_gateway *gw, void (*done)(void *payload), void *payload)
{
	KGB_ASSERT(!gw->closing);
	gw->closing = true;
	gw->done = done;
	gw->done_payload = payload;
	if (!gw->sessions) {
		uv_timer_start(&gw->closer, on_close, 0, 0);
		return;
	}
	for (struct kgb_session *session = gw->sessions; session; session = session->next)
		if (!session->closing)
			kgb_session_close(session, NULL, NULL);
}

int64_t kgb_gateway_paused_ms(const struct kgb_gateway *gw)
{
	int64_t longest_ms = 0;
	for (int i = 0; i < KGB_N_PROVIDERS && gw->mode == KGB_GATEWAY_LIVE; i++) {
		int64_t ms = kgb_key_limiter_paused_ms(&gw->accounts[i].limiter);
		longest_ms = ms > longest_ms ? ms : longest_ms;
	}
	return longest_ms;
}
