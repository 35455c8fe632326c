/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/gateway.h"

#include "base/mem.h"

const char *kgb_gateway_mode_name(enum kgb_gateway_mode mode)
{
	static const char *const names[] = {
		[KGB_GATEWAY_LIVE] = "live",
		[KGB_GATEWAY_OFFLINE] = "offline",
		[KGB_GATEWAY_REPLAY] = "replay",
	};
	return names[mode];
}

int kgb_gateway_new(struct kgb_gateway **out, uv_loop_t *loop, const struct kgb_gateway_spec *spec,
		    struct kgb_err *err)
{
	struct kgb_gateway *gw = kgb_xcalloc(1, sizeof(*gw));
	if (spec->mode == KGB_GATEWAY_LIVE &&
	    kgb_accounts_open(&gw->accounts, loop, &spec->accounts, err) < 0) {
		kgb_free(gw);
		return -1;
	}
	gw->loop = loop;
	gw->mode = spec->mode;
	gw->allow_provider_tools = spec->allow_provider_tools;
	gw->prices = spec->prices;
	TAILQ_INIT(&gw->waiting);
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
	if (!gw->closing || gw->finishing || !LIST_EMPTY(&gw->sessions))
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
	if (LIST_EMPTY(&gw->sessions))
		uv_timer_start(&gw->closer, on_close, 0, 0);
	kgb_gateway__close_sessions(gw);
}

int64_t kgb_gateway_paused_ms(const struct kgb_gateway *gw)
{
	return kgb_accounts_paused_ms(&gw->accounts);
}
