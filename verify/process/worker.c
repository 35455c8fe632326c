/* SPDX-License-Identifier: MIT */
#include "verify/process/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

/* Longest wait for a supervisor's report of its worker's end, which is late on a busy machine. */
enum {
	STDERR_KEPT = 16 << 10,
	CONTROL_MAX = 4096,
	REPORT_WAIT_MS = 30000,
	DYING_MS = 4000,
	LAST_WORDS = 300
};
/* A worker may flood its stderr. To wake for each of its writes would cost the judge more than the
 * flood costs the worker. So the pipe is large, and after STDERR_KEPT bytes the judge empties it
 * only once in FLOOD_PAUSE_MS. */
enum { STDERR_PIPE = 1 << 20, STDERR_READ = 64 << 10, FLOOD_PAUSE_MS = 1 };

static void kill_now(const struct kgb_worker *worker)
{
	if (worker->pid_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, worker->pid_fd, SIGKILL, NULL, 0);
}

void kgb_worker_kill(const struct kgb_worker *worker)
{
	if (worker->is_lasting)
		(void)shutdown(worker->channel_fd, SHUT_RDWR);
	else
		kill_now(worker);
}

static void close_fd(int *fd)
{
	kgb_close(*fd);
	*fd = -1;
}

/* Keep the first STDERR_KEPT / 2 bytes of the output and the last STDERR_KEPT / 2. */
static void keep_ends(struct kgb_buf *kept, const char *bytes, size_t n)
{
	enum { HALF = STDERR_KEPT / 2 };
	size_t n_first = kept->len < HALF ? HALF - kept->len : 0;

	n_first = n < n_first ? n : n_first;
	(void)kgb_buf_add(kept, bytes, n_first);
	bytes += n_first;
	n -= n_first;
	if (n > HALF) {
		bytes += n - HALF;
		n = HALF;
	}
	if (kept->len + n > STDERR_KEPT) {
		size_t n_over = kept->len + n - STDERR_KEPT;
		char *last = kept->ptr + HALF;
		memmove(last, last + n_over, kept->len - HALF - n_over);
		kgb_buf_truncate(kept, kept->len - n_over);
	}
	(void)kgb_buf_add(kept, bytes, n);
}

/* Read what the worker has written, so that it never blocks. Stop after a bounded time, even if the
 * worker writes faster. */
static void drain_stderr(struct kgb_worker *worker)
{
	char bytes[STDERR_READ];

	for (size_t n_read = 0; n_read < STDERR_PIPE;) {
		ssize_t n = read(worker->stderr_fd, bytes, sizeof(bytes));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close_fd(&worker->stderr_fd);
			return;
		}
		keep_ends(&worker->stderr_text, bytes, (size_t)n);
		n_read += (size_t)n;
	}
}

/* Whether the worker has written more than is kept, and its pipe can hold the output of a pause
 * (the kernel may have refused to enlarge the pipe). */
static bool is_flooding(const struct kgb_worker *worker)
{
	return worker->stderr_text.len == STDERR_KEPT &&
	       fcntl(worker->stderr_fd, F_GETPIPE_SZ) >= STDERR_PIPE;
}

/* Poll until `fd` is readable; stderr is drained meanwhile. False at the deadline. */
static bool wait_readable(struct kgb_worker *worker, int fd, int64_t deadline_ms)
{
	for (;;) {
		struct pollfd fds[2] = {
			{.fd = fd, .events = POLLIN},
			{.fd = worker->stderr_fd, .events = POLLIN},
		};
		int64_t left = deadline_ms - kgb_mono_ms();
		int ready = poll(fds, 2, left > 0 ? (int)left : 0);

		if (ready > 0 && !fds[0].revents && is_flooding(worker))
			ready = poll(fds, 1, FLOOD_PAUSE_MS) < 0 ? -1 : 1;
		if (ready < 0 && errno != EINTR)
			return false;
		if (ready > 0 && fds[0].revents)
			return true;
		if (ready > 0 && fds[1].revents)
			drain_stderr(worker);
		/* Check the deadline after the drain too: a flood must not delay it. */
		if (kgb_mono_ms() >= deadline_ms)
			return false;
	}
}

