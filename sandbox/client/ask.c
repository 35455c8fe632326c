/* SPDX-License-Identifier: MIT */
#include "sandbox/client/ask.h"

#include <stdio.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "base/time.h"
#include "sandbox/provider/upstream.h"

/* The gateway limits the waits for the provider; it sends nothing meanwhile. */
#define CONNECT_MS 10000
#define CLOCK_MS 250
#define IDLE_MS ((int64_t)2 * 3600 * 1000)

struct kgb_ask {
	TAILQ_ENTRY(kgb_ask) link; /* in `waiting` or `open` */
	struct kgb_asker *asker;
	char *base_url, *token; /* owned */
	struct kgb_buf body;
	struct kgb_upstream_call *call; /* NULL: it waits */
	struct kgb_answer answer;
	int sample;
	int64_t rank, timeout_ms, left_ms; /* left_ms: monotonic */
	void (*question)(void *payload, struct kgb_question *out);
	void (*done)(void *payload, const struct kgb_answer *answer);
	void *payload;
};
TAILQ_HEAD(asks, kgb_ask);

struct kgb_asker {
	struct kgb_upstream *upstream; /* owned */
	struct asks waiting, open; /* waiting: by rank */
	int n_open, most_open;
	bool is_answered, is_refused;
	int refused_status; /* of HTTP */
	char refused_error[sizeof((struct kgb_answer){0}.error)];
	uv_timer_t pump; /* calls start from the loop, never inside of kgb_ask_submit */
	uv_timer_t clock; /* for answers that take too long */
	int n_timers; /* not closed yet, while closing */
	void (*done)(void *payload);
	void *payload;
};

static void free_ask(struct kgb_ask *ask)
{
	kgb_answer_release(&ask->answer);
	kgb_buf_release(&ask->body);
	kgb_free(ask->base_url);
	kgb_free(ask->token);
	kgb_free(ask);
}

static void on_pump(uv_timer_t *timer);

static void pump(struct kgb_asker *asker)
{
	uv_timer_start(&asker->pump, on_pump, 0, 0);
}

/** Take an ask whose call is over or was never made out of its list. */
static void take_out(struct kgb_ask *ask, bool was_open)
{
	struct kgb_asker *asker = ask->asker;
	TAILQ_REMOVE(was_open ? &asker->open : &asker->waiting, ask, link);
	asker->n_open -= was_open;
	pump(asker);
}

static void end(struct kgb_ask *ask, bool was_open, const struct kgb_err *err)
{
	take_out(ask, was_open);
	kgb_answer_end(&ask->answer, err ? err->msg : NULL);
	ask->asker->is_answered |= !ask->answer.error[0];
	ask->done(ask->payload, &ask->answer);
	free_ask(ask);
}

static void on_head(void *payload, const struct kgb_upstream_head *head)
{
	struct kgb_ask *ask = payload;
	kgb_answer_head(&ask->answer, head->status,
			kgb_headers_find(&head->headers, "content-type"));
}

static enum kgb_upstream_take on_data(void *payload, const char *bytes, size_t len)
{
	struct kgb_ask *ask = payload;
	kgb_answer_feed(&ask->answer, bytes, len);
	return KGB_UPSTREAM_TAKEN;
}

static void on_done(void *payload, bool sent, const struct kgb_err *err)
{
	(void)sent;
	struct kgb_ask *ask = payload;
	ask->call = NULL;
	end(ask, true, err);
}

struct curl_slist *kgb_client_headers(enum kgb_protocol protocol, const char *token)
{
	KGB_AUTO(free) char *bearer = kgb_xasprintf("Authorization: Bearer %s", token);
	struct curl_slist *headers = curl_slist_append(NULL, bearer);
	if (protocol == KGB_PROTOCOL_ANTHROPIC)
		headers = curl_slist_append(headers, "anthropic-version: 2023-06-01");
	return headers;
}

static struct curl_slist *make_headers(const struct kgb_ask *ask)
{
	KGB_AUTO(free) char *sample = kgb_xasprintf(KGB_SAMPLE_HEADER ": %d", ask->sample);
	struct curl_slist *headers = kgb_client_headers(ask->answer.protocol, ask->token);
	headers = curl_slist_append(headers, "Content-Type: application/json");
	return curl_slist_append(headers, sample);
}

/** Its turn has come. */
static void take_question(struct kgb_ask *ask, struct kgb_question *question)
{
	*question = (struct kgb_question){0};
	ask->question(ask->payload, question);
	kgb_answer_init(&ask->answer, question->protocol,
			question->n_choices > 1 ? question->n_choices : 1);
	ask->answer.max_tokens = question->sampling.max_tokens;
}

static void start(struct kgb_ask *ask)
{
	struct kgb_asker *asker = ask->asker;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_question question;
	take_question(ask, &question);
	kgb_question_write(&question, &ask->body);
	KGB_AUTO(free)
	char *url = kgb_xasprintf("%s%s", ask->base_url, kgb_question_path(question.protocol));
	ask->left_ms = kgb_mono_ms();
	const struct kgb_upstream_spec spec = {.method = "POST",
					       .url = url,
					       .take_headers = make_headers(ask),
					       .body = ask->body.ptr,
					       .body_len = ask->body.len,
					       .connect_timeout_ms = CONNECT_MS,
					       .idle_timeout_ms = IDLE_MS,
					       .on_head = on_head,
					       .on_data = on_data,
					       .on_done = on_done,
					       .payload = ask};
	if (kgb_upstream_start(&ask->call, asker->upstream, &spec, &err) < 0) {
		end(ask, false, &err);
		return;
	}
	TAILQ_REMOVE(&asker->waiting, ask, link);
	TAILQ_INSERT_TAIL(&asker->open, ask, link);
	asker->n_open++;
}

