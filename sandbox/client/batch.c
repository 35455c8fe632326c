/* SPDX-License-Identifier: MIT */
#include "sandbox/client/batch.h"

#include <stdio.h>

#include "base/formats/json.h"
#include "base/formats/lines.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/client/ask.h"

#define CONNECT_MS 10000
#define IDLE_MS ((int64_t)600 * 1000) /* the gateway limits the waits for the provider */
#define MAX_TRIES 5 /* tries to make it, and to read results that are no JSON */
#define MAX_PAGES 20 /* of 100 batches in the provider's list */
#define REPLY_BYTES ((size_t)4 << 20)
/* A line has an answer in one piece, with its text escaped. */
#define LINE_BYTES (4 * KGB_ANSWER_BYTES)
/* Tolerance for different clocks. */
#define SKEW_MS ((int64_t)10 * 60 * 1000)

enum step { LOOK, UPLOAD, CREATE, POLL, OUTPUT, ERRORS };

struct kgb_batch {
	struct kgb_batch_spec spec;
	char *base_url, *token; /* owned */
	struct kgb_batch_body body;
	char key[KGB_BATCH_KEY_LEN];
	enum step step;
	struct kgb_upstream_call *call; /* NULL: none runs */
	uv_timer_t timer;
	int status; /* of the call's answer; 0: none yet */
	struct kgb_buf reply, sent; /* the call's */
	struct kgb_lines lines;
	bool *seen; /* owned; by number */
	size_t n_seen;
	int n_matched; /* lines that are of its requests */
	int n_tries, n_pages;
	int64_t n_bad; /* lines of the results under way that are no JSON */
	char file_id[KGB_BATCH_ID_LEN];
	char last_listed[KGB_BATCH_ID_LEN];
	struct kgb_batch_state state;
	struct kgb_strv candidates; /* ids that may be those of this batch */
	bool is_known; /* state.id is the id of this batch */
	bool is_left; /* its owner has left: no further callback */
};

static bool is_anthropic(const struct kgb_batch *batch)
{
	return batch->spec.protocol == KGB_PROTOCOL_ANTHROPIC;
}

static void begin(struct kgb_batch *batch, enum step step);

static void on_closed(uv_handle_t *handle)
{
	struct kgb_batch *batch = handle->data;
	kgb_batch_body_release(&batch->body);
	kgb_buf_release(&batch->reply);
	kgb_buf_release(&batch->sent);
	kgb_lines_release(&batch->lines);
	kgb_strv_release(&batch->candidates);
	kgb_free(batch->seen);
	kgb_free(batch->base_url);
	kgb_free(batch->token);
	kgb_free(batch);
}

static void on_leave(uv_timer_t *timer)
{
	struct kgb_batch *batch = timer->data;
	if (batch->call)
		kgb_upstream_cancel(KGB_TAKE(batch->call));
	uv_close((uv_handle_t *)timer, on_closed);
}

/* From the loop: the call's own callbacks may be on the stack. */
void kgb_batch_leave(struct kgb_batch *batch)
{
	batch->is_left = true;
	uv_timer_start(&batch->timer, on_leave, 0, 0);
}

static void end(struct kgb_batch *batch, enum kgb_batch_end kind, const char *why)
{
	if (batch->is_left)
		return;
	batch->spec.callbacks->on_end(batch->spec.payload, kind, batch->status, why);
	kgb_batch_leave(batch);
}

static void on_timer(uv_timer_t *timer)
{
	struct kgb_batch *batch = timer->data;
	begin(batch, batch->step);
}

static void wait_for(struct kgb_batch *batch, enum step step, int64_t ms)
{
	batch->step = step;
	if (batch->is_left)
		return;
	uv_timer_start(&batch->timer, on_timer, (uint64_t)(ms > 0 ? ms : 0), 0);
}

/** Try again later, when the provider may have recovered; false: no more tries are left. */
static bool try_again(struct kgb_batch *batch, enum step step)
{
	if (++batch->n_tries >= MAX_TRIES)
		return false;
	wait_for(batch, step, batch->spec.poll_ms);
	return true;
}

/** The batch is this one. */
static void know(struct kgb_batch *batch)
{
	if (batch->is_known)
		return;
	batch->is_known = true;
	batch->spec.callbacks->on_id(batch->spec.payload, batch->state.id);
}

/* ---- results ---- */

