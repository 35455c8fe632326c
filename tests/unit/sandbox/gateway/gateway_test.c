/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <strings.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/time.h"
#include "sandbox/gateway/session.h"
#include "sandbox/request/http.h"
#include "tests/helpers/loopback.h"

/* ---- the loop ---- */

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

void run_until(struct fixture *f, bool (*done)(const void *payload), const void *payload, int ms)
{
	int64_t deadline = kgb_mono_ms() + 20 * (int64_t)ms; /* a busy machine */
	while (!done(payload)) {
		if (kgb_mono_ms() > deadline)
			fail_msg("nothing happened for %d ms", 20 * ms);
		uv_run(&f->loop, UV_RUN_ONCE);
	}
}

void run_for(struct fixture *f, int ms)
{
	enum { TURNS = 100 }; /* at least: on a busy machine the time may pass without us */
	int64_t deadline = kgb_mono_ms() + ms;
	int n = 0;
	for (; kgb_mono_ms() < deadline; n++)
		uv_run(&f->loop, UV_RUN_ONCE);
	for (; n < TURNS; n++)
		uv_run(&f->loop, UV_RUN_NOWAIT);
}

/* ---- what the gateway tells ---- */

static void on_usage(void *payload, const struct kgb_totals *totals)
{
	(void)totals;
	((struct fixture *)payload)->n_usage++;
}

static void on_leave(void *payload, const struct kgb_totals *totals)
{
	struct fixture *f = payload;
	f->n_leaves++;
	f->most_unsure =
		totals->n_calls_unsure > f->most_unsure ? totals->n_calls_unsure : f->most_unsure;
}

static void on_budget(void *payload, const char *why)
{
	struct fixture *f = payload;
	f->n_refusals++;
	snprintf(f->why, sizeof(f->why), "%s", why);
}

static void on_hopeless(void *payload)
{
	struct fixture *f = payload;
	f->n_hopeless++;
}

static void on_miss(void *payload, const char *why)
{
	struct fixture *f = payload;
	f->n_misses++;
	snprintf(f->why, sizeof(f->why), "%s", why);
}

static void on_activity(void *payload)
{
	((struct fixture *)payload)->n_activity++;
}

static void on_exchange(void *payload, const struct kgb_exchange_summary *summary)
{
	struct fixture *f = payload;
	assert_true(f->n_summaries < MAX_SUMMARIES);
	struct summary *copy = &f->summaries[f->n_summaries++];
	copy->s = *summary;
	snprintf(copy->model, sizeof(copy->model), "%s", summary->model);
	snprintf(copy->message_id, sizeof(copy->message_id), "%s", summary->message_id);
	snprintf(copy->error, sizeof(copy->error), "%s", summary->error ? summary->error : "");
}

static void on_verify(void *payload, struct kgb_verify_request *req, const char *kernel, size_t len)
{
	struct fixture *f = payload;
	f->n_verify++;
	f->verify = req;
	kgb_free(f->kernel);
	f->kernel = kgb_xstrndup(kernel, len);
}

static void on_probe(void *payload, const char *what, const char *method, const char *path)
{
	struct fixture *f = payload;
	f->n_probes++;
	snprintf(f->probe, sizeof(f->probe), "%s %s %s", what, method, path);
}

/** No request of which the gateway has not counted that it left. */
static bool is_counted(const struct fixture *f)
{
	return f->has_more_sessions ||
	       f->n_model_calls <= f->totals.n_calls + f->totals.n_calls_unsure;
}

static void on_call(void *payload, struct fake_llm_call *call)
{
	struct fixture *f = payload;
	f->call = call;
	KGB_AUTO(free) char *path = kgb_xstrndup(call->path, strcspn(call->path, "?"));
	if (kgb_http_is_generation(kgb_http_endpoint(call->method, path)))
		f->n_model_calls++;
	const struct kgb_session *session = NULL;
	LIST_FOREACH(session, &f->gw->sessions, link)
	f->has_more_sessions = f->has_more_sessions || session != f->session;
	if (f->session)
		kgb_session_totals(f->session, &f->totals);
	assert_true(is_counted(f)); /* before it came here */
	if (f->behaviours && *f->behaviours)
		assert_true(fake_llm_behave(call, *f->behaviours++));
	else if (f->behaviour)
		assert_true(fake_llm_behave(call, f->behaviour));
}

