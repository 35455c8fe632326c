/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "sandbox/gateway/internal.h"

/* A client that hung up does not stop an answer at once: what the provider has charged must be read
 * off its end. */
#define SETTLE_MS 60000
/* Longer requests are read on a worker thread: the loop serves all attempts. */
#define INLINE_BYTES (256u << 10)

struct kgb_exchange *kgb_exchange__new(struct kgb_session *session, const char *uri)
{
	struct kgb_exchange *ex = kgb_xcalloc(1, sizeof(*ex));
	ex->session = session;
	ex->next = session->exchanges;
	if (ex->next)
		ex->next->prev = ex;
	session->exchanges = ex;
	ex->attached = true;
	ex->uri = kgb_xstrdup(uri);
	ex->body = (struct kgb_buf)KGB_BUF_INIT(0);
	ex->rewritten = (struct kgb_rewritten)KGB_REWRITTEN_INIT;
	ex->scripted = (struct kgb_offline_reply)KGB_OFFLINE_REPLY_INIT;
	ex->out = (struct kgb_buf)KGB_BUF_INIT(0);
	ex->ttfb_ms = -1;
	ex->started_ms = kgb_mono_ms();
	ex->started_wall_ms = kgb_wall_ms();
	kgb_scrub_init(&ex->scrub);
	for (int i = 0; i < KGB_N_PROVIDERS; i++)
		kgb_scrub_add(&ex->scrub, session->gw->accounts.by_provider[i].api_key);
	kgb_exchange_record_init(&ex->record, &(struct kgb_exchange_record_spec){.dir_fd = -1});
	return ex;
}

static void free_exchange(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	if (ex->prev)
		ex->prev->next = ex->next;
	else
		session->exchanges = ex->next;
	if (ex->next)
		ex->next->prev = ex->prev;
	if (ex->metered)
		kgb_meter_release(&ex->meter);
	kgb_exchange_record_release(&ex->record);
	kgb_scrub_release(&ex->scrub);
	kgb_headers_release(&ex->headers);
	kgb_headers_release(&ex->reply);
	kgb_relay_release(&ex->relay);
	session->body_bytes -= ex->body.len;
	kgb_buf_release(&ex->body);
	kgb_rewritten_release(&ex->rewritten);
	kgb_offline_reply_release(&ex->scripted);
	kgb_buf_release(&ex->out);
	kgb_free(ex->cuts);
	kgb_free(ex->uri);
	kgb_free(ex->method);
	kgb_free(ex->path);
	kgb_free(ex);
	kgb_session__maybe_done(session);
}

/* Somebody may still add to it: the client, the source of the answer, a worker. */
static bool is_open(const struct kgb_exchange *ex)
{
	return ex->attached || ex->source_open || ex->recording || ex->preparing;
}

/* Lets the exchange go when nothing holds it any more. */
static void maybe_free(struct kgb_exchange *ex)
{
	if (is_open(ex))
		return;
	if (ex->timing) {
		ex->timing = false;
		uv_close((uv_handle_t *)&ex->settle_timer, kgb_exchange__on_closed);
	}
	if (ex->open == 0)
		free_exchange(ex);
}

void kgb_exchange__on_closed(uv_handle_t *handle)
{
	struct kgb_exchange *ex = handle->data;
	KGB_ASSERT(ex->open > 0);
	ex->open--;
	maybe_free(ex);
}

/* ---- accounts ---- */

static void fill_summary(const struct kgb_exchange *ex, struct kgb_exchange_summary *out)
{
	bool messages = kgb_http_is_generation(ex->endpoint);
	bool good = ex->status >= 200 && ex->status < 300;
	*out = (struct kgb_exchange_summary){
		.number = ex->number,
		.path = ex->path,
		.model = ex->metered && *ex->meter.model ? ex->meter.model : ex->rewritten.model,
		.message_id = ex->metered ? ex->meter.message_id : "",
		.status = ex->status,
		.billed = messages && good && ex->metered && ex->meter.started && !ex->repeated,
		.repeated = ex->repeated,
		.usage = KGB_USAGE_UNKNOWN,
		.aborted_by_client = ex->aborted_by_client,
		.cut_upstream = ex->cut_upstream,
		.ttfb_ms = ex->ttfb_ms,
		.total_ms = kgb_mono_ms() - ex->started_ms,
		.request_bytes = (int64_t)ex->body.len,
		.response_bytes = ex->response_bytes,
		.n_tools_removed = (int64_t)ex->rewritten.n_tools_removed,
		.error = *ex->error ? ex->error : NULL,
	};
	if (messages && good && ex->metered)
		out->usage = ex->meter.usage;
	out->usage_complete = kgb_usage_complete(&out->usage);
}