static void on_line(void *payload, const char *text, size_t len)
{
	struct kgb_batch *batch = payload;
	struct kgb_batch_line line;
	struct kgb_answer answer;
	if (len == 0 || batch->is_left)
		return;
	kgb_batch_read_line(batch->spec.protocol, batch->key, text, len, &line);
	batch->n_bad += line.number == 0;
	batch->n_matched += line.number > 0;
	if (line.number > 0 && line.number <= batch->spec.max_number && !batch->seen[line.number]) {
		batch->seen[line.number] = true;
		batch->n_seen++;
		know(batch);
		kgb_answer_init(&answer, batch->spec.protocol, 1);
		answer.max_tokens = batch->spec.max_tokens;
		kgb_answer_head(&answer, line.status, "application/json");
		answer.meter.batched = true;
		kgb_answer_feed(&answer, line.body.ptr, line.body.len);
		kgb_answer_end(&answer, line.body.len > 0 ? NULL : line.error);
		batch->spec.callbacks->on_result(batch->spec.payload, line.number, &answer);
		kgb_answer_release(&answer);
	}
	kgb_batch_line_release(&line);
}

/** This id belongs to another batch. */
static void try_candidate(struct kgb_batch *batch);

static void finish(struct kgb_batch *batch)
{
	if (!batch->is_known && batch->n_matched == 0)
		try_candidate(batch);
	else
		end(batch, batch->state.is_unbilled ? KGB_BATCH_OVER : KGB_BATCH_LOST,
		    batch->state.error);
}

/** The next file of results, or the end. */
static void after_file(struct kgb_batch *batch)
{
	if (batch->step == OUTPUT && *batch->state.errors)
		begin(batch, ERRORS);
	else
		finish(batch);
}

static void fetch(struct kgb_batch *batch)
{
	batch->n_tries = 0;
	batch->n_bad = 0;
	if (is_anthropic(batch) || *batch->state.output)
		begin(batch, OUTPUT);
	else if (*batch->state.errors)
		begin(batch, ERRORS);
	else
		finish(batch);
}

static void after_results(struct kgb_batch *batch, bool is_good, bool is_refused)
{
	const bool is_odd = batch->n_bad > 0 && batch->is_known && batch->n_seen < batch->body.n;
	batch->n_bad = 0;
	if (is_refused && batch->status != 404)
		end(batch, KGB_BATCH_LEFT, "the provider refuses the results");
	else if (!is_good && !is_refused)
		wait_for(batch, batch->step, batch->spec.poll_ms);
	else if (!is_good || !is_odd || !try_again(batch, batch->step))
		after_file(batch);
}

/* ---- the way to a batch ---- */

static void make(struct kgb_batch *batch)
{
	begin(batch, is_anthropic(batch) ? CREATE : UPLOAD);
}

/** It is not at the provider. */
static void make_anew(struct kgb_batch *batch)
{
	batch->state = (struct kgb_batch_state){0};
	batch->n_matched = 0;
	if (++batch->n_tries >= MAX_TRIES)
		end(batch, KGB_BATCH_UNSENT, "the provider accepted no batch");
	else
		make(batch);
}

static void try_candidate(struct kgb_batch *batch)
{
	if (batch->candidates.n == 0) {
		make_anew(batch);
		return;
	}
	batch->candidates.n--;
	snprintf(batch->state.id, sizeof(batch->state.id), "%s",
		 batch->candidates.items[batch->candidates.n]);
	kgb_free(batch->candidates.items[batch->candidates.n]);
	begin(batch, POLL);
}

/** Whether a batch of the list without a key is of the time and size of this one. */
static bool is_candidate(const struct kgb_batch *batch, const cJSON *node,
			 const struct kgb_batch_state *state)
{
	int64_t created_ms = 0;
	char time[KGB_TIME_LEN]; /* theirs has six digits of a second, or none */
	snprintf(time, sizeof(time), "%.19s.000Z", kgb_json_str(node, "created_at", ""));
	if (kgb_time_parse(time, &created_ms, NULL) < 0)
		created_ms = batch->spec.left_ms;
	return state->n_requests == (int64_t)batch->body.n &&
	       created_ms >= batch->spec.left_ms - SKEW_MS &&
	       !batch->spec.callbacks->is_other(batch->spec.payload, state->id);
}

/** Read a page of the list. True: the batch is there. */
static bool read_page(struct kgb_batch *batch, const cJSON *page)
{
	const cJSON *node = NULL;
	cJSON_ArrayForEach(node, kgb_json_get(page, "data")) {
		struct kgb_batch_state state;
		if (kgb_batch_read_state(batch->spec.protocol, node, &state, NULL) < 0)
			continue;
		snprintf(batch->last_listed, sizeof(batch->last_listed), "%s", state.id);
		if (kgb_str_eq(state.key, batch->key)) {
			batch->state = state;
			return true;
		}
		if (is_anthropic(batch) && is_candidate(batch, node, &state))
			kgb_strv_add(&batch->candidates, state.id);
	}
	return false;
}

