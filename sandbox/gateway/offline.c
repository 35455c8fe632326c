/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/offline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/gateway/http.h"
#include "sandbox/gateway/offline_script.h"
#include "sandbox/gateway/offline_wire.h"

#define MAX_TURN 99
#define MODEL_ID "kgb-offline-script"

/* ---- reading the request ---- */

static void add_text(struct kgb_buf *out, const cJSON *content)
{
	if (cJSON_IsString(content)) {
		kgb_buf_adds(out, content->valuestring);
		return;
	}
	const cJSON *block;
	cJSON_ArrayForEach(block, content) {
		kgb_buf_adds(out, kgb_json_str(block, "text", ""));
		kgb_buf_addc(out, '\n');
	}
}

/* Turn number in a tool call's id, or -1 when it is not ours. */
static int turn_of_id(const char *id)
{
	static const char prefix[] = KGB_OFFLINE_TOOL_ID;
	if (strncmp(id, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	int64_t turn;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_parse_i64(id + sizeof(prefix) - 1, 0, MAX_TURN, &turn, &err) < 0)
		return -1;
	return (int)turn;
}

/* Looks for our last tool call, and for its result behind it. */
static void find_position(struct kgb_offline_request *req)
{
	req->own_message = req->own_turn = -1;
	const char *own_id = NULL;
	int index = 0;
	const cJSON *message, *block;
	cJSON_ArrayForEach(message, req->messages) {
		cJSON_ArrayForEach(block, kgb_json_get(message, "content")) {
			const char *type = kgb_json_str(block, "type", "");
			int turn = strcmp(type, "tool_use") == 0
					   ? turn_of_id(kgb_json_str(block, "id", ""))
					   : -1;
			if (turn >= 0) {
				req->own_turn = turn;
				req->own_message = index;
				own_id = kgb_json_str(block, "id", "");
				kgb_buf_clear(&req->report);
			} else if (own_id && strcmp(type, "tool_result") == 0 &&
				   strcmp(kgb_json_str(block, "tool_use_id", ""), own_id) == 0) {
				kgb_buf_clear(&req->report);
				add_text(&req->report, kgb_json_get(block, "content"));
			}
		}
		index++;
	}
}

/* The CLIs call their shell tool differently. */
static const cJSON *find_shell(const cJSON *tools)
{
	static const char *const names[] = {"Bash", "bash", "shell", "exec_command"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		const cJSON *tool;
		cJSON_ArrayForEach(tool, tools)
			if (strcmp(kgb_json_str(tool, "name", ""), names[i]) == 0)
				return tool;
	}
	return NULL;
}

static const char *read_request(struct kgb_offline_request *req, const cJSON *root)
{
	req->root = root;
	req->messages = kgb_json_get(root, "messages");
	req->model = kgb_json_str(root, "model", "");
	req->streamed = kgb_json_bool(root, "stream", false);
	const cJSON *tools = kgb_json_get(root, "tools");
	req->has_tools = cJSON_IsArray(tools) && cJSON_GetArraySize(tools) > 0;
	req->shell = find_shell(tools);
	if (!cJSON_IsObject(root))
		return "the request is not a JSON object";
	if (!*req->model)
		return "model: field required";
	if (!cJSON_IsArray(req->messages) || cJSON_GetArraySize(req->messages) == 0)
		return "messages: at least one message is required";
	find_position(req);
	return NULL;
}

/* ---- deciding what to say ---- */

static bool contains_nocase(const char *text, const char *word)
{
	size_t len = strlen(word);
	for (; *text; text++)
		if (strncasecmp(text, word, len) == 0)
			return true;
	return false;
}

/* A CLI's own instructions are tens of kilobytes and mention many things; those of a side call are
 * one paragraph. */
#define SIDE_CALL_SYSTEM_BYTES 4096

/* Calls that a CLI makes for itself (a title for the session, ...) carry no tools. A session that
 * is meant to go without tools has to be told from these by what it is asked for. */
static bool is_side_call(const struct kgb_offline_session *session,
			 const struct kgb_offline_request *req)
{
	if (req->has_tools)
		return false;
	if (session->variant == KGB_OFFLINE_VERIFY)
		return true;
	KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(0);
	add_text(&prompt, kgb_json_get(req->root, "system"));
	return prompt.len < SIDE_CALL_SYSTEM_BYTES && contains_nocase(prompt.ptr, "title");
}

static void render(const struct kgb_offline_session *session, const char *text, const char *report,
		   struct kgb_buf *out)
{
	struct kgb_err err = KGB_ERR_INIT;
	/* Every text was rendered once when the script was loaded. */
	if (kgb_offline__render(session, text, report, out, &err) < 0)
		KGB_UNREACHABLE();
}

static bool expectation_met(const struct kgb_offline_turn *turn, const char *report)
{
	switch ((enum kgb_offline_expect)turn->expect) {
	case KGB_OFFLINE_EXPECT_PASSED:
		return kgb_offline__has_line(report, "PASSED");
	case KGB_OFFLINE_EXPECT_FAILED:
		return kgb_offline__has_line(report, "FAIL");
	case KGB_OFFLINE_EXPECT_ANY:
		return true;
	}
	KGB_UNREACHABLE();
}

static void decide(const struct kgb_offline_session *session, const struct kgb_offline_request *req,
		   struct kgb_offline_said *out)
{
	if (is_side_call(session, req)) {
		kgb_buf_adds(&out->say, "Offline script");
		return;
	}
	bool verify = session->variant == KGB_OFFLINE_VERIFY && req->shell;
	const struct kgb_offline_turns *turns = verify ? &session->verify : &session->oneshot;
	size_t next = verify ? (size_t)(req->own_turn + 1) : 0;
	out->turn = (int)(next < turns->n ? next : turns->n - 1);
	const struct kgb_offline_turn *turn = &turns->items[out->turn];
	if (!expectation_met(turn, req->report.ptr)) {
		render(session, turn->otherwise, req->report.ptr, &out->say);
		return;
	}
	render(session, turn->say, req->report.ptr, &out->say);
	out->describe = turn->describe;
	if (req->shell)
		kgb_offline__command(session, turn, &out->command);
}

/* ---- estimates of tokens ---- */

/* Bytes of text in a tree: keys, strings, and a little for each number or bracket. */
static int64_t weight(const cJSON *node)
{
	int64_t bytes = 0;
	for (; node; node = node->next) {
		bytes += 2 + (node->string ? (int64_t)strlen(node->string) : 0);
		if (cJSON_IsString(node))
			bytes += (int64_t)strlen(node->valuestring);
		else if (node->child)
			bytes += weight(node->child);
	}
	return bytes;
}

static int64_t weight_of(const cJSON *node)
{
	if (!node)
		return 0;
	if (cJSON_IsString(node))
		return (int64_t)strlen(node->valuestring);
	return weight(node->child);
}

static int64_t tokens(int64_t bytes)
{
	return (bytes + 3) / 4;
}

static void estimate_input(const struct kgb_offline_request *req, struct kgb_usage *usage)
{
	int64_t prefix = weight_of(kgb_json_get(req->root, "system")) +
			 weight_of(kgb_json_get(req->root, "tools"));
	int64_t seen = 0, since = 0, last = 0;
	int index = 0;
	const cJSON *message;
	cJSON_ArrayForEach(message, req->messages) {
		int64_t bytes = weight_of(message);
		if (!message->next)
			last = bytes;
		else if (index < req->own_message)
			seen += bytes;
		else
			since += bytes;
		index++;
	}
	/* The first request of a session writes system and tools into the cache, the later ones
	 * read them from there. */
	bool first = req->own_message < 0;
	usage->input = tokens(last);
	usage->cache_creation = tokens(since + (first ? prefix : 0));
	usage->cache_read = tokens(seen + (first ? 0 : prefix));
}

/* ---- interface ---- */

static void reply_error(struct kgb_offline_reply *out, const char *message)
{
	out->status = 400;
	out->content_type = "application/json";
	kgb_http_error_body(&out->body, kgb_http_error_type(400), message);
}

static void reply_answer(const struct kgb_offline_session *session,
			 const struct kgb_offline_request *req, struct kgb_offline_reply *out)
{
	struct kgb_offline_said said = {.say = KGB_BUF_INIT(0), .command = KGB_BUF_INIT(0)};
	unsigned char random[8];
	char hex[2 * sizeof(random) + 1];
	kgb_random(random, sizeof(random));
	kgb_hex(random, sizeof(random), hex);
	snprintf(said.message_id, sizeof(said.message_id), "msg_offline_%s", hex);
	decide(session, req, &said);
	estimate_input(req, &said.usage);
	said.usage.output = tokens((int64_t)(said.say.len + said.command.len));
	out->status = 200;
	out->content_type = req->streamed ? "text/event-stream; charset=utf-8" : "application/json";
	if (req->streamed)
		kgb_offline__write_stream(out, req, &said);
	else
		kgb_offline__write_json(out, req, &said);
	kgb_buf_release(&said.say);
	kgb_buf_release(&said.command);
}

void kgb_offline_answer(const struct kgb_offline_session *session, const char *body, size_t len,
			struct kgb_offline_reply *out)
{
	KGB_AUTO(json) cJSON *root = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(body, len, &root, &err) < 0) {
		reply_error(out, err.msg);
		return;
	}
	struct kgb_offline_request req = {.report = KGB_BUF_INIT(0)};
	const char *wrong = read_request(&req, root);
	if (wrong)
		reply_error(out, wrong);
	else
		reply_answer(session, &req, out);
	kgb_buf_release(&req.report);
}

