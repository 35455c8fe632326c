/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/gateway.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/gateway/internal.h"

#define DEFAULT_URL "https://api.anthropic.com"
#define DEFAULT_CONNECT_TIMEOUT_MS 20000

const char *kgb_gateway_mode_name(enum kgb_gateway_mode mode)
{
	switch (mode) {
	case KGB_GATEWAY_LIVE:
		return "live";
	case KGB_GATEWAY_OFFLINE:
		return "offline";
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

static int check_live(const struct kgb_gateway_spec *spec, struct kgb_err *err)
{
	const char *url = spec->upstream_url ? spec->upstream_url : DEFAULT_URL;
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
	if (!spec->api_key || !*spec->api_key)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"no API key for the live model: set ANTHROPIC_API_KEY, or use the offline model");
	if (!plain_text(spec->api_key))
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"the API key holds blanks or control characters: check ANTHROPIC_API_KEY");
	return 0;
}

int kgb_gateway_new(struct kgb_gateway **out, uv_loop_t *loop, const struct kgb_gateway_spec *spec,
		    struct kgb_err *err)
{
	if (spec->mode == KGB_GATEWAY_LIVE && check_live(spec, err) < 0)
		return -1;
	struct kgb_gateway *gw = kgb_xcalloc(1, sizeof(*gw));
	gw->loop = loop;
	gw->mode = spec->mode;
	gw->key_is_bearer = spec->key_is_bearer;
	gw->connect_timeout_ms = spec->connect_timeout_ms > 0 ? spec->connect_timeout_ms
							      : DEFAULT_CONNECT_TIMEOUT_MS;
	gw->model = spec->model ? kgb_xstrdup(spec->model) : NULL;
	if (spec->mode == KGB_GATEWAY_LIVE) {
		if (kgb_upstream_new(&gw->upstream, loop, err) < 0) {
			kgb_free(gw->model);
			kgb_free(gw);
			return -1;
		}
		gw->base_url = kgb_xstrdup(spec->upstream_url ? spec->upstream_url : DEFAULT_URL);
		for (size_t n = strlen(gw->base_url); n > 0 && gw->base_url[n - 1] == '/'; n--)
			gw->base_url[n - 1] = '\0';
		gw->api_key = kgb_xstrdup(spec->api_key);
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
	if (gw->api_key)
		explicit_bzero(gw->api_key, strlen(gw->api_key));
	kgb_free(gw->api_key);
	kgb_free(gw->base_url);
	kgb_free(gw->model);
	kgb_free(gw);
	if (done)
		done(payload);
}

static void on_upstream_closed(void *payload)
{
	struct kgb_gateway *gw = payload;
	uv_close((uv_handle_t *)&gw->closer, on_closer_closed);
}

void kgb_gateway__maybe_done(struct kgb_gateway *gw)
{
	if (!gw->closing || gw->finishing || gw->sessions)
		return;
	gw->finishing = true;
	if (gw->upstream)
		kgb_upstream_close(KGB_TAKE(gw->upstream), on_upstream_closed, gw);
	else
		on_upstream_closed(gw);
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