static void after_look(struct kgb_batch *batch, const cJSON *page, bool is_refused)
{
	if (!cJSON_IsArray(kgb_json_get(page, "data"))) {
		if (is_refused || !try_again(batch, LOOK))
			end(batch, KGB_BATCH_LEFT, "the provider does not list its batches");
	} else if (read_page(batch, page)) {
		know(batch);
		begin(batch, POLL);
	} else if (kgb_json_bool(page, "has_more", false) && ++batch->n_pages < MAX_PAGES) {
		begin(batch, LOOK);
	} else if (kgb_json_bool(page, "has_more", false)) {
		end(batch, KGB_BATCH_LEFT, "the provider's list of batches is too long");
	} else {
		try_candidate(batch);
	}
}

static void after_upload(struct kgb_batch *batch, const cJSON *node, bool is_refused)
{
	const char *id = kgb_json_str(node, "id", "");
	snprintf(batch->file_id, sizeof(batch->file_id), "%s", id);
	if (*id && !is_refused)
		begin(batch, CREATE);
	else if (is_refused || !try_again(batch, UPLOAD))
		end(batch, KGB_BATCH_UNSENT, kgb_json_str(node, "error.message", ""));
}

static void after_create(struct kgb_batch *batch, const cJSON *node, bool is_good, bool is_refused)
{
	if (is_good && kgb_batch_read_state(batch->spec.protocol, node, &batch->state, NULL) == 0) {
		know(batch);
		wait_for(batch, POLL, batch->spec.poll_ms);
	} else if (is_refused) {
		end(batch, KGB_BATCH_UNSENT, kgb_json_str(node, "error.message", ""));
	} else if (batch->status == 429) {
		if (!try_again(batch, CREATE))
			end(batch, KGB_BATCH_UNSENT, kgb_json_str(node, "error.message", ""));
	} else {
		/* The batch may exist nevertheless. */
		batch->n_pages = 0;
		*batch->last_listed = '\0';
		wait_for(batch, LOOK, batch->spec.poll_ms);
	}
}

static void after_poll(struct kgb_batch *batch, const cJSON *node, bool is_good, bool is_refused)
{
	struct kgb_batch_state state;
	if (is_good && kgb_batch_read_state(batch->spec.protocol, node, &state, NULL) == 0) {
		batch->state = state;
		if (state.is_over)
			fetch(batch);
		else
			wait_for(batch, POLL, batch->spec.poll_ms);
	} else if (is_refused && !batch->is_known) {
		try_candidate(batch);
	} else if (is_refused && batch->status == 404) {
		end(batch, KGB_BATCH_LOST, "the provider does not have the batch any more");
	} else if (is_refused) {
		end(batch, KGB_BATCH_LEFT, kgb_json_str(node, "error.message", ""));
	} else {
		wait_for(batch, POLL, batch->spec.poll_ms);
	}
}

/* ---- calls ---- */

static bool has_lines(const struct kgb_batch *batch)
{
	return batch->step >= OUTPUT && batch->status == 200;
}

static void on_head(void *payload, const struct kgb_upstream_head *head)
{
	struct kgb_batch *batch = payload;
	batch->status = head->status;
}

static enum kgb_upstream_take on_data(void *payload, const char *bytes, size_t len)
{
	struct kgb_batch *batch = payload;
	if (has_lines(batch))
		kgb_lines_feed(&batch->lines, bytes, len, on_line, batch);
	else
		(void)kgb_buf_add(&batch->reply, bytes, len);
	return KGB_UPSTREAM_TAKEN;
}

static void on_done(void *payload, bool sent, const struct kgb_err *err)
{
	(void)sent;
	struct kgb_batch *batch = payload;
	KGB_AUTO(json) cJSON *node = NULL;
	batch->call = NULL;
	if (batch->is_left)
		return;
	if (err)
		batch->status = 0;
	else if (has_lines(batch))
		(void)kgb_lines_finish(&batch->lines, on_line, batch);
	const bool is_good = batch->status >= 200 && batch->status < 300;
	/* Other errors may pass. */
	const bool is_refused = batch->status >= 400 && batch->status < 500 &&
				batch->status != 408 && batch->status != 409 &&
				batch->status != 429;
	if (batch->reply.len > 0)
		(void)!kgb_json_parse(batch->reply.ptr, batch->reply.len, &node, NULL);
	switch (batch->step) {
	case LOOK:
		after_look(batch, is_good ? node : NULL, is_refused);
		return;
	case UPLOAD:
		after_upload(batch, node, is_refused);
		return;
	case CREATE:
		after_create(batch, node, is_good, is_refused);
		return;
	case POLL:
		after_poll(batch, node, is_good, is_refused);
		return;
	case OUTPUT:
	case ERRORS:
		after_results(batch, is_good, is_refused);
		return;
	}
	KGB_UNREACHABLE();
}

