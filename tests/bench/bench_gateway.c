/* SPDX-License-Identifier: MIT */
/** \file
 * What the gateway costs: latency that it adds to one request (the same client against the same
 * fake API, with and without it in between, interleaved), and how fast it relays one stream and 64
 * streams. Upstream, gateway and clients each have threads or processes of their own.
 *
 *     bench_gateway [REQUESTS] [MIB]      default 2000 requests, 256 MiB a throughput run
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/gateway/gateway.h"
#include "tests/helpers/fake_llm.h"

#define TOKEN "tok-0123456789abcdef"
#define BODY_BYTES 87000 /* first request of a real CLI */
#define CHUNK_BYTES 16384
#define MAX_STREAMS 64

/* ---- the fake API, a process of its own ---- */

static void on_call(void *payload, struct fake_llm_call *call)
{
	(void)payload;
	const char *mib = strstr(call->path, "mib=");
	if (!mib) {
		fake_llm_behave(call, "json");
		return;
	}
	int64_t wanted;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_parse_i64(mib + 4, 1, 1 << 20, &wanted, &err) < 0)
		return;
	static char chunk[CHUNK_BYTES];
	static const char event[] =
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
		"\"delta\":{\"type\":\"text_delta\",\"text\":\"................\"}}\n\n";
	size_t len = 0;
	for (; len + sizeof(event) <= sizeof(chunk); len += sizeof(event) - 1)
		memcpy(chunk + len, event, sizeof(event) - 1);
	fake_llm_stream_head(call);
	for (int64_t sent = 0; sent < wanted << 20; sent += (int64_t)len)
		fake_llm_chunk(call, chunk, len);
	fake_llm_chunk(call, FAKE_LLM_MESSAGE("msg"), strlen(FAKE_LLM_MESSAGE("msg")));
	fake_llm_stream_end(call);
}

static pid_t start_upstream(uint16_t *port)
{
	int pipe_fds[2];
	KGB_ASSERT(pipe(pipe_fds) == 0);
	pid_t pid = fork();
	KGB_ASSERT(pid >= 0);
	if (pid == 0) {
		uv_loop_t loop;
		uv_loop_init(&loop);
		uint16_t own = fake_llm_port(fake_llm_start(&loop, on_call, NULL));
		KGB_ASSERT(write(pipe_fds[1], &own, sizeof(own)) == sizeof(own));
		uv_run(&loop, UV_RUN_DEFAULT);
		_exit(0);
	}
	KGB_ASSERT(read(pipe_fds[0], port, sizeof(*port)) == sizeof(*port));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return pid;
}

/* ---- clients ---- */