/* Reads one control message; NULL: the supervisor is gone or sent none until the deadline. */
static cJSON *read_control(struct kgb_worker *worker, int64_t deadline_ms, int *fds, size_t max_fds,
			   size_t *n_fds)
{
	char text[CONTROL_MAX];
	struct kgb_err err = KGB_ERR_INIT;
	cJSON *json = NULL;

	if (!wait_readable(worker, worker->control_fd, deadline_ms))
		return NULL;
	ssize_t n =
		kgb_wire_recv(worker->control_fd, text, sizeof(text), fds, max_fds, n_fds, &err);
	if (n <= 0 || (size_t)n > sizeof(text))
		return NULL;
	if (kgb_json_parse(text, (size_t)n, &json, &err) < 0)
		return NULL;
	return json;
}

/* The worker is dead or dying: read the supervisor's report of its end. */
static void find_end(struct kgb_worker *worker)
{
	KGB_AUTO(json)
	cJSON *json = read_control(worker, kgb_mono_ms() + REPORT_WAIT_MS, NULL, 0, NULL);
	const char *ended = kgb_json_str(json, "ended", NULL);
	int64_t value = kgb_json_i64(json, "value", -1);

	/* Its last output may give the reason. */
	if (worker->stderr_fd >= 0)
		drain_stderr(worker);
	worker->end_value = (int)value;
	if (ended && strcmp(ended, "signal") == 0 && value > 0 && value < NSIG)
		worker->end = KGB_WORKER_SIGNALED;
	else if (ended && strcmp(ended, "exit") == 0 && value >= 0 && value <= 255)
		worker->end = KGB_WORKER_EXITED;
	else
		worker->end = KGB_WORKER_LOST;
}

/* Ends the worker by the judge's decision. */
static void put_down(struct kgb_worker *worker, enum kgb_worker_end end, const char *why)
{
	kill_now(worker);
	find_end(worker);
	if (worker->end != KGB_WORKER_LOST)
		worker->end = end;
	snprintf(worker->why, sizeof(worker->why), "%s", why);
}

static int send_start(struct kgb_worker *worker, const struct kgb_worker_spec *spec, int channel,
		      int log, struct kgb_err *err)
{
	int fds[KGB_WIRE_FDS_MAX] = {channel, log};
	size_t n_fds = 2;

	for (size_t i = 0; i < spec->n_fds; i++)
		fds[n_fds++] = spec->fds[i];
	KGB_AUTO(free)
	char *text = kgb_xasprintf(
		"{\"role\":\"%s\",\"memory_bytes\":%lld,\"cpu_s\":%lld,\"tmp_bytes\":%lld}",
		spec->role, (long long)spec->memory_bytes, (long long)spec->cpu_s,
		(long long)spec->tmp_bytes);
	return kgb_wire_send(worker->control_fd, text, strlen(text), fds, n_fds, err);
}

/* The supervisor's first message: versions and the pidfd, or why there is no worker. */
static int read_started(struct kgb_worker *worker, int64_t timeout_ms, struct kgb_err *err)
{
	size_t n_fds = 0;
	KGB_AUTO(json)
	cJSON *json = read_control(worker, kgb_mono_ms() + timeout_ms, &worker->pid_fd, 1, &n_fds);
	const cJSON *started = kgb_json_get(json, "started");
	const char *error = kgb_json_str(json, "error", NULL);

	if (error)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "start a worker: %s", error);
	if (!started || n_fds != 1)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"start a worker: its supervisor sent no message");
	snprintf(worker->python, sizeof(worker->python), "%s", kgb_json_str(started, "python", ""));
	snprintf(worker->torch, sizeof(worker->torch), "%s", kgb_json_str(started, "torch", ""));
	snprintf(worker->triton, sizeof(worker->triton), "%s", kgb_json_str(started, "triton", ""));
	snprintf(worker->identity, sizeof(worker->identity), "%s",
		 kgb_json_str(started, "identity", ""));
	worker->is_lasting = cJSON_IsTrue(kgb_json_get(json, "lasting"));
	worker->end = KGB_WORKER_ALIVE;
	return 0;
}

