/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/exchange.h"

#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "sandbox/gateway/exchange_admit.h"
#include "sandbox/gateway/exchange_reply.h"
#include "sandbox/gateway/exchange_source.h"
#include "sandbox/gateway/exchange_verify.h"

/* Time to read on an answer after its client has hung up: the provider's charge is at its end. */
#define SETTLE_MS 60000
/* Longer requests are read on a worker thread: the loop serves all attempts. */
#define INLINE_BYTES (256u << 10)

struct kgb_exchange *kgb_exchange__new(struct kgb_session *session, const char *uri)
{
	struct kgb_exchange *ex = kgb_xcalloc(1, sizeof(*ex));
	ex->session = session;
	LIST_INSERT_HEAD(&session->exchanges, ex, link);
	ex->uri = kgb_xstrdup(uri);
	ex->work.data = ex;
	ex->prepare.data = ex;
	ex->body = (struct kgb_buf)KGB_BUF_INIT(0);
	ex->rewritten = (struct kgb_rewritten)KGB_REWRITTEN_INIT;
	ex->scripted = (struct kgb_offline_reply)KGB_OFFLINE_REPLY_INIT;
	ex->out = (struct kgb_buf)KGB_BUF_INIT(0);
	ex->summary.ttfb_ms = -1;
	kgb_meter_init(&ex->meter, ex->protocol, NULL);
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
	LIST_REMOVE(ex, link);
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

static void maybe_free(struct kgb_exchange *ex)
{
	if (ex->state == KGB_EXCHANGE_OVER && ex->open == 0)
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

static bool is_good(const struct kgb_exchange *ex)
{
	return ex->status >= 200 && ex->status < 300;
}

/* Fill in the rest of the summary. */
static void fill_summary(struct kgb_exchange *ex)
{
	struct kgb_exchange_summary *out = &ex->summary;
	bool answered = kgb_http_is_generation(ex->endpoint) && is_good(ex);
	out->number = ex->number;
	out->path = ex->path;
	out->model = *ex->meter.model ? ex->meter.model : ex->rewritten.model;
	out->message_id = ex->meter.message_id;
	out->status = ex->status;
	out->billed = answered && ex->meter.started && !out->repeated;
	out->usage = answered ? ex->meter.usage : (struct kgb_usage)KGB_USAGE_UNKNOWN;
	out->usage_complete = kgb_usage_complete(&out->usage);
	out->total_ms = kgb_mono_ms() - ex->started_ms;
	out->request_bytes = (int64_t)ex->body.len;
	out->n_tools_removed = (int64_t)ex->rewritten.n_tools_removed;
	out->error = *ex->error ? ex->error : NULL;
}

static void tell(struct kgb_exchange *ex)
{
	const struct kgb_session *session = ex->session;
	ex->summary.record_error = ex->record.failed   ? ex->record.err.msg
				   : *ex->work_err.msg ? ex->work_err.msg
						       : NULL;
	if (session->spec.callbacks.on_exchange)
		session->spec.callbacks.on_exchange(session->spec.payload, &ex->summary);
}

/* On a worker thread: no other holder of the exchange is left. */
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
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_RECORDED);
}

/* Create files on a worker thread: a busy disk would stall all streams of all attempts. */
static void finish_record(struct kgb_exchange *ex)
{
	ex->recording = true;
	if (uv_queue_work(ex->session->gw->loop, &ex->work, write_record, on_recorded) == 0)
		return;
	write_record(&ex->work);
	on_recorded(&ex->work, 0);
}

static void settle(struct kgb_exchange *ex)
{
	if (ex->number == 0) {
		kgb_exchange__step(ex, KGB_EXCHANGE_ON_RECORDED);
		return;
	}
	struct kgb_session *session = ex->session;
	struct kgb_totals *totals = &session->ledger.totals;
	/* Its price is known nevertheless. */
	if (kgb_http_is_generation(ex->endpoint) && is_good(ex) && !ex->meter.started)
		totals->n_unpriced++;
	kgb_exchange__charge(ex);
	fill_summary(ex);
	if (kgb_http_is_generation(ex->endpoint)) {
		totals->n_open--;
		totals->n_exchanges++;
		totals->busy_ms += ex->summary.total_ms;
		if (!is_good(ex) || ex->summary.cut_upstream)
			totals->n_errors++;
		else if (!ex->summary.usage_complete)
			totals->n_incomplete++;
		if (ex->summary.repeated)
			totals->n_repeated++;
	}
	if (session->dir_fd >= 0 && !kgb_http_is_poll(ex->method, ex->path))
		finish_record(ex);
	else
		on_recorded(&ex->work, 0);
}

