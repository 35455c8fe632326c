/* SPDX-License-Identifier: MIT */
#include "tests/helpers/fake_llm.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"

struct fake_llm {
	uv_loop_t *loop;
	uv_tcp_t server;
	uint16_t port;
	fake_llm_fn fn;
	void *payload;
	struct fake_llm_call *calls;
	int n_calls;
	int open;
};

static void on_handle_gone(struct fake_llm *llm)
{
	if (--llm->open > 0)
		return;
	for (struct fake_llm_call *call = llm->calls, *next; call; call = next) {
		next = call->next;
		kgb_buf_release(&call->in);
		kgb_free(call);
	}
	kgb_free(llm);
}

static void on_call_closed(uv_handle_t *handle)
{
	struct fake_llm_call *call = handle->data;
	on_handle_gone(call->llm);
}

static void on_server_closed(uv_handle_t *handle)
{
	on_handle_gone(handle->data);
}

static void drop(struct fake_llm_call *call)
{
	call->gone = true;
	if (!uv_is_closing((uv_handle_t *)&call->tcp))
		uv_close((uv_handle_t *)&call->tcp, on_call_closed);
}

/* ---- requests ---- */

static size_t content_length(const char *head)
{
	const char *line = strcasestr(head, "\r\ncontent-length:");
	size_t value = 0;
	if (!line)
		return 0;
	for (line += strlen("\r\ncontent-length:"); *line == ' '; line++) {
	}
	for (; *line >= '0' && *line <= '9'; line++)
		value = value * 10 + (size_t)(*line - '0');
	return value;
}

static void split(struct fake_llm_call *call, char *end)
{
	*end = '\0';
	call->method = call->in.ptr;
	char *blank = strchr(call->in.ptr, ' ');
	KGB_ASSERT(blank);
	*blank = '\0';
	call->path = blank + 1;
	blank = strchr(blank + 1, ' ');
	KGB_ASSERT(blank);
	*blank = '\0';
	call->head = blank + 1;
	call->body = end + 4;
}

