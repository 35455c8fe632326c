/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/exchange_verify.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/gateway/exchange.h"
#include "sandbox/gateway/exchange_reply.h"

struct kgb_verify_request {
	struct kgb_exchange *exchange; /* NULL: no client waits */
};

void kgb_exchange__verify(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	session->ledger.totals.n_verify++;
	ex->verify = kgb_xcalloc(1, sizeof(*ex->verify));
	ex->verify->exchange = ex;
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_VERIFY);
	session->spec.callbacks.on_verify(session->spec.payload, ex->verify, ex->body.ptr,
					  ex->body.len);
}

void kgb_exchange__drop_verify(struct kgb_exchange *ex)
{
	if (ex->verify)
		ex->verify->exchange = NULL;
	ex->verify = NULL;
}

void kgb_verify_reply(struct kgb_verify_request *req, int http_status, const char *text)
{
	struct kgb_exchange *ex = req->exchange;
	kgb_free(req);
	if (!ex)
		return;
	ex->verify = NULL;
	kgb_exchange__reply(ex, http_status, "text/plain; charset=utf-8", text, strlen(text));
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_SOURCE_END);
}

bool kgb_verify_is_orphan(const struct kgb_verify_request *req)
{
	return req->exchange == NULL;
}
