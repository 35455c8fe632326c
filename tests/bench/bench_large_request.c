/* SPDX-License-Identifier: MIT */
/** \file
 * How long a large model request holds up the gateway's loop, which serves all attempts: a timer
 * that is due every millisecond, the longest time until it came, and how much of that the loop's
 * thread worked (the rest it waited for a processor), while one client sends one request after the
 * other to the offline model, with its record on disk and the model pinned.
 *
 *     bench_large_request [MIB...]      default 1 16 60
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "sandbox/gateway/gateway.h"
#include "sandbox/offline/offline.h"
#include "tests/helpers/loopback.h"

#define TOKEN "tok-0123456789abcdef"
#define REPEATS 3

static const char sessions[] = "sessions:\n  verify: [{say: hello}]\n  oneshot: [{say: hello}]\n";
static const char script[] = "{operator: 'a::b', bug: b, fix: c, kernels: {buggy: x}}";

struct bench {
	uv_loop_t loop;
	uv_timer_t beat;
	uv_async_t finished;
	struct kgb_gateway *gw;
	uint16_t port;
	int64_t last_ns, longest_ns;
	int64_t last_cpu_ns, longest_cpu_ns;
	const char *const *sizes;
};

static int64_t thread_cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_beat(uv_timer_t *timer)
{
	struct bench *b = timer->data;
	int64_t now_ns = kgb_mono_ns(), cpu_ns = thread_cpu_ns();
	if (cpu_ns - b->last_cpu_ns > b->longest_cpu_ns)
		b->longest_cpu_ns = cpu_ns - b->last_cpu_ns;
	b->last_cpu_ns = cpu_ns;
	if (now_ns - b->last_ns > b->longest_ns)
		b->longest_ns = now_ns - b->last_ns;
	b->last_ns = now_ns;
}

static void on_finished(uv_async_t *async)
{
	struct bench *b = async->data;
	uv_close((uv_handle_t *)async, NULL);
	uv_close((uv_handle_t *)&b->beat, NULL);
	kgb_gateway_close(b->gw, NULL, NULL);
}

/* A conversation of `mib`: mostly one string, with line ends and quotes as code has them. */
static void make_request(size_t mib, struct kgb_buf *out)
{
	static const char line[] =
		"    offs = pid * BLOCK + tl.arange(0, BLOCK)  # \\\"tok-0123\\\"\\n";
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);
	kgb_buf_adds(&body, "{\"model\":\"asked\",\"messages\":[{\"role\":\"user\",\"content\":\"");
	while (body.len < mib << 20)
		kgb_buf_add(&body, line, sizeof(line) - 1);
	kgb_buf_adds(&body, "\"}],\"max_tokens\":100}");
	kgb_buf_addf(
		out,
		"POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: " TOKEN
		"\r\ncontent-length: %zu\r\n\r\n",
		body.len);
	kgb_buf_add(out, body.ptr, body.len);
}

static void ask(uint16_t port, const struct kgb_buf *request)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	KGB_AUTO(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[4096];
	ssize_t n;
	bool good = false;
	KGB_ASSERT(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
	for (size_t at = 0; at < request->len; at += (size_t)n) {
		n = send(fd, request->ptr + at, request->len - at, MSG_NOSIGNAL);
		KGB_ASSERT(n > 0);
	}
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		good = good || memmem(bytes, (size_t)n, "HTTP/1.1 200", 12);
	KGB_ASSERT(good);
}

static void *run_client(void *payload)
{
	struct bench *b = payload;
	for (const char *const *size = b->sizes; *size; size++) {
		int64_t mib;
		struct kgb_err err = KGB_ERR_INIT;
		if (kgb_parse_i64(*size, 1, 63, &mib, &err) < 0)
			continue;
		KGB_AUTO(buf) struct kgb_buf request = KGB_BUF_INIT(0);
		make_request((size_t)mib, &request);
		b->longest_ns = b->longest_cpu_ns = 0;
		int64_t start_ns = kgb_mono_ns();
		for (int i = 0; i < REPEATS; i++)
			ask(b->port, &request);
		printf("request of %2lld MiB: answered in %5.0f ms, loop held up for %6.1f ms at most, %5.1f ms of work\n",
		       (long long)mib, (double)(kgb_mono_ns() - start_ns) / 1e6 / REPEATS,
		       (double)b->longest_ns / 1e6, (double)b->longest_cpu_ns / 1e6);
	}
	uv_async_send(&b->finished);
	return NULL;
}

static int open_gateway(struct bench *b, const struct kgb_offline_session *offline,
			const char *traffic, struct kgb_err *err)
{
	struct kgb_session *session;
	int fd;
	const struct kgb_gateway_spec spec = {.mode = KGB_GATEWAY_OFFLINE};
	if (kgb_gateway_new(&b->gw, &b->loop, &spec, err) < 0 ||
	    listen_loopback(0, &fd, &b->port, err) < 0)
		return -1;
	const struct kgb_session_spec session_spec = {.take_listen_fd = fd,
						      .token = TOKEN,
						      .model = "pinned",
						      .traffic_dir = traffic,
						      .offline = offline};
	return kgb_session_open(&session, b->gw, &session_spec, err);
}

int main(int argc, char **argv)
{
	static const char *const sizes[] = {"1", "16", "60", NULL};
	const char *const *given = (const char *const *)argv + 1;
	struct bench b = {.sizes = argc > 1 ? given : sizes};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_offline_session *offline = NULL;
	char traffic[] = "/tmp/kgb-bench-XXXXXX";
	uv_loop_init(&b.loop);
	uv_async_init(&b.loop, &b.finished, on_finished);
	uv_timer_init(&b.loop, &b.beat);
	b.finished.data = b.beat.data = &b;
	if (!mkdtemp(traffic) ||
	    kgb_offline_parse(&offline,
			      &(struct kgb_offline_source){"s", sessions, strlen(sessions)},
			      &(struct kgb_offline_source){"o", script, strlen(script)},
			      KGB_OFFLINE_ONESHOT, &err) < 0 ||
	    open_gateway(&b, offline, traffic, &err) < 0) {
		fprintf(stderr, "bench_large_request: %s\n", err.msg);
		return 1;
	}
	b.last_ns = kgb_mono_ns();
	uv_timer_start(&b.beat, on_beat, 1, 1);
	pthread_t client;
	KGB_ASSERT(pthread_create(&client, NULL, run_client, &b) == 0);
	uv_run(&b.loop, UV_RUN_DEFAULT);
	pthread_join(client, NULL);
	kgb_offline_free(offline);
	int rc = kgb_fs_remove_tree(AT_FDCWD, traffic, &err);
	return uv_loop_close(&b.loop) == 0 && rc == 0 ? 0 : 1;
}