static void tell(struct kgb_exchange *ex)
{
	const struct kgb_session *session = ex->session;
	ex->summary.record_error = ex->record.failed ? ex->record.err.msg
				   : ex->work_failed ? ex->work_err.msg
						     : NULL;
	if (session->callbacks.on_exchange)
		session->callbacks.on_exchange(session->payload, &ex->summary);
}

/* On a worker thread: nobody else holds the exchange any more. */
static void write_record(uv_work_t *work)
{
	struct kgb_exchange *ex = work->data;
	const struct kgb_exchange_record_end end = {
		.summary = &ex->summary,
		.source = kgb_gateway_mode_name(ex->session->gw->mode),
		.started_wall_ms = ex->started_wall_ms,
		.waited_ms = ex->waited_ms + ex->relay.waited_ms,
		.reply = &ex->reply,
		.tries = &ex->relay.tries,
	};
	kgb_exchange_record_finish(&ex->record, &end);
}

static void on_recorded(uv_work_t *work, int status)
{
	(void)status;
	struct kgb_exchange *ex = work->data;
	ex->recording = false;
	tell(ex);
	maybe_free(ex);
}

/* Making files may take long on a busy disk, and all streams of all attempts would wait. */
static void finish_record(struct kgb_exchange *ex)
{
	ex->work.data = ex;
	ex->recording = true;
	if (uv_queue_work(ex->session->gw->loop, &ex->work, write_record, on_recorded) == 0)
		return;
	write_record(&ex->work);
	on_recorded(&ex->work, 0);
}

static void settle(struct kgb_exchange *ex)
{
	ex->settled = true;
	kgb_exchange__charge(ex);
	struct kgb_session *session = ex->session;
	struct kgb_totals *totals = &session->ledger.totals;
	fill_summary(ex, &ex->summary);
	if (kgb_http_is_generation(ex->endpoint)) {
		totals->n_open--;
		totals->n_exchanges++;
		totals->busy_ms += ex->summary.total_ms;
		if (ex->status < 200 || ex->status >= 300 || ex->cut_upstream)
			totals->n_errors++;
		else if (!ex->summary.usage_complete)
			totals->n_incomplete++;
		if (ex->repeated)
			totals->n_repeated++;
	}
	if (session->dir_fd >= 0) {
		finish_record(ex);
	} else {
		tell(ex);
		maybe_free(ex);
	}
}

/* A model request is over when the client and the source of the answer both are. */
static void maybe_settle(struct kgb_exchange *ex)
{
	if (ex->number > 0 && !ex->settled && !is_open(ex))
		settle(ex);
	else
		maybe_free(ex);
}

/* ---- the client's side ---- */

static void on_settle_timeout(uv_timer_t *timer)
{
	struct kgb_exchange *ex = timer->data;
	if (!ex->source_open)
		return;
	kgb_exchange__stop(ex);
	kgb_exchange__end(ex, "the client hung up, and the answer did not end within a minute");
}

void kgb_exchange__detach(struct kgb_exchange *ex, bool finished)
{
	ex->conn = NULL;
	ex->attached = false;
	ex->suspended = false;
	if (ex->polling) {
		/* At once, while the descriptor is still the connection's: libuv takes whatever has
		 * that number off its epoll. */
		ex->polling = false;
		uv_close((uv_handle_t *)&ex->hangup_poll, kgb_exchange__on_closed);
	}
	if (ex->verify) {
		ex->verify->exchange = NULL;
		ex->verify = NULL;
		ex->source_open = false;
	}
	if (ex->dispatched && !finished && !ex->out_abort && !ex->session->closing)
		ex->aborted_by_client = true;
	kgb_buf_clear(&ex->out);
	ex->out_pos = 0;
	if (ex->relay.call) {
		uv_timer_init(ex->session->gw->loop, &ex->settle_timer);
		ex->settle_timer.data = ex;
		ex->timing = true;
		ex->open++;
		uv_timer_start(&ex->settle_timer, on_settle_timeout, SETTLE_MS, 0);
		kgb_relay_resume(&ex->relay);
	} else if (ex->waits || ex->relay.turn.state == KGB_TURN_WAITING) {
		kgb_exchange__stop(ex);
		ex->source_open = false;
		snprintf(ex->error, sizeof(ex->error), "the client hung up while it waited");
	}
	maybe_settle(ex);
}