/* ---- states ---- */

static void on_settle_timeout(uv_timer_t *timer)
{
	struct kgb_exchange *ex = timer->data;
	kgb_exchange__stop(ex);
	kgb_exchange__end(ex, "the client hung up, and the answer did not end within a minute");
}

static void start_draining(struct kgb_exchange *ex)
{
	uv_timer_init(ex->session->gw->loop, &ex->settle_timer);
	ex->settle_timer.data = ex;
	ex->open++;
	uv_timer_start(&ex->settle_timer, on_settle_timeout, SETTLE_MS, 0);
	kgb_relay_resume(&ex->relay);
}

void kgb_exchange__step(struct kgb_exchange *ex, enum kgb_exchange_event event)
{
	enum kgb_exchange_state before = ex->state, next = kgb_exchange_next(before, event);
	KGB_ASSERT(next != KGB_N_EXCHANGE_STATES);
	if (next == before)
		return;
	ex->state = next;
	if (before == KGB_EXCHANGE_DRAINING)
		uv_close((uv_handle_t *)&ex->settle_timer, kgb_exchange__on_closed);
	if (next == KGB_EXCHANGE_DRAINING)
		start_draining(ex);
	else if (next == KGB_EXCHANGE_ENDED && !ex->recording)
		kgb_exchange__step(ex, KGB_EXCHANGE_ON_RECORDED);
	else if (next == KGB_EXCHANGE_SETTLING)
		settle(ex);
	else if (next == KGB_EXCHANGE_OVER)
		maybe_free(ex);
}

/* ---- the client's side ---- */

void kgb_exchange__detach(struct kgb_exchange *ex, bool finished)
{
	ex->conn = NULL;
	ex->suspended = false;
	if (ex->polling) {
		/* Stop at once, while the descriptor still belongs to the connection: later libuv
		 * would remove another file with that number from its epoll. */
		ex->polling = false;
		uv_close((uv_handle_t *)&ex->hangup_poll, kgb_exchange__on_closed);
	}
	kgb_exchange__drop_verify(ex);
	if (ex->state != KGB_EXCHANGE_READING && !finished && ex->out_end != KGB_REPLY_CUT &&
	    !ex->session->closing)
		ex->summary.aborted_by_client = true;
	kgb_buf_clear(&ex->out);
	ex->out_pos = 0;
	if (ex->state == KGB_EXCHANGE_WAITING ||
	    (ex->state == KGB_EXCHANGE_ANSWERING && !ex->relay.call)) {
		kgb_exchange__stop(ex);
		snprintf(ex->error, sizeof(ex->error), "the client hung up while it waited");
		kgb_exchange__step(ex, KGB_EXCHANGE_ON_SOURCE_END);
	}
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_CLIENT_END);
}

void kgb_exchange__abort(struct kgb_exchange *ex)
{
	bool unfinished = ex->state != KGB_EXCHANGE_REPLYING && ex->state < KGB_EXCHANGE_ENDED;
	kgb_exchange__stop(ex);
	kgb_exchange__drop_verify(ex);
	if (unfinished && ex->number > 0 && !*ex->error)
		snprintf(ex->error, sizeof(ex->error),
			 "the session was closed before the answer ended");
	if (unfinished && ex->status > 0)
		kgb_meter_finish(&ex->meter);
	kgb_exchange__end_reply(ex, KGB_REPLY_CUT);
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_CLOSE);
}

/* Bytes until the next cut, so that each event of the script travels in a separate chunk. */
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
		return ex->out_end == KGB_REPLY_OPEN ? 0 : ex->out_end == KGB_REPLY_CUT ? -2 : -1;
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
	kgb_exchange__wake(ex);
}

