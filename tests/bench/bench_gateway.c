/* SPDX-License-Identifier: MIT */
/** \file
 * What the gateway costs: latency that it adds to one request (the same client against the same
 * fake API, with and without it in between, interleaved) and to each event of 1, 64 and 256 streams
 * at a time, how fast it relays one stream and 64 streams (not recorded: that would be the disk's
 * speed), and its memory. The API, the gateway and the clients are processes of their own.
 *
 *     bench_gateway [REQUESTS] [MIB] [SECONDS]
 *
 * Default: 2000 requests, 256 MiB a throughput run, 3 runs of 4 s for each number of streams.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "sandbox/gateway/gateway.h"
#include "tests/helpers/fake_llm.h"
#include "tests/helpers/loopback.h"

#define TOKEN "tok-0123456789abcdef"
#define BODY_BYTES 87000 /* first request of a real CLI */
#define CHUNK_BYTES 16384
#define MAX_STREAMS 64
/* Streams that run at a time with events; an attempt has a handful of them. */
#define MAX_EVENT_STREAMS 256
#define STREAMS_A_SESSION 8
#define N_SESSIONS (MAX_EVENT_STREAMS / STREAMS_A_SESSION)
/* A model's stream brings some twenty events a second. */
#define EVENT_MS 50
/* By then all requests have come: what they take is the other figure. */
#define SETTLE_MS 500
#define RUNS 3
#define DIR_TEMPLATE "/tmp/bench_gateway.XXXXXX"

/* ---- the fake API, a process of its own ---- */

/* Events that carry the time at which they were sent, one every EVENT_MS. */
struct ticker {
	uv_timer_t timer;
	struct fake_llm_call *call;
	int64_t left;
	uint64_t due_ms; /* on the loop's clock */
};

static void on_ticker_closed(uv_handle_t *handle)
{
	kgb_free(handle->data);
}

static void on_tick(uv_timer_t *timer)
{
	struct ticker *ticker = timer->data;
	char event[200];
	int len = snprintf(
		event, sizeof(event),
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
		"\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"<%020lld>\"}}\n\n",
		(long long)kgb_mono_ns());
	if (ticker->left-- > 0 && !ticker->call->gone) {
		fake_llm_chunk(ticker->call, event, (size_t)len);
		ticker->due_ms += EVENT_MS;
		uint64_t now_ms = uv_now(timer->loop);
		uv_timer_start(timer, on_tick,
			       ticker->due_ms > now_ms ? ticker->due_ms - now_ms : 0, 0);
		return;
	}
	fake_llm_chunk(ticker->call, FAKE_LLM_MESSAGE("msg"), strlen(FAKE_LLM_MESSAGE("msg")));
	fake_llm_stream_end(ticker->call);
	uv_close((uv_handle_t *)timer, on_ticker_closed);
}

static void start_ticker(struct fake_llm_call *call, int64_t n_events)
{
	struct ticker *ticker = kgb_xcalloc(1, sizeof(*ticker));
	ticker->call = call;
	ticker->left = n_events;
	ticker->timer.data = ticker;
	uv_timer_init(call->tcp.loop, &ticker->timer);
	/* Not all streams in step, nor falling into it when some are late together, as those of a
	 * repeating timer would. */
	uint64_t phase_ms = (uint64_t)fake_llm_calls(call->llm) * 7 % EVENT_MS;
	ticker->due_ms = uv_now(call->tcp.loop) + SETTLE_MS + phase_ms;
	uv_timer_start(&ticker->timer, on_tick, SETTLE_MS + phase_ms, 0);
	fake_llm_stream_head(call);
}