static int dial(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;
	KGB_ASSERT(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static void post(int fd, const char *path, size_t body_len)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_buf_addf(&text,
		     "POST %s HTTP/1.1\r\nhost: x\r\nx-api-key: " TOKEN
		     "\r\ncontent-length: %zu\r\n\r\n",
		     path, body_len);
	while (body_len-- > 0)
		kgb_buf_addc(&text, ' ');
	for (size_t at = 0; at < text.len;) {
		ssize_t n = send(fd, text.ptr + at, text.len - at, MSG_NOSIGNAL);
		KGB_ASSERT(n > 0);
		at += (size_t)n;
	}
}

/* Read until the bytes end with `end`; how many came. */
static size_t read_until(int fd, const char *end)
{
	static _Thread_local char bytes[1 << 16];
	size_t want = strlen(end), total = 0, kept = 0;
	char tail[16];
	KGB_ASSERT(want <= sizeof(tail));
	for (;;) {
		ssize_t n = recv(fd, bytes + kept, sizeof(bytes) - kept, 0);
		KGB_ASSERT(n > 0);
		total += (size_t)n;
		size_t have = kept + (size_t)n;
		if (have >= want && memcmp(bytes + have - want, end, want) == 0)
			return total;
		kept = have < want ? have : want;
		memcpy(tail, bytes + have - kept, kept);
		memcpy(bytes, tail, kept);
	}
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

/** A percentile of sorted times in microseconds. */
static double micros(const int64_t *sorted_ns, size_t n, size_t percent)
{
	size_t at = n * percent / 100;
	return (double)sorted_ns[at] / 1e3;
}

struct latency {
	uint16_t port;
	int fd;
	int64_t *ns;
};

static void bench_latency(uint16_t direct, uint16_t gateway, size_t n)
{
	struct latency ways[2] = {{.port = direct}, {.port = gateway}};
	for (int w = 0; w < 2; w++) {
		ways[w].fd = dial(ways[w].port);
		ways[w].ns = kgb_xcalloc(n, sizeof(*ways[w].ns));
	}
	for (size_t i = 0; i < n; i++) {
		for (int w = 0; w < 2; w++) {
			int64_t start = kgb_mono_ns();
			post(ways[w].fd, "/v1/messages", BODY_BYTES);
			/* With a length from the API, chunked from the gateway. */
			read_until(ways[w].fd, w ? "}}\r\n0\r\n\r\n" : "}}");
			ways[w].ns[i] = kgb_mono_ns() - start;
		}
	}
	static const char *const names[] = {"direct", "through the gateway"};
	for (int w = 0; w < 2; w++) {
		qsort(ways[w].ns, n, sizeof(*ways[w].ns), by_value);
		printf("latency %-20s p50 %6.0f us   p99 %6.0f us   (%zu requests of %d bytes)\n",
		       names[w], micros(ways[w].ns, n, 50), micros(ways[w].ns, n, 99), n,
		       BODY_BYTES);
	}
	printf("latency %-20s p50 %6.0f us   p99 %6.0f us\n", "added",
	       micros(ways[1].ns, n, 50) - micros(ways[0].ns, n, 50),
	       micros(ways[1].ns, n, 99) - micros(ways[0].ns, n, 99));
	for (int w = 0; w < 2; w++) {
		close(ways[w].fd);
		kgb_free(ways[w].ns);
	}
}

struct stream {
	uint16_t port;
	size_t mib;
	size_t bytes;
};

static void *run_stream(void *payload)
{
	struct stream *s = payload;
	KGB_AUTO(free) char *path = kgb_xasprintf("/v1/messages?mib=%zu", s->mib);
	int fd = dial(s->port);
	post(fd, path, 100);
	s->bytes = read_until(fd, "0\r\n\r\n");
	close(fd);
	return NULL;
}

static void bench_streams(const char *name, uint16_t port, size_t n, size_t mib)
{
	pthread_t threads[MAX_STREAMS];
	struct stream streams[MAX_STREAMS];
	size_t bytes = 0;
	int64_t start = kgb_mono_ns();
	for (size_t i = 0; i < n; i++) {
		streams[i] = (struct stream){.port = port, .mib = mib / n ? mib / n : 1};
		KGB_ASSERT(pthread_create(&threads[i], NULL, run_stream, &streams[i]) == 0);
	}
	for (size_t i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		bytes += streams[i].bytes;
	}
	double seconds = (double)(kgb_mono_ns() - start) / 1e9;
	printf("relay   %-20s %6.0f MB/s at %zu stream%s (%.0f MB)\n", name,
	       (double)bytes / 1e6 / seconds, n, n == 1 ? "" : "s", (double)bytes / 1e6);
}

/* ---- all together ---- */

struct bench {
	uv_loop_t loop;
	uv_async_t finished;
	struct kgb_gateway *gw;
	uint16_t upstream, port;
	size_t n_requests, mib;
};

static void on_finished(uv_async_t *async)
{
	struct bench *b = async->data;
	uv_close((uv_handle_t *)async, NULL);
	kgb_gateway_close(b->gw, NULL, NULL);
}

static void *run_clients(void *payload)
{
	struct bench *b = payload;
	bench_latency(b->upstream, b->port, b->n_requests);
	for (size_t n = 1; n <= MAX_STREAMS; n *= MAX_STREAMS) {
		bench_streams("direct", b->upstream, n, b->mib);
		bench_streams("through the gateway", b->port, n, b->mib);
	}
	uv_async_send(&b->finished);
	return NULL;
}

static int open_gateway(struct bench *b, struct kgb_err *err)
{
	char url[64];
	int fd;
	struct kgb_session *session;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)b->upstream);
	struct kgb_gateway_spec spec = {
		.mode = KGB_GATEWAY_LIVE, .upstream_url = url, .api_key = "sk-bench-0123456789"};
	if (kgb_gateway_new(&b->gw, &b->loop, &spec, err) < 0 ||
	    kgb_gateway_listen_loopback(0, &fd, &b->port, err) < 0)
		return -1;
	struct kgb_session_spec session_spec = {.take_listen_fd = fd, .token = TOKEN};
	return kgb_session_open(&session, b->gw, &session_spec, err);
}

int main(int argc, char **argv)
{
	struct bench b = {.n_requests = 2000, .mib = 256};
	struct kgb_err err = KGB_ERR_INIT;
	int64_t value;
	if (argc > 1 && kgb_parse_i64(argv[1], 1, 1000000, &value, &err) == 0)
		b.n_requests = (size_t)value;
	if (argc > 2 && kgb_parse_i64(argv[2], 1, 65536, &value, &err) == 0)
		b.mib = (size_t)value;
	pid_t upstream = start_upstream(&b.upstream);
	uv_loop_init(&b.loop);
	uv_async_init(&b.loop, &b.finished, on_finished);
	b.finished.data = &b;
	if (open_gateway(&b, &err) < 0) {
		fprintf(stderr, "bench_gateway: %s\n", err.msg);
		return 1;
	}
	pthread_t clients;
	KGB_ASSERT(pthread_create(&clients, NULL, run_clients, &b) == 0);
	uv_run(&b.loop, UV_RUN_DEFAULT);
	pthread_join(clients, NULL);
	kill(upstream, SIGKILL);
	waitpid(upstream, NULL, 0);
	return uv_loop_close(&b.loop) == 0 ? 0 : 1;
}