static void look(struct fake_llm_call *call)
{
	char *end = call->told ? NULL : strstr(call->in.ptr, "\r\n\r\n");
	if (!end)
		return;
	size_t wanted = content_length(call->in.ptr);
	size_t have = call->in.len - (size_t)(end + 4 - call->in.ptr);
	if (have < wanted)
		return;
	call->told = true;
	call->body_len = wanted;
	call->llm->n_calls++;
	split(call, end);
	call->llm->fn(call->llm->payload, call);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	(void)handle;
	*out = uv_buf_init(kgb_xmalloc(suggested), (unsigned)suggested);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct fake_llm_call *call = stream->data;
	if (n > 0)
		kgb_buf_add(&call->in, buf->base, (size_t)n);
	kgb_free(buf->base);
	if (n > 0 && call->in.ptr[0] == '\x16') {
		/* A TLS client: what servers without TLS say to it. */
		fake_llm_sends(call, "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
		fake_llm_cut(call, false);
	} else if (n < 0)
		drop(call);
	else
		look(call);
}

static void on_connection(uv_stream_t *server, int status)
{
	struct fake_llm *llm = server->data;
	if (status < 0)
		return;
	struct fake_llm_call *call = kgb_xcalloc(1, sizeof(*call));
	call->llm = llm;
	call->in = (struct kgb_buf)KGB_BUF_INIT(0);
	call->next = llm->calls;
	llm->calls = call;
	uv_tcp_init(llm->loop, &call->tcp);
	call->tcp.data = call;
	llm->open++;
	KGB_ASSERT(uv_accept(server, (uv_stream_t *)&call->tcp) == 0);
	uv_tcp_nodelay(&call->tcp, 1);
	uv_read_start((uv_stream_t *)&call->tcp, on_alloc, on_read);
}

struct fake_llm *fake_llm_start(uv_loop_t *loop, fake_llm_fn fn, void *payload)
{
	struct fake_llm *llm = kgb_xcalloc(1, sizeof(*llm));
	struct sockaddr_in address;
	int len = sizeof(address);
	llm->loop = loop;
	llm->fn = fn;
	llm->payload = payload;
	llm->open = 1;
	uv_tcp_init(loop, &llm->server);
	llm->server.data = llm;
	KGB_ASSERT(uv_ip4_addr("127.0.0.1", 0, &address) == 0);
	KGB_ASSERT(uv_tcp_bind(&llm->server, (const struct sockaddr *)&address, 0) == 0);
	KGB_ASSERT(uv_listen((uv_stream_t *)&llm->server, 128, on_connection) == 0);
	KGB_ASSERT(uv_tcp_getsockname(&llm->server, (struct sockaddr *)&address, &len) == 0);
	llm->port = ntohs(address.sin_port);
	return llm;
}

uint16_t fake_llm_port(const struct fake_llm *llm)
{
	return llm->port;
}

int fake_llm_calls(const struct fake_llm *llm)
{
	return llm->n_calls;
}

void fake_llm_stop(struct fake_llm *llm)
{
	for (struct fake_llm_call *call = llm->calls; call; call = call->next)
		drop(call);
	uv_close((uv_handle_t *)&llm->server, on_server_closed);
}

char *fake_llm_header(const struct fake_llm_call *call, const char *name)
{
	KGB_AUTO(free) char *wanted = kgb_xasprintf("\r\n%s:", name);
	const char *line = strcasestr(call->head, wanted);
	if (!line)
		return NULL;
	line += strlen(wanted);
	line += strspn(line, " ");
	return kgb_xstrndup(line, strcspn(line, "\r"));
}

/* ---- answers ---- */

struct out {
	uv_write_t req;
	char *bytes;
};

static void on_written(uv_write_t *req, int status)
{
	(void)status;
	struct out *out = req->data;
	kgb_free(out->bytes);
	kgb_free(out);
}

void fake_llm_send(struct fake_llm_call *call, const char *bytes, size_t len)
{
	if (call->gone)
		return;
	struct out *out = kgb_xcalloc(1, sizeof(*out));
	out->req.data = out;
	out->bytes = kgb_xstrndup("", 0);
	out->bytes = kgb_xreallocarray(out->bytes, len + 1, 1);
	memcpy(out->bytes, bytes, len);
	uv_buf_t buf = uv_buf_init(out->bytes, (unsigned)len);
	if (uv_write(&out->req, (uv_stream_t *)&call->tcp, &buf, 1, on_written) < 0)
		on_written(&out->req, 0);
}

void fake_llm_sends(struct fake_llm_call *call, const char *text)
{
	fake_llm_send(call, text, strlen(text));
}

void fake_llm_stream_head(struct fake_llm_call *call)
{
	fake_llm_sends(call,
		       "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
		       "request-id: req_1\r\ntransfer-encoding: chunked\r\nx-internal: no\r\n\r\n");
}

void fake_llm_chunk(struct fake_llm_call *call, const char *bytes, size_t len)
{
	KGB_AUTO(buf) struct kgb_buf chunk = KGB_BUF_INIT(0);
	kgb_buf_addf(&chunk, "%zx\r\n", len);
	kgb_buf_add(&chunk, bytes, len);
	kgb_buf_adds(&chunk, "\r\n");
	fake_llm_send(call, chunk.ptr, chunk.len);
}

void fake_llm_stream_end(struct fake_llm_call *call)
{
	fake_llm_sends(call, "0\r\n\r\n");
	/* The connection may carry the next request. */
	call->told = false;
	kgb_buf_clear(&call->in);
}

void fake_llm_reply(struct fake_llm_call *call, int status, const char *headers, const char *body)
{
	KGB_AUTO(free)
	char *text = kgb_xasprintf(
		"HTTP/1.1 %d X\r\ncontent-type: application/json\r\n%scontent-length: %zu\r\n\r\n%s",
		status, headers, strlen(body), body);
	fake_llm_sends(call, text);
	call->told = false;
	kgb_buf_clear(&call->in);
}

void fake_llm_cut(struct fake_llm_call *call, bool reset)
{
	if (call->gone)
		return;
	call->gone = true;
	if (reset)
		uv_tcp_close_reset(&call->tcp, on_call_closed);
	else
		uv_close((uv_handle_t *)&call->tcp, on_call_closed);
}

/* ---- behaviours ---- */

static void stream(struct fake_llm_call *call, const char *events)
{
	fake_llm_stream_head(call);
	fake_llm_chunk(call, events, strlen(events));
}

static void be_ok(struct fake_llm_call *call)
{
	stream(call, FAKE_LLM_MESSAGE("msg_ok"));
	fake_llm_stream_end(call);
}

static void be_early_hints(struct fake_llm_call *call)
{
	fake_llm_sends(call, "HTTP/1.1 103 Early Hints\r\nretry-after: 9\r\nlink: </x>\r\n\r\n");
	be_ok(call);
}

static void be_json(struct fake_llm_call *call)
{
	fake_llm_reply(
		call, 200, "",
		"{\"id\":\"msg_json\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m-1\","
		"\"content\":[{\"type\":\"text\",\"text\":\"hello\"}],"
		"\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":10,\"output_tokens\":20,"
		"\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":30}}");
}