/** Give it the same error as the refused question. */
static void refuse(struct kgb_ask *ask)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_question question;
	take_question(ask, &question);
	kgb_answer_head(&ask->answer, ask->asker->refused_status, NULL);
	(void)kgb_fail(&err, KGB_ERR_UNAVAILABLE, "%s", ask->asker->refused_error);
	end(ask, false, &err);
}

void kgb_asker_refuse(struct kgb_asker *asker, const struct kgb_answer *error)
{
	asker->is_refused = true;
	asker->refused_status = error->status;
	snprintf(asker->refused_error, sizeof(asker->refused_error), "%s", error->error);
	pump(asker);
}

bool kgb_asker_is_answered(const struct kgb_asker *asker)
{
	return asker->is_answered;
}

static void on_pump(uv_timer_t *timer)
{
	struct kgb_asker *asker = timer->data;
	while (!TAILQ_EMPTY(&asker->waiting) && asker->is_refused)
		refuse(TAILQ_FIRST(&asker->waiting));
	while (!TAILQ_EMPTY(&asker->waiting) && asker->n_open < asker->most_open)
		start(TAILQ_FIRST(&asker->waiting));
}

/** End the first answer that takes too long; the others follow on the next ticks. */
static void on_clock(uv_timer_t *timer)
{
	struct kgb_asker *asker = timer->data;
	const int64_t now_ms = kgb_mono_ms();
	for (struct kgb_ask *ask = TAILQ_FIRST(&asker->open); ask; ask = TAILQ_NEXT(ask, link)) {
		if (ask->timeout_ms == 0 || now_ms - ask->left_ms < ask->timeout_ms)
			continue;
		struct kgb_err err = KGB_ERR_INIT;
		char limit[32];
		(void)kgb_fail(&err, KGB_ERR_TIMEOUT, "no whole answer within %s",
			       kgb_duration_format(ask->timeout_ms, limit, sizeof(limit)));
		kgb_upstream_cancel(ask->call);
		ask->call = NULL;
		end(ask, true, &err);
		return;
	}
}

struct kgb_ask *kgb_ask_submit(struct kgb_asker *asker, const struct kgb_ask_spec *spec)
{
	struct kgb_ask *ask = kgb_xcalloc(1, sizeof(*ask));
	*ask = (struct kgb_ask){.asker = asker,
				.base_url = kgb_xstrdup(spec->base_url),
				.token = kgb_xstrdup(spec->token),
				.body = KGB_BUF_INIT(0),
				.sample = spec->sample,
				.rank = spec->rank,
				.timeout_ms = spec->timeout_ms,
				.question = spec->question,
				.done = spec->done,
				.payload = spec->payload};
	struct kgb_ask *last = TAILQ_LAST(&asker->waiting, asks);
	while (last && last->rank > ask->rank)
		last = TAILQ_PREV(last, asks, link);
	if (last)
		TAILQ_INSERT_AFTER(&asker->waiting, last, ask, link);
	else
		TAILQ_INSERT_HEAD(&asker->waiting, ask, link);
	pump(asker);
	return ask;
}

bool kgb_ask_is_open(const struct kgb_ask *ask)
{
	return ask->call != NULL;
}

void kgb_ask_cancel(struct kgb_ask *ask)
{
	const bool was_open = kgb_ask_is_open(ask);
	if (was_open)
		kgb_upstream_cancel(ask->call);
	take_out(ask, was_open);
	free_ask(ask);
}

int kgb_asker_new(struct kgb_asker **out, uv_loop_t *loop, int most_open, struct kgb_err *err)
{
	struct kgb_asker *asker = kgb_xcalloc(1, sizeof(*asker));
	if (kgb_upstream_new(&asker->upstream, loop, err) < 0) {
		kgb_free(asker);
		return -1;
	}
	TAILQ_INIT(&asker->waiting);
	TAILQ_INIT(&asker->open);
	asker->most_open = most_open;
	uv_timer_init(loop, &asker->pump);
	asker->pump.data = asker;
	uv_timer_init(loop, &asker->clock);
	asker->clock.data = asker;
	uv_timer_start(&asker->clock, on_clock, CLOCK_MS, CLOCK_MS);
	*out = asker;
	return 0;
}

struct kgb_upstream *kgb_asker_upstream(const struct kgb_asker *asker)
{
	return asker->upstream;
}

static void on_upstream_closed(void *payload)
{
	struct kgb_asker *asker = payload;
	asker->done(asker->payload);
	kgb_free(asker);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct kgb_asker *asker = handle->data;
	if (--asker->n_timers > 0)
		return;
	kgb_upstream_close(asker->upstream, on_upstream_closed, asker);
}

void kgb_asker_close(struct kgb_asker *asker, void (*done)(void *payload), void *payload)
{
	KGB_ASSERT(TAILQ_EMPTY(&asker->waiting) && TAILQ_EMPTY(&asker->open));
	asker->done = done;
	asker->payload = payload;
	asker->n_timers = 2;
	uv_close((uv_handle_t *)&asker->pump, on_timer_closed);
	uv_close((uv_handle_t *)&asker->clock, on_timer_closed);
}