/* Report what the meter has read so far. */
static void account(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	if (!kgb_http_is_generation(ex->endpoint) || !is_good(ex) ||
	    !kgb_meter_take_change(&ex->meter))
		return;
	const char *id = session->spec.counts_each_answer ? "" : ex->meter.message_id;
	if (kgb_ledger_report(&session->ledger, ex->number, id, ex->meter.model, &ex->meter.usage,
			      ex->meter.surcharged ? KGB_TARIFF_UNKNOWN : KGB_TARIFF_LIST))
		ex->summary.repeated = true;
	if (!session->closing && session->spec.callbacks.on_usage)
		session->spec.callbacks.on_usage(session->spec.payload, &session->ledger.totals);
}

void kgb_exchange__bytes(struct kgb_exchange *ex, const char *bytes, size_t len)
{
	if (ex->summary.ttfb_ms < 0)
		ex->summary.ttfb_ms = kgb_mono_ms() - ex->started_ms;
	ex->summary.response_bytes += (int64_t)len;
	if (ex->state == KGB_EXCHANGE_ANSWERING)
		kgb_scrub_feed(&ex->scrub, bytes, len, &ex->out);
	/* Serve the client first, then update the accounts. */
	kgb_exchange__wake(ex);
	kgb_exchange_record_response(&ex->record, ex->meter.streamed, bytes, len);
	/* Those of a batch are read line by line (batched.h). */
	if (ex->endpoint != KGB_ENDPOINT_BATCH)
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

/* Record the outcome for repeated requests. */
static void note_outcome(struct kgb_exchange *ex, const char *error)
{
	const struct kgb_gateway *gw = ex->session->gw;
	bool failed = error || ex->status == 429 || ex->status >= 500;
	bool bad = ex->meter.errored || ex->meter.n_bad > 0;
	if (gw->mode != KGB_GATEWAY_LIVE || !kgb_http_is_generation(ex->endpoint) ||
	    (ex->summary.aborted_by_client && !ex->relay.too_long))
		return;
	/* Nothing of the answer reached the client, and all retries are used up. */
	bool in_vain = failed && gw->accounts.retry.max_tries > 1 && !is_good(ex);
	/* Pay for an endless answer only once: it may cost as much as all others together. */
	if (failed || bad)
		kgb_exchange__note_broken_answer(
			ex, in_vain || ex->relay.too_long ? KGB_BROKEN_LIMIT : 1);
	else if (*ex->sha256)
		kgb_repeat_guard_forget(&ex->session->repeat_guard, ex->sha256);
}

void kgb_exchange__refuse(struct kgb_exchange *ex, int status, const char *why, const char *message)
{
	snprintf(ex->error, sizeof(ex->error), "%s", why);
	kgb_exchange__reply_error(ex, status, message);
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_SOURCE_END);
}

void kgb_exchange__end(struct kgb_exchange *ex, const char *error)
{
	if (ex->status > 0) {
		kgb_meter_finish(&ex->meter);
		account(ex);
	}
	bool stream = ex->meter.streamed && kgb_http_is_generation(ex->endpoint);
	if (!error && stream && ex->status < 300 && !ex->meter.stopped && !ex->meter.errored)
		error = closing_missing(ex->protocol);
	note_outcome(ex, error);
	if (error && ex->status == 0) {
		kgb_exchange__refuse(ex, 502, error, error);
		return;
	}
	if (error) {
		snprintf(ex->error, sizeof(ex->error), "%s", error);
		ex->summary.cut_upstream = true;
	} else if (ex->state == KGB_EXCHANGE_ANSWERING) {
		kgb_scrub_finish(&ex->scrub, &ex->out);
	}
	kgb_exchange__end_reply(ex, error ? KGB_REPLY_CUT : KGB_REPLY_WHOLE);
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_SOURCE_END);
}

/* ---- a complete request ---- */

static struct kgb_exchange_record_spec record_spec(const struct kgb_exchange *ex)
{
	const bool is_poll = kgb_http_is_poll(ex->method, ex->path);
	const struct kgb_account *accounts = ex->session->gw->accounts.by_provider;
	return (struct kgb_exchange_record_spec){
		.dir_fd = is_poll ? -1 : ex->session->dir_fd,
		.number = ex->number,
		.secrets = {ex->session->token, accounts[KGB_PROVIDER_ANTHROPIC].api_key,
			    accounts[KGB_PROVIDER_OPENAI].api_key},
	};
}

