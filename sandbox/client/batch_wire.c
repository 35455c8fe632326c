/* SPDX-License-Identifier: MIT */
#include "sandbox/client/batch_wire.h"

#include <stdio.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"

/* Bytes of an answer for each token, with the escapes of JSON in JSON, and of the envelope. */
#define ANSWER_BYTES_PER_TOKEN 8
#define ANSWER_BYTES_BESIDES 4096

static bool is_anthropic(enum kgb_protocol protocol)
{
	return protocol == KGB_PROTOCOL_ANTHROPIC;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t kgb_batch_most(enum kgb_protocol protocol, size_t request_bytes, int64_t output)
{
	const size_t room = KGB_LIMIT_HTTP_BODY - ANSWER_BYTES_BESIDES;
	const size_t answer = (size_t)output * ANSWER_BYTES_PER_TOKEN + ANSWER_BYTES_BESIDES;
	size_t most = is_anthropic(protocol) ? 100000 : 50000;
	most = least(most, room / (request_bytes + 1));
	most = least(most, KGB_LIMIT_HTTP_ANSWER / answer);
	return most > 0 ? most : 1;
}

void kgb_batch_key(char key[KGB_BATCH_KEY_LEN])
{
	unsigned char bytes[12];
	kgb_random(bytes, sizeof(bytes));
	size_t at = (size_t)snprintf(key, KGB_BATCH_KEY_LEN, "kgb-");
	for (size_t i = 0; i < sizeof(bytes); i++)
		at += (size_t)snprintf(key + at, KGB_BATCH_KEY_LEN - at, "%02x", bytes[i]);
}

/* ---- requests ---- */

void kgb_batch_content_type(enum kgb_protocol protocol, const char *key, struct kgb_buf *out)
{
	if (is_anthropic(protocol))
		kgb_buf_adds(out, "application/json");
	else
		kgb_buf_addf(out, "multipart/form-data; boundary=%s", key);
}

void kgb_batch_body_init(struct kgb_batch_body *body, enum kgb_protocol protocol, const char *key)
{
	*body = (struct kgb_batch_body){.protocol = protocol, .key = key, .bytes = KGB_BUF_INIT(0)};
	if (is_anthropic(protocol))
		kgb_buf_adds(&body->bytes, "{\"requests\":[");
	else
		/* The key, which is random, is the boundary: no text of a prompt is equal. */
		kgb_buf_addf(
			&body->bytes,
			"--%s\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
			"--%s\r\ncontent-disposition: form-data; name=\"file\"; "
			"filename=\"%s.jsonl\"\r\ncontent-type: application/jsonl\r\n\r\n",
			key, key, key);
}

void kgb_batch_body_add(struct kgb_batch_body *body, int number,
			const struct kgb_question *question)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(free) char *name = kgb_xasprintf("%s-%d", body->key, number);
	struct kgb_jsonw w;
	kgb_question_write(question, &text);
	if (is_anthropic(body->protocol) && body->n > 0)
		kgb_buf_addc(&body->bytes, ',');
	kgb_jsonw_init(&w, &body->bytes, 0);
	kgb_jsonw_put(&w, "{custom_id: %s", name);
	if (!is_anthropic(body->protocol))
		kgb_jsonw_put(&w, "method: 'POST', url: %s", kgb_question_path(body->protocol));
	kgb_jsonw_key(&w, is_anthropic(body->protocol) ? "params" : "body");
	kgb_jsonw_raw(&w, text.ptr);
	kgb_jsonw_object_end(&w);
	if (!is_anthropic(body->protocol))
		kgb_buf_addc(&body->bytes, '\n');
	body->n++;
}

void kgb_batch_body_end(struct kgb_batch_body *body)
{
	if (is_anthropic(body->protocol))
		kgb_buf_adds(&body->bytes, "]}");
	else
		kgb_buf_addf(&body->bytes, "\r\n--%s--\r\n", body->key);
}

void kgb_batch_body_release(struct kgb_batch_body *body)
{
	kgb_buf_release(&body->bytes);
}

void kgb_batch_write_create(enum kgb_protocol protocol, const char *key, const char *file_id,
			    struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w,
		      "{input_file_id: %s, endpoint: %s, completion_window: '24h', "
		      "metadata: {kgb_batch: %s}}",
		      file_id, kgb_question_path(protocol), key);
}

/* ---- the state of a batch ---- */

/** Ids become parts of paths: reject characters that could change the path. */
static void copy_id(char out[KGB_BATCH_ID_LEN], const cJSON *node, const char *path)
{
	const char *id = kgb_json_str(node, path, "");
	const size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_");
	const bool is_good = len < KGB_BATCH_ID_LEN && id[len] == '\0';
	snprintf(out, KGB_BATCH_ID_LEN, "%s", is_good ? id : "");
}