/* ---- the fixture ---- */

static void start_gateway(struct fixture *f, const struct fixture_spec *spec)
{
	struct kgb_err err = KGB_ERR_INIT;
	char url[64];
	int fd;
	uint16_t upstream = fake_llm_port(f->llm);
	if (spec->without_upstream) {
		fake_llm_stop(f->llm);
		f->llm = NULL;
		run_for(f, 50);
	}
	snprintf(url, sizeof(url), "%s://127.0.0.1:%u/", spec->tls ? "https" : "http",
		 (unsigned)upstream);
	struct kgb_gateway_spec gateway = {.mode = spec->mode,
					   .allow_provider_tools = spec->allow_provider_tools,
					   .accounts.idle_timeout_ms = spec->idle_timeout_ms,
					   .accounts.max_answer_bytes = spec->max_answer_bytes,
					   .accounts.retry = spec->retry,
					   .accounts.max_concurrent = spec->max_concurrent,
					   .prices = spec->prices};
	/* Tests of retries say how many they want. */
	if (gateway.accounts.retry.max_tries == 0)
		gateway.accounts.retry.max_tries = 1;
	if (spec->mode == KGB_GATEWAY_LIVE) {
		gateway.accounts.by_provider[KGB_PROVIDER_ANTHROPIC] =
			(struct kgb_account_spec){url, TEST_KEY, spec->key_is_bearer};
		gateway.accounts.by_provider[KGB_PROVIDER_OPENAI] = (struct kgb_account_spec){
			url, spec->without_openai_key ? NULL : TEST_OPENAI_KEY, false};
	}
	assert_ok(kgb_gateway_new(&f->gw, &f->loop, &gateway, &err), err);
	assert_ok(listen_loopback(0, &fd, &f->port, &err), err);
	struct kgb_session_spec session = {
		.take_listen_fd = fd,
		.token = TEST_TOKEN,
		.model = spec->model,
		.traffic_dir = f->traffic,
		.offline = spec->offline,
		.protocols = spec->protocols,
		.cassette = spec->cassette,
		.budget = spec->budget,
		.max_exchanges = spec->max_exchanges,
		.callbacks = {.on_usage = on_usage,
			      .on_leave = on_leave,
			      .on_budget = on_budget,
			      .on_hopeless = on_hopeless,
			      .on_miss = on_miss,
			      .on_exchange = on_exchange,
			      .on_verify = spec->without_verify ? NULL : on_verify,
			      .on_probe = on_probe,
			      .on_activity = on_activity},
		.payload = f,
	};
	assert_ok(kgb_session_open(&f->session, f->gw, &session, &err), err);
}

struct fixture *fixture_new(const struct fixture_spec *spec)
{
	struct fixture *f = kgb_xcalloc(1, sizeof(*f));
	char dir[] = "/tmp/kgb-gateway-test-XXXXXX";
	assert_non_null(mkdtemp(dir));
	f->traffic = kgb_xstrdup(dir);
	f->behaviour = spec->behaviour;
	f->behaviours = spec->behaviours;
	assert_int_equal(uv_loop_init(&f->loop), 0);
	uv_timer_init(&f->loop, &f->tick);
	uv_timer_start(&f->tick, on_tick, 10, 10);
	f->llm = fake_llm_start(&f->loop, on_call, f);
	start_gateway(f, spec);
	return f;
}

static void on_session_closed(void *payload, const struct kgb_totals *totals)
{
	struct fixture *f = payload;
	assert_false(f->session_closed);
	f->session_closed = true;
	f->totals = *totals;
}

static void on_gateway_closed(void *payload)
{
	struct fixture *f = payload;
	assert_false(f->gateway_closed);
	f->gateway_closed = true;
}

static bool is_session_closed(const void *payload)
{
	return ((const struct fixture *)payload)->session_closed;
}

static bool is_gateway_closed(const void *payload)
{
	return ((const struct fixture *)payload)->gateway_closed;
}

void fixture_close_session(struct fixture *f)
{
	kgb_session_close(KGB_TAKE(f->session), on_session_closed, f);
	run_until(f, is_session_closed, f, 2000);
}