/* On a worker thread: reads only fields that are constant while `recording`. */
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
	(void)!kgb_exchange_record_write_request(&spec, &request, ex->record.key, &ex->work_err);
}

static void on_request_recorded(uv_work_t *work, int status)
{
	(void)status;
	struct kgb_exchange *ex = work->data;
	ex->recording = false;
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_RECORDED);
}

static void start_record(struct kgb_exchange *ex)
{
	struct kgb_exchange_record_spec spec = record_spec(ex);
	kgb_exchange_record_release(&ex->record);
	kgb_exchange_record_init(&ex->record, &spec);
	if (spec.dir_fd < 0)
		return;
	if (uv_queue_work(ex->session->gw->loop, &ex->work, record_request, on_request_recorded) ==
	    0)
		ex->recording = true;
}

static void refuse(struct kgb_exchange *ex, int status, const char *why)
{
	kgb_exchange__refuse(ex, status, why, why);
}

/* On any thread: reads the request, and writes only fields of the preparation. */
static void prepare(uv_work_t *work)
{
	struct kgb_exchange *ex = work->data;
	const struct kgb_gateway *gw = ex->session->gw;
	const struct kgb_rewrite_spec spec = {
		.endpoint = ex->endpoint,
		.model = ex->session->spec.model,
		.allow_provider_tools = gw->allow_provider_tools,
	};
	bool failed = false;
	if (ex->wants_sha256)
		kgb_sha256_hex(ex->body.ptr, ex->body.len, ex->sha256);
	if (ex->endpoint != KGB_ENDPOINT_MODELS && ex->endpoint != KGB_ENDPOINT_BATCH)
		failed = kgb_rewrite_request(&spec, ex->body.ptr, ex->body.len, &ex->rewritten,
					     &ex->prepare_err) < 0;
	if (!failed)
		kgb_exchange__prepare_source(ex);
}

static void refuse_hopeless(struct kgb_exchange *ex)
{
	const struct kgb_session_spec *spec = &ex->session->spec;
	if (!ex->session->closing && spec->callbacks.on_hopeless)
		spec->callbacks.on_hopeless(spec->payload);
	refuse(ex, kgb_http_stop_status(ex->protocol), KGB_BROKEN_TEXT);
}

static void on_prepared(uv_work_t *work, int status)
{
	(void)status;
	struct kgb_exchange *ex = work->data;
	/* Spend nothing for a client that has left, or is about to. */
	if (ex->state == KGB_EXCHANGE_ABANDONED || ex->out_end == KGB_REPLY_CUT)
		kgb_exchange__step(ex, KGB_EXCHANGE_ON_SOURCE_END);
	else if (*ex->prepare_err.msg)
		refuse(ex, 400, ex->prepare_err.msg);
	else if (*ex->sha256 &&
		 kgb_repeat_guard_is_hopeless(&ex->session->repeat_guard, ex->sha256))
		refuse_hopeless(ex);
	else if (ex->session->gw->mode == KGB_GATEWAY_LIVE && !kgb_exchange__account(ex)->api_key)
		refuse(ex, 401, "this run has no key for that API");
	else
		kgb_exchange__admit(ex);
}

static void start_prepare(struct kgb_exchange *ex)
{
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
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_MODEL);
	if (kgb_http_is_generation(ex->endpoint)) {
		session->ledger.totals.n_open++;
		session->n_messages++;
	}
	start_record(ex);
	if (session->spec.max_exchanges > 0 && session->n_messages > session->spec.max_exchanges) {
		char why[120];
		snprintf(why, sizeof(why),
			 "the limit of %lld model requests for this attempt is reached",
			 (long long)session->spec.max_exchanges);
		refuse(ex, kgb_http_stop_status(ex->protocol), why);
	} else {
		start_prepare(ex);
	}
}

void kgb_exchange__dispatch(struct kgb_exchange *ex)
{
	ex->started_ms = kgb_mono_ms();
	ex->started_wall_ms = kgb_wall_ms();
	kgb_session__activity(ex->session);
	if (ex->endpoint == KGB_ENDPOINT_VERIFY)
		kgb_exchange__verify(ex);
	else
		dispatch_model(ex);
}