void kgb_exchange__abort(struct kgb_exchange *ex)
{
	if (ex->settled) /* its record is being written */
		return;
	kgb_exchange__stop(ex);
	if (ex->verify) {
		ex->verify->exchange = NULL;
		ex->verify = NULL;
	}
	if (ex->source_open && ex->number > 0 && !*ex->error)
		snprintf(ex->error, sizeof(ex->error),
			 "the session was closed before the answer ended");
	ex->source_open = false;
	ex->out_done = true;
	ex->out_abort = true;
	if (ex->metered)
		kgb_meter_finish(&ex->meter);
	kgb_exchange__wake(ex);
	maybe_settle(ex);
}

/* Bytes until the next cut, so that each event of the script travels in a chunk of its own. */
static size_t piece(struct kgb_exchange *ex)
{
	while (ex->next_cut < ex->n_cuts && ex->cuts[ex->next_cut] <= ex->out_pos)
		ex->next_cut++;
	size_t end = ex->next_cut < ex->n_cuts ? ex->cuts[ex->next_cut] : ex->out.len;
	return end - ex->out_pos;
}

ssize_t kgb_exchange__read(struct kgb_exchange *ex, char *out, size_t max)
{
	size_t n = piece(ex);
	if (n > max)
		n = max;
	if (n == 0)
		return !ex->out_done ? 0 : ex->out_abort ? -2 : -1;
	memcpy(out, ex->out.ptr + ex->out_pos, n);
	ex->out_pos += n;
	if (ex->out_pos == ex->out.len && !ex->cuts) {
		kgb_buf_clear(&ex->out);
		ex->out_pos = 0;
		kgb_relay_resume(&ex->relay);
	}
	return (ssize_t)n;
}

/* ---- the source's side ---- */

void kgb_exchange__head(struct kgb_exchange *ex, int status, const char *content_type)
{
	ex->status = status;
	kgb_meter_init(&ex->meter, ex->protocol, content_type);
	ex->metered = true;
	kgb_exchange__wake(ex);
}

/* Report what the meter has read so far. */
static void account(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	if (!kgb_http_is_generation(ex->endpoint) || ex->status < 200 || ex->status >= 300 ||
	    !kgb_meter_take_change(&ex->meter))
		return;
	if (kgb_ledger_report(&session->ledger, ex->number, ex->meter.message_id, ex->meter.model,
			      &ex->meter.usage, ex->meter.surcharged))
		ex->repeated = true;
	if (!session->closing && session->callbacks.on_usage)
		session->callbacks.on_usage(session->payload, &session->ledger.totals);
}

void kgb_exchange__bytes(struct kgb_exchange *ex, const char *bytes, size_t len)
{
	if (ex->ttfb_ms < 0)
		ex->ttfb_ms = kgb_mono_ms() - ex->started_ms;
	ex->response_bytes += (int64_t)len;
	if (ex->attached)
		kgb_scrub_feed(&ex->scrub, bytes, len, &ex->out);
	/* The client first, our own books after. */
	kgb_exchange__wake(ex);
	kgb_exchange_record_response(&ex->record, ex->meter.streamed, bytes, len);
	kgb_meter_feed(&ex->meter, bytes, len);
	account(ex);
	kgb_session__activity(ex->session);
}

static const char *closing_missing(enum kgb_protocol protocol)
{
	switch (protocol) {
	case KGB_PROTOCOL_ANTHROPIC:
		return "upstream: the stream ended without message_stop";
	case KGB_PROTOCOL_CHAT:
		return "upstream: the stream ended without [DONE]";
	case KGB_PROTOCOL_RESPONSES:
		return "upstream: the stream ended without response.completed";
	case KGB_N_PROTOCOLS:
		break;
	}
	KGB_UNREACHABLE();
}

void kgb_exchange__note_broken_answer(struct kgb_exchange *ex, int weight)
{
	if (!*ex->sha256)
		kgb_sha256_hex(ex->body.ptr, ex->body.len, ex->sha256);
	kgb_repeat_guard_note(&ex->session->repeat_guard, ex->sha256, weight);
}