static void on_call(void *payload, struct fake_llm_call *call)
{
	(void)payload;
	const char *events = strstr(call->path, "events=");
	const char *mib = strstr(call->path, "mib=");
	if (events) {
		int64_t n_events = 1;
		struct kgb_err ignored = KGB_ERR_INIT;
		(void)!kgb_parse_i64(events + strlen("events="), 1, 1 << 20, &n_events, &ignored);
		start_ticker(call, n_events);
		return;
	}
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
	kgb_buf_adds(&text, "{\"system\":\"");
	for (size_t n = sizeof("{\"system\":\"\"}") - 1; n < body_len; n++)
		kgb_buf_addc(&text, ' ');
	kgb_buf_adds(&text, "\"}");
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

/* CPU time of a process: unlike latencies it hardly depends on what else the machine does. */
static int64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec now;
	KGB_ASSERT(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &now) == 0);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct latency {
	uint16_t port;
	int fd;
	int64_t *ns;
};

static void bench_latency(uint16_t direct, uint16_t gateway, size_t n, pid_t pid)
{
	int64_t start_cpu_ns = cpu_ns(pid);
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
	printf("latency %-20s p50 %6.0f us   p99 %6.0f us   CPU %.0f us a request\n", "added",
	       micros(ways[1].ns, n, 50) - micros(ways[0].ns, n, 50),
	       micros(ways[1].ns, n, 99) - micros(ways[0].ns, n, 99),
	       (double)(cpu_ns(pid) - start_cpu_ns) / 1e3 / (double)n);
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

/* ---- events of many streams ---- */

struct bench {
	uv_loop_t loop;
	uv_poll_t finished; /* the clients' end of a pipe */
	struct kgb_gateway *gw;
	uint16_t upstream;
	uint16_t ports[N_SESSIONS + 1]; /* the last one records nothing */
	char dir[sizeof(DIR_TEMPLATE)];
	pid_t gateway; /* process */
	size_t n_requests, mib, seconds;
};

struct samples {
	int64_t *ns;
	size_t n, cap;
};

static void add_sample(struct samples *samples, int64_t ns)
{
	if (samples->n == samples->cap) {
		samples->cap = samples->cap ? 2 * samples->cap : 4096;
		samples->ns = kgb_xreallocarray(samples->ns, samples->cap, sizeof(*samples->ns));
	}
	samples->ns[samples->n++] = ns;
}

struct reader {
	char text[64 * 1024];
	size_t len;
	bool ended;
};

/* Take the times out of what came; what may be half of one stays. */
static void scan(struct reader *reader, int64_t now_ns, struct samples *samples)
{
	const char *at = reader->text;
	for (const char *mark; (mark = strchr(at, '<')) && strlen(mark) > 21 && mark[21] == '>';
	     at = mark + 22) {
		int64_t sent_ns = 0;
		for (int i = 1; i <= 20; i++)
			sent_ns = sent_ns * 10 + (mark[i] - '0');
		add_sample(samples, now_ns - sent_ns);
	}
	if (strstr(at, "\r\n0\r\n\r\n"))
		reader->ended = true;
	size_t keep = strlen(at) > 32 && !strchr(at, '<') ? 8 : strlen(at);
	memmove(reader->text, at + strlen(at) - keep, keep + 1);
	reader->len = keep;
}

static void read_events(int fd, struct reader *reader, struct samples *samples)
{
	ssize_t n = recv(fd, reader->text + reader->len, sizeof(reader->text) - 1 - reader->len, 0);
	int64_t now_ns = kgb_mono_ns();
	if (n <= 0) {
		reader->ended = true;
		return;
	}
	reader->len += (size_t)n;
	reader->text[reader->len] = '\0';
	scan(reader, now_ns, samples);
}

/* n streams for some seconds; ports NULL: directly to the API. */
static void run_events(const struct bench *b, const uint16_t *ports, size_t n,
		       struct samples *samples)
{
	struct pollfd polls[MAX_EVENT_STREAMS];
	struct reader *readers = kgb_xcalloc(n, sizeof(*readers));
	KGB_AUTO(free)
	char *path = kgb_xasprintf("/v1/messages?events=%zu", b->seconds * 1000 / EVENT_MS);
	size_t left = n;
	for (size_t i = 0; i < n; i++)
		polls[i] = (struct pollfd){.fd = dial(ports ? ports[i % N_SESSIONS] : b->upstream),
					   .events = POLLIN};
	/* All are connected before the first event comes: nobody reads while connecting. */
	for (size_t i = 0; i < n; i++)
		post(polls[i].fd, path, 100);
	while (left > 0 && poll(polls, n, 10000) > 0) {
		for (size_t i = 0; i < n; i++) {
			if (!(polls[i].revents & (POLLIN | POLLHUP)))
				continue;
			read_events(polls[i].fd, &readers[i], samples);
			if (readers[i].ended) {
				close(polls[i].fd);
				polls[i].fd = -1;
				left--;
			}
		}
	}
	kgb_free(readers);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_spread(const char *name, double *values)
{
	qsort(values, RUNS, sizeof(*values), by_double);
	printf("   %s %6.0f us (%.0f to %.0f)", name, values[RUNS / 2], values[0],
	       values[RUNS - 1]);
}

static double memory_mb(pid_t pid)
{
	KGB_AUTO(free) char *path = kgb_xasprintf("/proc/%d/statm", (int)pid);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(4096);
	KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	int64_t pages = 0;
	if (kgb_fs_read(AT_FDCWD, path, 4096, &text, &err) == 0)
		kgb_strv_split(&words, text.ptr, ' ');
	if (words.n < 2 || kgb_parse_i64(words.items[1], 0, INT64_MAX, &pages, &err) < 0)
		return 0;
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void bench_events(const struct bench *b, size_t n)
{
	double added[2][RUNS], through[2][RUNS];
	static const size_t percents[] = {50, 99};
	size_t n_samples = 0;
	int64_t start_ns = cpu_ns(b->gateway);
	for (size_t run = 0; run < RUNS; run++) {
		struct samples ways[2] = {{0}};
		run_events(b, NULL, n, &ways[0]);
		run_events(b, b->ports, n, &ways[1]);
		for (int w = 0; w < 2; w++)
			qsort(ways[w].ns, ways[w].n, sizeof(*ways[w].ns), by_value);
		for (size_t p = 0; p < 2; p++) {
			through[p][run] = micros(ways[1].ns, ways[1].n, percents[p]);
			added[p][run] =
				through[p][run] - micros(ways[0].ns, ways[0].n, percents[p]);
		}
		n_samples += ways[1].n;
		kgb_free(ways[0].ns);
		kgb_free(ways[1].ns);
	}
	printf("events  %3zu streams added  ", n);
	print_spread("p50", added[0]);
	print_spread("p99", added[1]);
	printf("   in all");
	print_spread("p50", through[0]);
	print_spread("p99", through[1]);
	printf("   n = %d x %zu, CPU %.0f us an event, memory %.1f MB\n", RUNS, n_samples / RUNS,
	       (double)(cpu_ns(b->gateway) - start_ns) / 1e3 / (double)n_samples,
	       memory_mb(b->gateway));
}

/* ---- all together ---- */

static void run_clients(const struct bench *b)
{
	static const size_t streams[] = {1, 64, MAX_EVENT_STREAMS};
	bench_latency(b->upstream, b->ports[0], b->n_requests, b->gateway);
	for (size_t i = 0; i < KGB_ARRAY_LEN(streams); i++)
		bench_events(b, streams[i]);
	for (size_t n = 1; n <= MAX_STREAMS; n *= MAX_STREAMS) {
		bench_streams("direct", b->upstream, n, b->mib);
		bench_streams("through the gateway", b->ports[N_SESSIONS], n, b->mib);
	}
	printf("memory  of the gateway's process at the end %.1f MB\n", memory_mb(b->gateway));
}

static int open_gateway(struct bench *b, struct kgb_err *err)
{
	char url[64];
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)b->upstream);
	struct kgb_gateway_spec spec = {
		.mode = KGB_GATEWAY_LIVE,
		.accounts.by_provider =
			{[KGB_PROVIDER_ANTHROPIC] = {.url = url, .api_key = "sk-bench-0123456789"}},
	};
	if (kgb_gateway_new(&b->gw, &b->loop, &spec, err) < 0)
		return -1;
	KGB_ASSERT(mkdtemp(b->dir));
	for (size_t i = 0; i <= N_SESSIONS; i++) {
		int fd;
		struct kgb_session *session;
		KGB_AUTO(free) char *traffic = kgb_xasprintf("%s/%zu", b->dir, i);
		if (kgb_fs_mkdirs(AT_FDCWD, traffic, 0755, err) < 0 ||
		    listen_loopback(0, &fd, &b->ports[i], err) < 0)
			return -1;
		struct kgb_session_spec session_spec = {
			.take_listen_fd = fd,
			.token = TOKEN,
			.traffic_dir = i < N_SESSIONS ? traffic : NULL,
		};
		if (kgb_session_open(&session, b->gw, &session_spec, err) < 0)
			return -1;
	}
	return 0;
}

/* The clients have ended: they close their end of the pipe. */
static void on_finished(uv_poll_t *poll_handle, int status, int events)
{
	(void)status;
	(void)events;
	struct bench *b = poll_handle->data;
	uv_close((uv_handle_t *)poll_handle, NULL);
	kgb_gateway_close(b->gw, NULL, NULL);
}

static void print_machine(int argc, char **argv)
{
	struct utsname machine;
	char now[KGB_TIME_LEN];
	KGB_ASSERT(uname(&machine) == 0);
	kgb_time_format(kgb_wall_ms(), now);
	printf("machine %s %s %s, %ld CPUs, %s\ncommand", machine.sysname, machine.release,
	       machine.machine, sysconf(_SC_NPROCESSORS_ONLN), now);
	for (int i = 0; i < argc; i++)
		printf(" %s", argv[i]);
	printf("\n");
	fflush(stdout);
}

static size_t number(int argc, char **argv, int at, size_t otherwise)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t value;
	if (argc > at && kgb_parse_i64(argv[at], 1, 1000000, &value, &err) == 0)
		return (size_t)value;
	return otherwise;
}

