/* SPDX-License-Identifier: MIT */
#include "sandbox/offline/offline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/formats/json.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/offline/offline_script.h"
#include "sandbox/offline/offline_wire.h"
#include "sandbox/request/http.h"

#define MODEL_ID "kgb-offline-script"

static const struct kgb_offline_wire *const wires[KGB_N_PROTOCOLS] = {
	[KGB_PROTOCOL_ANTHROPIC] = &kgb_offline__messages,
	[KGB_PROTOCOL_CHAT] = &kgb_offline__chat,
	[KGB_PROTOCOL_RESPONSES] = &kgb_offline__responses,
};

/* ---- choice of the answer ---- */

static bool contains_nocase(const char *text, const char *word)
{
	size_t len = strlen(word);
	for (; *text; text++)
		if (strncasecmp(text, word, len) == 0)
			return true;
	return false;
}

/* Bytes of instructions that separate a session from a side call: a CLI's instructions are tens of
 * kilobytes, those of a side call one paragraph. */
#define SIDE_CALL_SYSTEM_BYTES 4096

/* Calls that a CLI makes for itself (a title for the session, ...) carry no tools. The text of the
 * request distinguishes them from a session without tools. */
static bool is_side_call(const struct kgb_offline_session *session,
			 const struct kgb_offline_request *req)
{
	if (req->has_tools)
		return false;
	if (session->variant == KGB_OFFLINE_SAMPLE)
		return false;
	if (session->variant != KGB_OFFLINE_ONESHOT)
		return true;
	return req->own_words.len < SIDE_CALL_SYSTEM_BYTES &&
	       contains_nocase(req->own_words.ptr, "title");
}