/* How it went, for those that ask for the same again. */
static void note_outcome(struct kgb_exchange *ex, const char *error)
{
	const struct kgb_gateway *gw = ex->session->gw;
	bool failed = error || ex->status == 429 || ex->status >= 500;
	bool bad = ex->metered && (ex->meter.errored || ex->meter.n_bad > 0);
	if (gw->mode != KGB_GATEWAY_LIVE || !kgb_http_is_generation(ex->endpoint) ||
	    (ex->aborted_by_client && !ex->relay.too_long))
		return;
	/* Nothing of it reached the client, and all that we try was tried. */
	bool in_vain = failed && gw->accounts.retry.max_tries > 1 &&
		       (ex->status < 200 || ex->status >= 300);
	/* One without end is bought once: it may be as dear as all others together. */
	if (failed || bad)
		kgb_exchange__note_broken_answer(
			ex, in_vain || ex->relay.too_long ? KGB_BROKEN_LIMIT : 1);
	else if (*ex->sha256)
		kgb_repeat_guard_forget(&ex->session->repeat_guard, ex->sha256);
}

void kgb_exchange__end(struct kgb_exchange *ex, const char *error)
{
	ex->source_open = false;
	if (ex->metered) {
		kgb_meter_finish(&ex->meter);
		account(ex);
	}
	bool stream = ex->metered && ex->meter.streamed && kgb_http_is_generation(ex->endpoint);
	if (!error && stream && ex->status < 300 && !ex->meter.stopped && !ex->meter.errored)
		error = closing_missing(ex->protocol);
	note_outcome(ex, error);
	if (error) {
		if (error != ex->error)
			snprintf(ex->error, sizeof(ex->error), "%s", error);
		if (ex->status == 0) {
			kgb_exchange__reply_error(ex, 502, ex->error);
			maybe_settle(ex);
			return;
		}
		ex->cut_upstream = true;
		ex->out_abort = true;
	} else if (ex->attached) {
		kgb_scrub_finish(&ex->scrub, &ex->out);
	}
	ex->out_done = true;
	kgb_exchange__wake(ex);
	maybe_settle(ex);
}

/* ---- a complete request ---- */

static struct kgb_exchange_record_spec record_spec(const struct kgb_exchange *ex)
{
	const struct kgb_account *accounts = ex->session->gw->accounts.by_provider;
	return (struct kgb_exchange_record_spec){
		.dir_fd = ex->session->dir_fd,
		.number = ex->number,
		.secrets = {ex->session->token, accounts[KGB_PROVIDER_ANTHROPIC].api_key,
			    accounts[KGB_PROVIDER_OPENAI].api_key},
	};
}

/* On a worker thread: reads only what does not change while `recording`. */
static void record_request(uv_work_t *work)
{
	struct kgb_exchange *ex = work->data;
	struct kgb_exchange_record_spec spec = record_spec(ex);
	struct kgb_exchange_record_request request = {
		.method = ex->method,
		.path = ex->uri,
		.headers = &ex->headers,
		.body = ex->body.ptr,
		.body_len = ex->body.len,
	};
	ex->work_failed = kgb_exchange_record_write_request(&spec, &request, ex->record.key,
							    &ex->work_err) < 0;
}

static void on_request_recorded(uv_work_t *work, int status)
{
	(void)status;
	struct kgb_exchange *ex = work->data;
	ex->recording = false;
	maybe_settle(ex);
}

static void start_record(struct kgb_exchange *ex)
{
	struct kgb_exchange_record_spec spec = record_spec(ex);
	kgb_exchange_record_release(&ex->record);
	kgb_exchange_record_init(&ex->record, &spec);
	if (spec.dir_fd < 0)
		return;
	ex->work.data = ex;
	if (uv_queue_work(ex->session->gw->loop, &ex->work, record_request, on_request_recorded) ==
	    0)
		ex->recording = true;
}

/* Refuse before anything goes upstream. */
static void refuse(struct kgb_exchange *ex, int status, const char *why)
{
	ex->source_open = false;
	if (why != ex->error)
		snprintf(ex->error, sizeof(ex->error), "%s", why);
	kgb_exchange__reply_error(ex, status, ex->error);
	maybe_settle(ex);
}