static int64_t count_requests(enum kgb_protocol protocol, const cJSON *node)
{
	const cJSON *count = NULL, *counts = kgb_json_get(node, "request_counts");
	int64_t sum = counts ? 0 : -1;
	if (!is_anthropic(protocol))
		return kgb_json_i64(counts, "total", -1);
	cJSON_ArrayForEach(count, counts)
		sum += cJSON_IsNumber(count) ? (int64_t)count->valuedouble : 0;
	return sum;
}

int kgb_batch_read_state(enum kgb_protocol protocol, const cJSON *node, struct kgb_batch_state *out,
			 struct kgb_err *err)
{
	static const char *const over[] = {"completed", "failed", "expired",
					   "cancelled", "ended",  NULL};
	static const char *const unbilled[] = {"failed", "expired", "cancelled", NULL};
	struct kgb_batch_state state = {0};
	const char *word =
		kgb_json_str(node, is_anthropic(protocol) ? "processing_status" : "status", "");
	const cJSON *first = cJSON_GetArrayItem(kgb_json_get(node, "errors.data"), 0);
	copy_id(state.id, node, "id");
	if (!*state.id || !*word)
		return kgb_fail(err, KGB_ERR_INVALID, "the answer is no batch");
	copy_id(state.output, node, "output_file_id");
	copy_id(state.errors, node, "error_file_id");
	snprintf(state.key, sizeof(state.key), "%s", kgb_json_str(node, "metadata.kgb_batch", ""));
	snprintf(state.word, sizeof(state.word), "%s", word);
	snprintf(state.error, sizeof(state.error), "%s", kgb_json_str(first, "message", ""));
	state.error[strcspn(state.error, "\r\n")] = '\0';
	state.is_over = kgb_str_is_one_of(word, over);
	state.is_unbilled = kgb_str_is_one_of(word, unbilled);
	state.n_requests = count_requests(protocol, node);
	*out = state;
	return 0;
}

/* ---- results ---- */

static int read_number(const char *key, const char *name)
{
	const size_t len = strlen(key);
	int64_t number = 0;
	if (strncmp(name, key, len) != 0 || name[len] != '-' ||
	    kgb_parse_i64(name + len + 1, 1, INT32_MAX, &number, NULL) < 0)
		return 0;
	return (int)number;
}

static void set_error(struct kgb_batch_line *line, const char *error)
{
	snprintf(line->error, sizeof(line->error), "%s", error);
	line->error[strcspn(line->error, "\r\n")] = '\0';
}

static void read_anthropic(struct kgb_batch_line *line, const cJSON *node, const cJSON **body)
{
	const char *type = kgb_json_str(node, "result.type", "");
	const cJSON *message = kgb_json_get(node, "result.message");
	if (kgb_str_eq(type, "succeeded") && cJSON_IsObject(message)) {
		line->status = 200;
		*body = message;
		return;
	}
	/* {"error": {"type": "error", "error": {"type": .., "message": ..}}} */
	const char *error = kgb_json_str(node, "result.error.error.message",
					 kgb_json_str(node, "result.error.message", type));
	const char *kind = kgb_json_str(node, "result.error.error.type", "");
	line->status = kgb_str_eq(kind, "invalid_request_error") ? 400 : 0;
	set_error(line, *error ? error : "the result has no type");
}

static void read_openai(struct kgb_batch_line *line, const cJSON *node, const cJSON **body)
{
	const cJSON *answer = kgb_json_get(node, "response.body");
	const int status = (int)kgb_json_i64(node, "response.status_code", 0);
	if (cJSON_IsObject(answer) && status >= 100 && status < 600) {
		line->status = status;
		*body = answer;
		if (status != 200)
			set_error(line, kgb_json_str(answer, "error.message",
						     kgb_json_str(node, "error.message",
								  "an error without a message")));
		return;
	}
	set_error(line, kgb_json_str(node, "error.message", "the result has no answer"));
}

void kgb_batch_read_line(enum kgb_protocol protocol, const char *key, const char *text, size_t len,
			 struct kgb_batch_line *out)
{
	KGB_AUTO(json) cJSON *node = NULL;
	const cJSON *body = NULL;
	*out = (struct kgb_batch_line){.body = KGB_BUF_INIT(0)};
	if (kgb_json_parse(text, len, &node, NULL) < 0)
		return;
	out->number = read_number(key, kgb_json_str(node, "custom_id", ""));
	if (out->number == 0)
		return;
	if (is_anthropic(protocol))
		read_anthropic(out, node, &body);
	else
		read_openai(out, node, &body);
	if (body) {
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &out->body, 0);
		kgb_jsonw_tree(&w, body);
	}
}

void kgb_batch_line_release(struct kgb_batch_line *line)
{
	kgb_buf_release(&line->body);
}