int main(int argc, char **argv)
{
	struct bench b = {.dir = DIR_TEMPLATE,
			  .n_requests = number(argc, argv, 1, 2000),
			  .mib = number(argc, argv, 2, 256),
			  .seconds = number(argc, argv, 3, 4),
			  .gateway = getpid()};
	struct kgb_err err = KGB_ERR_INIT;
	int pipe_fds[2];
	print_machine(argc, argv);
	pid_t upstream = start_upstream(&b.upstream);
	uv_loop_init(&b.loop);
	if (open_gateway(&b, &err) < 0) {
		fprintf(stderr, "bench_gateway: %s\n", err.msg);
		return 1;
	}
	KGB_ASSERT(pipe2(pipe_fds, O_CLOEXEC) == 0);
	pid_t clients = fork();
	KGB_ASSERT(clients >= 0);
	if (clients == 0) {
		run_clients(&b);
		fflush(stdout);
		_exit(0);
	}
	close(pipe_fds[1]);
	uv_poll_init(&b.loop, &b.finished, pipe_fds[0]);
	b.finished.data = &b;
	uv_poll_start(&b.finished, UV_READABLE | UV_DISCONNECT, on_finished);
	uv_run(&b.loop, UV_RUN_DEFAULT);
	close(pipe_fds[0]);
	waitpid(clients, NULL, 0);
	kill(upstream, SIGKILL);
	waitpid(upstream, NULL, 0);
	if (kgb_fs_remove_tree(AT_FDCWD, b.dir, &err) < 0)
		fprintf(stderr, "bench_gateway: %s\n", err.msg);
	return uv_loop_close(&b.loop) == 0 ? 0 : 1;
}