/** What the gateway counts as sent has come here. */
static bool has_all_calls(const void *payload)
{
	const struct fixture *f = payload;
	return f->has_more_sessions || f->n_model_calls >= f->totals.n_calls;
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	assert_non_null(dir);
	int n = 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/** ThreadSanitizer of clang talks to a process that names the functions of a report; the pipes to
 * it stay open. */
static void start_symbolizer(void)
{
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
	char name[64];
	__sanitizer_symbolize_pc(__builtin_return_address(0), "%f", name, sizeof(name));
#endif
#endif
}

void fixture_free(struct fixture *f)
{
	/* What libraries keep open for good is there after the first fixture. */
	static int n_descriptors;
	struct kgb_err err = KGB_ERR_INIT;
	if (f->session)
		fixture_close_session(f);
	kgb_gateway_close(f->gw, on_gateway_closed, f);
	run_until(f, is_gateway_closed, f, 2000);
	if (f->llm) {
		run_until(f, has_all_calls, f, 2000);
		assert_true(is_counted(f));
		fake_llm_stop(f->llm);
	}
	uv_close((uv_handle_t *)&f->tick, NULL);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	if (n_descriptors == 0) {
		start_symbolizer();
		n_descriptors = count_descriptors();
	}
	assert_int_equal(count_descriptors(), n_descriptors);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, f->traffic, &err), err);
	kgb_free(f->traffic);
	kgb_free(f->kernel);
	kgb_free(f);
}

/* ---- the client ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	(void)handle;
	*out = uv_buf_init(kgb_xmalloc(suggested), (unsigned)suggested);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct client *c = stream->data;
	if (n > 0)
		kgb_buf_add(&c->in, buf->base, (size_t)n);
	kgb_free(buf->base);
	if (n == UV_EOF)
		c->eof = true;
	else if (n < 0)
		c->error = (int)n;
	if (n < 0)
		uv_read_stop(stream);
}

static void on_connected(uv_connect_t *req, int status)
{
	struct client *c = req->data;
	assert_int_equal(status, 0);
	uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

void client_pause(struct client *c)
{
	uv_read_stop((uv_stream_t *)&c->tcp);
}

void client_resume(struct client *c)
{
	uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

void client_open(struct client *c, struct fixture *f)
{
	struct sockaddr_in address;
	*c = (struct client){.f = f, .in = KGB_BUF_INIT(0)};
	assert_int_equal(uv_ip4_addr("127.0.0.1", f->port, &address), 0);
	uv_tcp_init(&f->loop, &c->tcp);
	c->tcp.data = c->connect.data = c;
	assert_int_equal(uv_tcp_connect(&c->connect, &c->tcp, (const struct sockaddr *)&address,
					on_connected),
			 0);
}

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

void client_send(struct client *c, const char *bytes, size_t len)
{
	struct out *out = kgb_xcalloc(1, sizeof(*out));
	out->req.data = out;
	out->bytes = kgb_xmalloc(len + 1);
	memcpy(out->bytes, bytes, len);
	uv_buf_t buf = uv_buf_init(out->bytes, (unsigned)len);
	assert_int_equal(uv_write(&out->req, (uv_stream_t *)&c->tcp, &buf, 1, on_written), 0);
}

void client_request(struct client *c, const char *method, const char *path, const char *headers,
		    const char *body, size_t len)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_buf_addf(&text, "%s %s HTTP/1.1\r\nhost: x\r\n%scontent-length: %zu\r\n\r\n", method,
		     path, headers, len);
	kgb_buf_add(&text, body, len);
	client_send(c, text.ptr, text.len);
}

void client_ask(struct client *c, const char *body)
{
	client_request(c, "POST", "/v1/messages?beta=true",
		       AUTH "content-type: application/json\r\nanthropic-version: 2023-06-01\r\n",
		       body, strlen(body));
}

static void on_client_closed(uv_handle_t *handle)
{
	((struct client *)handle->data)->closed = true;
}

static bool is_client_closed(const void *payload)
{
	return ((const struct client *)payload)->closed;
}

void client_close(struct client *c)
{
	uv_close((uv_handle_t *)&c->tcp, on_client_closed);
	run_until(c->f, is_client_closed, c, 1000);
	kgb_buf_release(&c->in);
}

struct wish {
	const struct client *client;
	const char *text; /* NULL: the end */
};