int kgb_worker_start(struct kgb_worker *worker, struct kgb_zygote *zygote,
		     const struct kgb_worker_spec *spec, int64_t timeout_ms, struct kgb_err *err)
{
	int pair[2];

	*worker = (struct kgb_worker)KGB_WORKER_INIT;
	worker->role = zygote->role;
	worker->share = spec->share;
	worker->stderr_text = (struct kgb_buf)KGB_BUF_INIT(STDERR_KEPT);
	if (kgb_zygote_connect(zygote, &worker->control_fd, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		kgb_worker_stop(worker);
		return kgb_fail_errno(err, errno, "socketpair");
	}
	worker->channel_fd = pair[0];
	KGB_AUTO(fd) int channel = pair[1];
	if (pipe2(pair, O_CLOEXEC) < 0) {
		kgb_worker_stop(worker);
		return kgb_fail_errno(err, errno, "pipe");
	}
	worker->stderr_fd = pair[0];
	KGB_AUTO(fd) int log = pair[1];
	(void)fcntl(worker->stderr_fd, F_SETFL, O_NONBLOCK);
	(void)fcntl(worker->stderr_fd, F_SETPIPE_SZ, STDERR_PIPE);
	if (send_start(worker, spec, channel, log, err) < 0 ||
	    read_started(worker, timeout_ms, err) < 0) {
		kgb_worker_stop(worker);
		return kgb_ctx(err, "%s", spec->role);
	}
	return 0;
}

static int send_text(struct kgb_worker *worker, const char *text, const int *fds, size_t n_fds,
		     struct kgb_err *err)
{
	if (kgb_wire_send(worker->channel_fd, text, strlen(text), fds, n_fds, err) == 0)
		return 0;
	if (err->domain != KGB_ERR_DOMAIN_ERRNO)
		return -1;
	if (err->code == EAGAIN) {
		kgb_worker_refuse(worker, "does not read its requests");
		return 0;
	}
	/* A worker that died between two requests: kgb_worker_wait gets the report of its end. */
	return err->code == EPIPE || err->code == ECONNRESET ? 0 : -1;
}

static const struct kgb_gpu_lease none = KGB_LEASE_NONE;

/* A request is under way, with this lease, or none is any more. */
static void set_lease(struct kgb_worker *worker, struct kgb_gpu_lease lease)
{
	pthread_mutex_lock(&worker->lock);
	kgb_gpu_lease_give(&worker->lease);
	worker->lease = lease;
	worker->paused = false;
	pthread_mutex_unlock(&worker->lock);
}

int kgb_worker_send(struct kgb_worker *worker, const char *json, const int *fds, size_t n_fds,
		    struct kgb_err *err)
{
	KGB_AUTO(free)
	char *text =
		kgb_xasprintf("{\"id\":%llu,%s", (unsigned long long)++worker->last_id, json + 1);
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;

	if (worker->end != KGB_WORKER_ALIVE)
		return 0;
	if (kgb_gpu_share_enter(worker->share, &lease, err) < 0)
		return -1;
	set_lease(worker, lease);
	const int rc = send_text(worker, text, fds, n_fds, err);
	if (rc < 0)
		set_lease(worker, none);
	return rc;
}

void kgb_worker_pause(struct kgb_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->paused = worker->lease.fd >= 0;
	kgb_gpu_lease_give(&worker->lease);
	pthread_mutex_unlock(&worker->lock);
}

void kgb_worker_resume(struct kgb_worker *worker)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	pthread_mutex_lock(&worker->lock);
	/* Without a lease the worker goes on: its verification has waited too long, and ends. */
	if (worker->paused)
		(void)!kgb_gpu_share_enter(worker->share, &worker->lease, &ignored);
	worker->paused = false;
	pthread_mutex_unlock(&worker->lock);
}

void kgb_worker_last_words(const struct kgb_worker *worker, struct kgb_buf *out)
{
	const struct kgb_buf *text = &worker->stderr_text;
	size_t from = text->len > LAST_WORDS ? text->len - LAST_WORDS : 0;

	if (text->len == 0)
		return;
	kgb_buf_adds(out, "; it wrote: ");
	kgb_escape(out, text->ptr + from, text->len - from);
}

