/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/session.h"

#include "base/mem.h"

void kgb_session__kick(struct kgb_session *session)
{
	if (!session->closing)
		uv_timer_start(&session->timer, session->on_timeout, 0, 0);
}

void kgb_session__free(struct kgb_session *session)
{
	kgb_ledger_release(&session->ledger);
	kgb_cassette_use_release(&session->cassette_use);
	kgb_close(session->dir_fd);
	kgb_free(session->token);
	kgb_free(session);
}

void kgb_session_totals(const struct kgb_session *session, struct kgb_totals *out)
{
	*out = session->ledger.totals;
}

void kgb_session__activity(struct kgb_session *session)
{
	if (!session->closing && session->spec.callbacks.on_activity)
		session->spec.callbacks.on_activity(session->spec.payload);
}

void kgb_session__note_leaving(struct kgb_session *session)
{
	if (!session->closing && session->spec.callbacks.on_leave)
		session->spec.callbacks.on_leave(session->spec.payload, &session->ledger.totals);
}

void kgb_session__maybe_done(struct kgb_session *session)
{
	if (!session->closing || session->open > 0 || session->daemon ||
	    !LIST_EMPTY(&session->exchanges))
		return;
	struct kgb_gateway *gw = session->gw;
	LIST_REMOVE(session, link);
	struct kgb_totals totals = session->ledger.totals;
	void (*done)(void *, const struct kgb_totals *) = session->done;
	void *payload = session->done_payload;
	kgb_session__free(session);
	if (done)
		done(payload, &totals);
	kgb_gateway__maybe_done(gw);
}