/** Path of a step's call, and its body. */
static char *prepare(struct kgb_batch *batch)
{
	const char *batches = is_anthropic(batch) ? "/v1/messages/batches" : "/v1/batches";
	const struct kgb_buf *body = &batch->body.bytes;
	kgb_buf_clear(&batch->sent);
	switch (batch->step) {
	case LOOK:
		if (!*batch->last_listed)
			return kgb_xasprintf("%s?limit=100", batches);
		return kgb_xasprintf("%s?limit=100&%s=%s", batches,
				     is_anthropic(batch) ? "after_id" : "after",
				     batch->last_listed);
	case UPLOAD:
		kgb_buf_add(&batch->sent, body->ptr, body->len);
		return kgb_xstrdup("/v1/files");
	case CREATE:
		if (is_anthropic(batch))
			kgb_buf_add(&batch->sent, body->ptr, body->len);
		else
			kgb_batch_write_create(batch->spec.protocol, batch->key, batch->file_id,
					       &batch->sent);
		return kgb_xstrdup(batches);
	case POLL:
		return kgb_xasprintf("%s/%s", batches, batch->state.id);
	case OUTPUT:
		if (is_anthropic(batch))
			return kgb_xasprintf("%s/%s/results", batches, batch->state.id);
		return kgb_xasprintf("/v1/files/%s/content", batch->state.output);
	case ERRORS:
		return kgb_xasprintf("/v1/files/%s/content", batch->state.errors);
	}
	KGB_UNREACHABLE();
}

static struct curl_slist *make_headers(const struct kgb_batch *batch)
{
	KGB_AUTO(buf) struct kgb_buf type = KGB_BUF_INIT(0);
	kgb_buf_adds(&type, "Content-Type: ");
	if (batch->step == UPLOAD || is_anthropic(batch))
		kgb_batch_content_type(batch->spec.protocol, batch->key, &type);
	else
		kgb_buf_adds(&type, "application/json");
	return curl_slist_append(kgb_client_headers(batch->spec.protocol, batch->token), type.ptr);
}

static void begin(struct kgb_batch *batch, enum step step)
{
	if (batch->is_left)
		return;
	batch->step = step;
	batch->status = 0;
	kgb_buf_clear(&batch->reply);
	kgb_lines_release(&batch->lines);
	kgb_lines_init(&batch->lines, LINE_BYTES);
	KGB_AUTO(free) char *path = prepare(batch);
	KGB_AUTO(free) char *url = kgb_xasprintf("%s%s", batch->base_url, path);
	const bool posts = step == UPLOAD || step == CREATE;
	const struct kgb_upstream_spec spec = {.method = posts ? "POST" : "GET",
					       .url = url,
					       .take_headers = make_headers(batch),
					       .body = batch->sent.ptr,
					       .body_len = batch->sent.len,
					       .once = step == CREATE,
					       .connect_timeout_ms = CONNECT_MS,
					       .idle_timeout_ms = IDLE_MS,
					       .on_head = on_head,
					       .on_data = on_data,
					       .on_done = on_done,
					       .payload = batch};
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_upstream_start(&batch->call, batch->spec.upstream, &spec, &err) < 0)
		wait_for(batch, step, batch->spec.poll_ms);
}

struct kgb_batch *kgb_batch_start(const struct kgb_batch_spec *spec)
{
	struct kgb_batch *batch = kgb_xcalloc(1, sizeof(*batch));
	batch->spec = *spec;
	batch->base_url = kgb_xstrdup(spec->base_url);
	batch->token = kgb_xstrdup(spec->token);
	snprintf(batch->key, sizeof(batch->key), "%s", spec->key);
	batch->body = *spec->take_body;
	batch->body.key = batch->key;
	batch->reply = (struct kgb_buf)KGB_BUF_INIT(REPLY_BYTES);
	batch->sent = (struct kgb_buf)KGB_BUF_INIT(0);
	batch->seen = kgb_xcalloc((size_t)spec->max_number + 1, sizeof(*batch->seen));
	kgb_lines_init(&batch->lines, LINE_BYTES);
	uv_timer_init(spec->loop, &batch->timer);
	batch->timer.data = batch;
	if (spec->id) {
		snprintf(batch->state.id, sizeof(batch->state.id), "%s", spec->id);
		batch->is_known = true;
		wait_for(batch, POLL, 0);
	} else if (spec->may_exist) {
		/* The provider may still be processing the request that made it. */
		wait_for(batch, LOOK, spec->left_ms + spec->poll_ms - kgb_wall_ms());
	} else {
		wait_for(batch, is_anthropic(batch) ? CREATE : UPLOAD, 0);
	}
	return batch;
}
