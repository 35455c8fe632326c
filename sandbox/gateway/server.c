/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/gateway.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/gateway/internal.h"

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

int kgb_gateway_new(struct kgb_gateway **out, uv_loop_t *loop, const struct kgb_gateway_spec *spec,
		    struct kgb_err *err)
{
	const struct kgb_accounts_spec accounts = {
		.accounts = spec->accounts,
		.connect_timeout_ms = spec->connect_timeout_ms,
		.idle_timeout_ms = spec->idle_timeout_ms,
		.max_answer_bytes = spec->max_answer_bytes,
		.retry = spec->retry,
		.max_concurrent = spec->max_concurrent,
	};
	struct kgb_gateway *gw = kgb_xcalloc(1, sizeof(*gw));
	if (spec->mode == KGB_GATEWAY_LIVE &&
	    kgb_accounts_open(&gw->accounts, loop, &accounts, err) < 0) {
		kgb_free(gw);
		return -1;
	}
	gw->loop = loop;
	gw->mode = spec->mode;
	gw->allow_provider_tools = spec->allow_provider_tools;
	gw->prices = spec->prices;
	gw->model = spec->model ? kgb_xstrdup(spec->model) : NULL;
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
	kgb_free(gw->model);
	kgb_free(gw);
	if (done)
		done(payload);
}

static void close_closer(void *payload)
{
	struct kgb_gateway *gw = payload;
	uv_close((uv_handle_t *)&gw->closer, on_closer_closed);
}

void kgb_gateway__maybe_done(struct kgb_gateway *gw)
{
	if (!gw->closing || gw->finishing || gw->sessions)
		return;
	gw->finishing = true;
	if (gw->mode == KGB_GATEWAY_LIVE)
		kgb_accounts_close(&gw->accounts, close_closer, gw);
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
	return kgb_accounts_paused_ms(&gw->accounts);
}