/* On any thread: reads the request, and writes only what belongs to the preparation. */
static void prepare(uv_work_t *work)
{
	struct kgb_exchange *ex = work->data;
	const struct kgb_gateway *gw = ex->session->gw;
	const struct kgb_rewrite_spec spec = {
		.endpoint = ex->endpoint,
		.model = gw->model,
		.allow_provider_tools = gw->allow_provider_tools,
	};
	if (ex->wants_sha256)
		kgb_sha256_hex(ex->body.ptr, ex->body.len, ex->sha256);
	if (ex->endpoint != KGB_ENDPOINT_MODELS)
		ex->prepare_failed = kgb_rewrite_request(&spec, ex->body.ptr, ex->body.len,
							 &ex->rewritten, &ex->prepare_err) < 0;
	if (!ex->prepare_failed && gw->mode == KGB_GATEWAY_OFFLINE)
		kgb_exchange__script(ex);
	else if (!ex->prepare_failed && gw->mode == KGB_GATEWAY_REPLAY)
		kgb_exchange__find_key(ex);
}

static void on_prepared(uv_work_t *work, int status)
{
	(void)status;
	struct kgb_exchange *ex = work->data;
	ex->preparing = false;
	if (!ex->attached || ex->out_abort) /* nobody waits: nothing is spent */
		ex->source_open = false;
	if (!ex->source_open) {
		maybe_settle(ex);
		return;
	}
	if (ex->prepare_failed)
		refuse(ex, 400, ex->prepare_err.msg);
	else if (*ex->sha256 &&
		 kgb_repeat_guard_is_hopeless(&ex->session->repeat_guard, ex->sha256))
		refuse(ex, kgb_http_stop_status(ex->protocol), KGB_BROKEN_TEXT);
	else if (ex->session->gw->mode == KGB_GATEWAY_LIVE && !kgb_exchange__account(ex)->api_key)
		refuse(ex, 401, "this run has no key for that API");
	else
		kgb_exchange__admit(ex);
}

static void start_prepare(struct kgb_exchange *ex)
{
	ex->prepare.data = ex;
	ex->preparing = true;
	ex->wants_sha256 = kgb_http_is_generation(ex->endpoint) &&
			   kgb_repeat_guard_any(&ex->session->repeat_guard);
	if (ex->body.len > INLINE_BYTES &&
	    uv_queue_work(ex->session->gw->loop, &ex->prepare, prepare, on_prepared) == 0)
		return;
	prepare(&ex->prepare);
	on_prepared(&ex->prepare, 0);
}

static void dispatch_model(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	ex->number = ++session->next_number;
	ex->source_open = true;
	if (kgb_http_is_generation(ex->endpoint)) {
		session->ledger.totals.n_open++;
		session->n_messages++;
	}
	start_record(ex);
	if (session->max_exchanges > 0 && session->n_messages > session->max_exchanges) {
		snprintf(ex->error, sizeof(ex->error),
			 "the limit of %lld model requests for this attempt is reached",
			 (long long)session->max_exchanges);
		refuse(ex, kgb_http_stop_status(ex->protocol), ex->error);
	} else {
		start_prepare(ex);
	}
}

static void dispatch_verify(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	session->ledger.totals.n_verify++;
	struct kgb_verify_request *req = kgb_xcalloc(1, sizeof(*req));
	req->exchange = ex;
	ex->verify = req;
	ex->source_open = true;
	session->callbacks.on_verify(session->payload, req, ex->body.ptr, ex->body.len);
}

void kgb_exchange__dispatch(struct kgb_exchange *ex)
{
	ex->dispatched = true;
	ex->started_ms = kgb_mono_ms();
	ex->started_wall_ms = kgb_wall_ms();
	kgb_session__activity(ex->session);
	if (ex->endpoint == KGB_ENDPOINT_VERIFY)
		dispatch_verify(ex);
	else
		dispatch_model(ex);
}

void kgb_verify_reply(struct kgb_verify_request *req, int http_status, const char *text)
{
	struct kgb_exchange *ex = req->exchange;
	kgb_free(req);
	if (!ex)
		return;
	ex->verify = NULL;
	ex->source_open = false;
	kgb_exchange__reply(ex, http_status, "text/plain; charset=utf-8", text, strlen(text));
}

bool kgb_verify_is_orphan(const struct kgb_verify_request *req)
{
	return req->exchange == NULL;
}