int kgb_worker_await(struct kgb_worker *worker, int64_t deadline_ms, const char *what,
		     struct kgb_wire_reply *reply, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf words = KGB_BUF_INIT(0);

	if (kgb_worker_wait(worker, deadline_ms, reply))
		return reply->status == KGB_WIRE_OK
			       ? 0
			       : kgb_fail(err, KGB_ERR_FAILED, "%s: %.300s", what, reply->text);
	kgb_worker_last_words(worker, &words);
	switch (worker->end) {
	case KGB_WORKER_TIMED_OUT:
		return kgb_fail(err, KGB_ERR_TIMEOUT, "%s: no answer in time", what);
	case KGB_WORKER_SIGNALED:
		return kgb_fail(err, KGB_ERR_FAILED, "%s: ended by signal %d%s", what,
				worker->end_value, words.ptr);
	case KGB_WORKER_EXITED:
		return kgb_fail(err, KGB_ERR_FAILED, "%s: exited with status %d%s", what,
				worker->end_value, words.ptr);
	case KGB_WORKER_LIED:
		return kgb_fail(err, KGB_ERR_FAILED, "%s: broke the protocol: %s", what,
				worker->why);
	case KGB_WORKER_ALIVE:
	case KGB_WORKER_LOST:
		break;
	}
	return kgb_fail(err, KGB_ERR_FAILED, "%s: its process is gone", what);
}

void kgb_worker_refuse(struct kgb_worker *worker, const char *why)
{
	if (worker->end == KGB_WORKER_ALIVE)
		put_down(worker, KGB_WORKER_LIED, why);
}

/* Whether a worker that has closed its channel still runs after DYING_MS. */
static bool lives_on(struct kgb_worker *worker)
{
	const int fd = worker->pid_fd >= 0 ? worker->pid_fd : worker->control_fd;

	return !wait_readable(worker, fd, kgb_mono_ms() + DYING_MS);
}

/* Ends a worker that closed its channel and still runs: a breach of the protocol, unless it was
 * ending slowly on a busy machine. */
static void end_hung_up(struct kgb_worker *worker)
{
	kill_now(worker);
	find_end(worker);
	if (worker->end != KGB_WORKER_SIGNALED || worker->end_value != SIGKILL)
		return;
	worker->end = KGB_WORKER_LIED;
	snprintf(worker->why, sizeof(worker->why), "closed its channel and went on");
}

bool kgb_worker_poll(struct kgb_worker *worker, int64_t deadline_ms)
{
	return worker->end != KGB_WORKER_ALIVE ||
	       wait_readable(worker, worker->channel_fd, deadline_ms);
}

static bool receive(struct kgb_worker *worker, int64_t deadline_ms, struct kgb_wire_reply *out)
{
	KGB_AUTO(free) char *bytes = kgb_xmalloc(sizeof(*out));
	struct kgb_err err = KGB_ERR_INIT;

	if (worker->end != KGB_WORKER_ALIVE)
		return false;
	if (!wait_readable(worker, worker->channel_fd, deadline_ms)) {
		put_down(worker, KGB_WORKER_TIMED_OUT, "deadline");
		return false;
	}
	ssize_t n = kgb_wire_recv(worker->channel_fd, bytes, sizeof(*out), NULL, 0, NULL, &err);
	if (n > 0 && kgb_wire_reply_parse(bytes, (size_t)n, worker->last_id, out, &err) == 0)
		return true;
	if (n != 0) {
		put_down(worker, KGB_WORKER_LIED, err.msg);
		return false;
	}
	/* End of stream. */
	if (lives_on(worker))
		end_hung_up(worker);
	else
		find_end(worker);
	return false;
}

bool kgb_worker_wait(struct kgb_worker *worker, int64_t deadline_ms, struct kgb_wire_reply *out)
{
	const bool answered = receive(worker, deadline_ms, out);

	set_lease(worker, none);
	return answered;
}

void kgb_worker_leave(struct kgb_worker *worker, const struct kgb_gpu_lease *lease)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	kgb_worker_kill(worker);
	if (worker->end == KGB_WORKER_ALIVE && !worker->is_lasting && lease && lease->fd >= 0 &&
	    kgb_wire_send(worker->control_fd, "lease", 5, &lease->fd, 1, &ignored) == 0)
		worker->end = KGB_WORKER_LOST;
}

void kgb_worker_stop(struct kgb_worker *worker)
{
	if (worker->end == KGB_WORKER_ALIVE && worker->is_lasting)
		kgb_worker_kill(worker);
	else if (worker->end == KGB_WORKER_ALIVE)
		put_down(worker, KGB_WORKER_EXITED, "no longer needed");
	close_fd(&worker->control_fd);
	close_fd(&worker->channel_fd);
	close_fd(&worker->stderr_fd);
	close_fd(&worker->pid_fd);
	set_lease(worker, none);
	kgb_buf_release(&worker->stderr_text);
	worker->end = KGB_WORKER_LOST;
}