static void be_bytewise(struct fake_llm_call *call)
{
	fake_llm_stream_head(call);
	for (const char *p = FAKE_LLM_MESSAGE("msg_bytes"); *p; p++)
		fake_llm_chunk(call, p, 1);
	fake_llm_stream_end(call);
}

static void be_429(struct fake_llm_call *call)
{
	fake_llm_reply(
		call, 429,
		"retry-after: 7\r\nx-should-retry: true\r\nanthropic-ratelimit-requests-remaining: 0\r\n",
		"{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}");
}

static void be_500(struct fake_llm_call *call)
{
	fake_llm_reply(
		call, 500, "",
		"{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"oops\"}}");
}

static void be_error(struct fake_llm_call *call, int status, const char *headers, const char *type)
{
	KGB_AUTO(free)
	char *body = kgb_xasprintf(
		"{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"as asked\"}}", type);
	fake_llm_reply(call, status, headers, body);
}

static void be_429_soon(struct fake_llm_call *call)
{
	be_error(call, 429, "retry-after: 1\r\n", "rate_limit_error");
}

static void be_429_plain(struct fake_llm_call *call)
{
	be_error(call, 429, "", "rate_limit_error");
}

static void be_529(struct fake_llm_call *call)
{
	be_error(call, 529, "", "overloaded_error");
}

static void be_401(struct fake_llm_call *call)
{
	be_error(call, 401, "", "authentication_error");
}

static void be_402(struct fake_llm_call *call)
{
	be_error(call, 402, "", "billing_error");
}

static void be_403(struct fake_llm_call *call)
{
	be_error(call, 403, "", "permission_error");
}

static void be_404(struct fake_llm_call *call)
{
	be_error(call, 404, "", "not_found_error");
}

static void be_unique(struct fake_llm_call *call)
{
	KGB_AUTO(free)
	char *body = kgb_xasprintf(
		"{\"id\":\"msg_%d\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m-1\",\"content\":[],"
		"\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":10,\"output_tokens\":20,"
		"\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":30}}",
		fake_llm_calls(call->llm));
	fake_llm_reply(call, 200, "", body);
}

static void be_malformed(struct fake_llm_call *call)
{
	stream(call,
	       FAKE_LLM_START(
		       "msg_bad") "event: message_delta\ndata: {\"type\":\"message_delta\",,,\n\n" FAKE_LLM_STOP);
	fake_llm_stream_end(call);
}

static void be_cut(struct fake_llm_call *call)
{
	stream(call, FAKE_LLM_START("msg_cut") FAKE_LLM_TEXT);
	fake_llm_cut(call, false);
}