static bool is_granted(const void *payload)
{
	const struct wish *wish = payload;
	const struct client *c = wish->client;
	if (c->eof || c->error)
		return true;
	return wish->text && c->in.len > 0 &&
	       memmem(c->in.ptr, c->in.len, wish->text, strlen(wish->text));
}

void client_wait(struct client *c, const char *text)
{
	struct wish wish = {.client = c, .text = text};
	run_until(c->f, is_granted, &wish, 5000);
	if (!memmem(c->in.ptr, c->in.len, text, strlen(text)))
		fail_msg("the connection ended without '%s'", text);
}

void client_wait_end(struct client *c)
{
	struct wish wish = {.client = c};
	run_until(c->f, is_granted, &wish, 5000);
}

static size_t decimal(const char *p)
{
	size_t value = 0;
	while (*p == ' ')
		p++;
	for (; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (size_t)(*p - '0');
	return value;
}

int client_status(const struct client *c)
{
	assert_true(c->in.len > 12);
	return (int)decimal(c->in.ptr + strlen("HTTP/1.1 "));
}

static size_t hexadecimal(const char *p, const char **end)
{
	static const char digits[] = "0123456789abcdef";
	size_t value = 0;
	const char *d;
	for (; *p && (d = strchr(digits, *p | 0x20)); p++)
		value = value * 16 + (size_t)(d - digits);
	*end = p;
	return value;
}

char *client_body(const struct client *c, bool *complete)
{
	struct kgb_buf out = KGB_BUF_INIT(0);
	const char *end = c->in.ptr + c->in.len;
	const char *at = strstr(c->in.ptr, "\r\n\r\n");
	assert_non_null(at);
	KGB_AUTO(free) char *head = kgb_xstrndup(c->in.ptr, (size_t)(at - c->in.ptr));
	at += 4;
	*complete = false;
	if (!strcasestr(head, "transfer-encoding: chunked")) {
		const char *length = strcasestr(head, "content-length:");
		assert_non_null(length);
		kgb_buf_add(&out, at, (size_t)(end - at));
		*complete = out.len == decimal(length + strlen("content-length:"));
		return kgb_buf_take(&out);
	}
	while (at < end) {
		const char *data;
		size_t n = hexadecimal(at, &data);
		data += 2;
		if (n == 0) {
			*complete = true;
			break;
		}
		if ((size_t)(end - data) < n)
			break;
		kgb_buf_add(&out, data, n);
		at = data + n + 2;
	}
	return kgb_buf_take(&out);
}

/* ---- what tests of the relay ask again and again ---- */

bool has_summary(const void *payload)
{
	return ((const struct fixture *)payload)->n_summaries > 0;
}

bool has_call(const void *payload)
{
	return ((const struct fixture *)payload)->call != NULL;
}

const struct summary *wait_summary(struct fixture *f)
{
	run_until(f, has_summary, f, 5000);
	return &f->summaries[f->n_summaries - 1];
}

void ask_once(struct fixture *f, struct client *c)
{
	client_open(c, f);
	client_request(c, "POST", "/v1/messages?beta=true",
		       AUTH "content-type: application/json\r\nconnection: close\r\n", BODY,
		       strlen(BODY));
	client_wait_end(c);
}

void assert_usage(const struct kgb_usage *usage, int64_t input, int64_t output, int64_t creation,
		  int64_t read)
{
	assert_int_equal(usage->input, input);
	assert_int_equal(usage->output, output);
	assert_int_equal(usage->cache_creation, creation);
	assert_int_equal(usage->cache_read, read);
}

/* ---- the record ---- */

char *traffic_read(const struct fixture *f, const char *name)
{
	KGB_AUTO(free) char *path = kgb_path_join(f->traffic, name);
	struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_fs_read(AT_FDCWD, path, (size_t)64 << 20, &text, &err), err);
	return kgb_buf_take(&text);
}

static int count_files(const struct fixture *f, const char *text)
{
	DIR *dir = opendir(f->traffic);
	assert_non_null(dir);
	int n = 0;
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		KGB_AUTO(free) char *content = traffic_read(f, entry->d_name);
		if (!text || strstr(content, text))
			n++;
	}
	closedir(dir);
	return n;
}

int traffic_holding(const struct fixture *f, const char *text)
{
	return count_files(f, text);
}

int traffic_files(const struct fixture *f)
{
	return count_files(f, NULL);
}