void kgb_offline_count_tokens(const char *body, size_t len, struct kgb_offline_reply *out)
{
	KGB_AUTO(json) cJSON *root = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(body, len, &root, &err) < 0) {
		reply_error(out, err.msg);
		return;
	}
	int64_t bytes = weight_of(kgb_json_get(root, "system")) +
			weight_of(kgb_json_get(root, "tools")) +
			weight_of(kgb_json_get(root, "messages"));
	out->status = 200;
	out->content_type = "application/json";
	kgb_buf_addf(&out->body, "{\"input_tokens\":%" PRId64 "}", tokens(bytes));
}

void kgb_offline_models(struct kgb_offline_reply *out)
{
	out->status = 200;
	out->content_type = "application/json";
	kgb_buf_adds(&out->body,
		     "{\"data\":[{\"type\":\"model\",\"id\":\"" MODEL_ID
		     "\",\"display_name\":\"Built-in offline script\"}],\"has_more\":false,"
		     "\"first_id\":\"" MODEL_ID "\",\"last_id\":\"" MODEL_ID "\"}");
}

void kgb_offline_reply_release(struct kgb_offline_reply *reply)
{
	kgb_buf_release(&reply->body);
	kgb_free(reply->event_ends);
	reply->event_ends = NULL;
	reply->n_events = 0;
}