static void be_no_stop(struct fake_llm_call *call)
{
	stream(call, FAKE_LLM_START("msg_nostop") FAKE_LLM_TEXT FAKE_LLM_DELTA);
	fake_llm_stream_end(call);
}

static void be_error_event(struct fake_llm_call *call)
{
	stream(call,
	       FAKE_LLM_START(
		       "msg_err") "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
				  "\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n");
	fake_llm_stream_end(call);
}

static void be_gzip(struct fake_llm_call *call)
{
	/* {"id":"msg_gzip","model":"m-1","usage":{...}} with the counts of FAKE_LLM_MESSAGE */
	static const unsigned char body[] = {
		0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x65, 0x8a, 0x49, 0x0a,
		0x80, 0x20, 0x14, 0x86, 0xef, 0xf2, 0xaf, 0x0b, 0x2c, 0x68, 0xe3, 0x65, 0x44, 0xf4,
		0x61, 0x52, 0x0e, 0xe4, 0x73, 0x53, 0x74, 0xf7, 0x86, 0x45, 0x44, 0x2d, 0xbf, 0x61,
		0x83, 0xb7, 0x90, 0x08, 0xc5, 0x29, 0xb7, 0xfa, 0x8c, 0x06, 0x21, 0x59, 0x9a, 0x2f,
		0xd5, 0x76, 0x27, 0xd5, 0xa2, 0x1d, 0x41, 0x6e, 0xf0, 0x31, 0x57, 0x56, 0x9c, 0x26,
		0x8a, 0x05, 0xb2, 0x13, 0xa2, 0x81, 0xd1, 0x66, 0x24, 0x65, 0x16, 0xd2, 0xec, 0x53,
		0x54, 0xbf, 0xe3, 0x59, 0xce, 0xc3, 0x7e, 0x72, 0x7f, 0xe7, 0x54, 0xf9, 0x2d, 0x07,
		0xb1, 0xef, 0x07, 0x08, 0x57, 0xbc, 0xfc, 0x91, 0x00, 0x00, 0x00,
	};
	fake_llm_sends(call, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
			     "content-encoding: gzip\r\nconnection: close\r\n\r\n");
	fake_llm_send(call, (const char *)body, sizeof(body));
	fake_llm_cut(call, false);
}

static void be_null_usage(struct fake_llm_call *call)
{
	fake_llm_reply(
		call, 200, "",
		"{\"id\":\"msg_null\",\"model\":\"m-1\",\"usage\":{\"input_tokens\":10,\"output_tokens\":20,"
		"\"cache_creation_input_tokens\":null}}");
}

static void be_stall(struct fake_llm_call *call)
{
	stream(call, FAKE_LLM_START("msg_stall"));
}

static void be_silent(struct fake_llm_call *call)
{
	(void)call;
}

static void be_refuse(struct fake_llm_call *call)
{
	fake_llm_cut(call, true);
}

const char *const fake_llm_behaviours[] = {
	"ok",        "early_hints", "json",    "bytewise",    "429",       "500",
	"malformed", "cut",         "no_stop", "error_event", "gzip",      "null_usage",
	"stall",     "silent",      "refuse",  "429_soon",    "429_plain", "529",
	"401",       "402",         "403",     "404",         "unique",    NULL};
static void (*const behaviours[])(struct fake_llm_call *) = {
	be_ok,        be_early_hints, be_json,    be_bytewise,    be_429,       be_500,
	be_malformed, be_cut,         be_no_stop, be_error_event, be_gzip,      be_null_usage,
	be_stall,     be_silent,      be_refuse,  be_429_soon,    be_429_plain, be_529,
	be_401,       be_402,         be_403,     be_404,         be_unique};

bool fake_llm_behave(struct fake_llm_call *call, const char *behaviour)
{
	for (size_t i = 0; fake_llm_behaviours[i]; i++) {
		if (strcmp(fake_llm_behaviours[i], behaviour) == 0) {
			behaviours[i](call);
			return true;
		}
	}
	return false;
}