static void render(const struct kgb_offline_session *session, const char *text, const char *report,
		   struct kgb_buf *out)
{
	/* Every text was rendered once when the script was loaded. */
	const struct kgb_offline_quoted quoted = {.report = report};
	if (kgb_offline__render(session, text, &quoted, out, NULL) < 0)
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

/* The command of the last turn still runs: Codex hands out a number to ask for it again. */
static int64_t running_session(const struct kgb_offline_request *req)
{
	static const char mark[] = "running with session ID ";
	const char *at = req->poll ? strstr(req->report.ptr, mark) : NULL;
	int64_t session = -1;
	if (!at)
		return -1;
	at += sizeof(mark) - 1;
	KGB_AUTO(free) char *number = kgb_xstrndup(at, strspn(at, "0123456789"));
	return kgb_parse_i64(number, 0, INT32_MAX, &session, NULL) < 0 ? -1 : session;
}

/** The input that selects a sample. */
static char *seed_of(const struct kgb_offline_session *session,
		     const struct kgb_offline_request *req)
{
	const cJSON *text = kgb_json_get(req->root, "metadata");
	return kgb_xasprintf("%s %" PRId64 " %s", session->operator_name,
			     kgb_json_i64(req->root, "seed", -1),
			     text && cJSON_IsString(text->child) ? text->child->valuestring : "");
}

static void decide(const struct kgb_offline_session *session, const struct kgb_offline_request *req,
		   struct kgb_offline_said *out)
{
	if (is_side_call(session, req)) {
		kgb_buf_adds(&out->say, "Offline script");
		return;
	}
	if (session->variant == KGB_OFFLINE_SAMPLE) {
		KGB_AUTO(free) char *seed = seed_of(session, req);
		out->is_cut = kgb_offline__say_sample(session, seed, &out->say);
		return;
	}
	bool works = session->variant != KGB_OFFLINE_ONESHOT && req->shell;
	const bool has_drawn = kgb_offline_kernel(session, KGB_OFFLINE_DRAWN) != NULL;
	if (session->seed && !(works && has_drawn)) {
		/* Do not mark the answer as cut: a CLI would ask for its rest. */
		kgb_offline__say_sample(session, session->seed, &out->say);
		return;
	}
	const struct kgb_offline_turns *turns = !works          ? &session->oneshot
						: session->seed ? &session->drawn
						: session->variant == KGB_OFFLINE_AGAIN
							? &session->again
							: &session->verify;
	size_t next = works ? (size_t)(req->own_turn + 1) : 0;
	if (works && req->own_turn >= 0 && (out->poll_session = running_session(req)) >= 0) {
		out->turn = req->own_turn;
		kgb_buf_adds(&out->say, "It is still running; I wait.");
		return;
	}
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

static void estimate_input(const struct kgb_offline_request *req, enum kgb_protocol protocol,
			   struct kgb_usage *usage)
{
	int64_t prefix = weight_of(kgb_json_get(req->root, "system")) +
			 weight_of(kgb_json_get(req->root, "instructions")) +
			 weight_of(kgb_json_get(req->root, "tools"));
	int64_t seen = 0, since = 0, last = 0;
	/* The first request of a session writes system and tools into the cache, the later ones
	 * read them from there. */
	bool first = !req->own_message, before = !first;
	const cJSON *message;
	cJSON_ArrayForEach(message, req->conversation) {
		int64_t bytes = weight_of(message);
		before = before && message != req->own_message;
		if (!message->next)
			last = bytes;
		else if (before)
			seen += bytes;
		else
			since += bytes;
	}
	usage->input = tokens(last);
	usage->cache_creation = tokens(since + (first ? prefix : 0));
	usage->cache_read = tokens(seen + (first ? 0 : prefix));
	if (protocol == KGB_PROTOCOL_ANTHROPIC)
		return;
	/* The other protocols do not report tokens written to the cache. */
	usage->input += usage->cache_creation;
	usage->cache_creation = 0;
}

/* ---- interface ---- */

static void reply_error(struct kgb_offline_reply *out, enum kgb_protocol protocol,
			const char *message)
{
	out->status = 400;
	out->content_type = "application/json";
	kgb_http_error_body(&out->body, protocol, 400, message);
}

static void reply_answer(const struct kgb_offline_session *session, enum kgb_protocol protocol,
			 const struct kgb_offline_request *req, struct kgb_offline_reply *out)
{
	struct kgb_offline_said said = {
		.say = KGB_BUF_INIT(0),
		.command = KGB_BUF_INIT(0),
		.input = KGB_BUF_INIT(0),
		.poll_session = -1,
	};
	unsigned char random[8];
	kgb_random(random, sizeof(random));
	kgb_hex(random, sizeof(random), said.id); /* 16 digits */
	decide(session, req, &said);
	kgb_offline__prepare_call(req, &said);
	estimate_input(req, protocol, &said.usage);
	said.usage.output = tokens((int64_t)(said.say.len + said.command.len));
	out->status = 200;
	out->content_type = req->streamed ? "text/event-stream; charset=utf-8" : "application/json";
	if (req->streamed)
		wires[protocol]->write_stream(out, req, &said);
	else
		wires[protocol]->write_json(out, req, &said);
	kgb_buf_release(&said.say);
	kgb_buf_release(&said.command);
	kgb_buf_release(&said.input);
}

static const char *read_request(struct kgb_offline_request *req, enum kgb_protocol protocol)
{
	if (!cJSON_IsObject(req->root))
		return "the request is not a JSON object";
	if (!*kgb_json_str(req->root, "model", ""))
		return "model: field required";
	return wires[protocol]->read(req);
}

void kgb_offline_answer(const struct kgb_offline_session *session, enum kgb_protocol protocol,
			const char *body, size_t len, struct kgb_offline_reply *out)
{
	KGB_AUTO(json) cJSON *root = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(body, len, &root, &err) < 0) {
		reply_error(out, protocol, err.msg);
		return;
	}
	struct kgb_offline_request req = {
		.root = root, .own_words = KGB_BUF_INIT(0), .report = KGB_BUF_INIT(0)};
	const char *wrong = read_request(&req, protocol);
	if (wrong)
		reply_error(out, protocol, wrong);
	else
		reply_answer(session, protocol, &req, out);
	kgb_buf_release(&req.own_words);
	kgb_buf_release(&req.report);
}

void kgb_offline_count_tokens(const char *body, size_t len, struct kgb_offline_reply *out)
{
	KGB_AUTO(json) cJSON *root = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(body, len, &root, &err) < 0) {
		reply_error(out, KGB_PROTOCOL_ANTHROPIC, err.msg);
		return;
	}
	int64_t bytes = weight_of(kgb_json_get(root, "system")) +
			weight_of(kgb_json_get(root, "tools")) +
			weight_of(kgb_json_get(root, "messages"));
	out->status = 200;
	out->content_type = "application/json";
	kgb_buf_addf(&out->body, "{\"input_tokens\":%" PRId64 "}", tokens(bytes));
}

void kgb_offline_models(enum kgb_protocol protocol, struct kgb_offline_reply *out)
{
	out->status = 200;
	out->content_type = "application/json";
	if (protocol == KGB_PROTOCOL_ANTHROPIC)
		kgb_buf_adds(&out->body,
			     "{\"data\":[{\"type\":\"model\",\"id\":\"" MODEL_ID
			     "\",\"display_name\":\"Built-in offline script\"}],\"has_more\":false,"
			     "\"first_id\":\"" MODEL_ID "\",\"last_id\":\"" MODEL_ID "\"}");
	else
		kgb_buf_adds(&out->body, "{\"object\":\"list\",\"data\":[{\"id\":\"" MODEL_ID
					 "\",\"object\":\"model\",\"owned_by\":\"kgb-agent\"}]}");
}

void kgb_offline_reply_release(struct kgb_offline_reply *reply)
{
	kgb_buf_release(&reply->body);
	KGB_VEC_RELEASE(&reply->event_ends);
}
