/* SPDX-License-Identifier: MIT */
#include "agent/broker/broker.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/config/env.h"
#include "base/codes.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/system/memfd.h"

/* Importing torch and triton twice: 1.5 s each when warm, much more from a cold disk. */
#define ZYGOTES_READY_MS 180000
/* Bytes kept of a judge's stderr, for the message if it wrote no verdict. */
#define JUDGE_STDERR_BYTES 4096
/* Judges for one job: a second one if the first ends without a verdict by a fault of the
 * machine. */
#define TRIES_MAX 2
/* Retry a start that fails for lack of descriptors, processes or memory: once a second for a
 * minute. */
#define DELAY_MS 1000
#define DELAYS_MAX 60
/* Most restarts of dead warm workers in a run. */
#define RESTARTS_MAX 8

struct kgb_job {
	struct kgb_broker *broker;
	struct kgb_job *next;
	char *spec_path; /* owned */
	char *kernel_path; /* owned */
	struct zygotes *zygotes; /* of its device */
	bool final, timed;
	int64_t rank;
	int n_tries; /* judges that were started */
	int n_delays; /* starts that the machine refused for now */
	bool started, cancelled, timed_out, reaped;
	bool judging; /* as last passed to `moved` */
	kgb_job_moved_fn moved;
	kgb_job_done_fn done;
	void *payload;
	uv_process_t process;
	uv_timer_t timer; /* the judge's limit, then its grace */
	int open; /* handles not closed yet */
	int verdict_fd, stderr_fd;
	int64_t status;
	int signal;
	struct kgb_err err; /* why it could not be started */
};

enum zygotes_state { ZYGOTES_STARTING, ZYGOTES_READY, ZYGOTES_GONE };

/** The warm processes of one device. */
struct zygotes {
	struct kgb_broker *broker;
	const char *device; /* its name for the judge; borrowed */
	char *dir; /* owned; holds their sockets while they live */
	bool is_shared; /* another program owns them: never start or end them */
	enum zygotes_state state;
	uv_process_t process;
	uv_pipe_t in, out;
	uv_timer_t timer; /* time until they must be ready, then their grace */
	char line[64];
	bool spawned;
	int n_open; /* handles not closed yet */
	int n_restarts;
};

struct kgb_broker {
	uv_loop_t *loop;
	char *judge, *data_dir; /* owned */
	struct kgb_judge_request request; /* common to all jobs; texts borrowed */
	bool shares_devices;
	int max_jobs, n_running;
	int64_t slack_ms, grace_ms;
	struct kgb_job *queue; /* waiting, by rank */
	struct kgb_job *running; /* started, or on their way out */
	struct zygotes *zygotes; /* for each device, in their order */
	const struct kgb_devices *devices; /* borrowed */
	uv_timer_t kick; /* starts jobs from the loop, never from inside a caller */
	int open; /* handles not closed yet */
	bool closing;
	void (*closed)(void *payload);
	void *closed_payload;
};

static void kick(struct kgb_broker *broker);
static void kick_in(struct kgb_broker *broker, uint64_t delay_ms);

/** Read back what a child wrote to a memory file. */
static void read_back(int fd, size_t limit, struct kgb_buf *out)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (lseek(fd, 0, SEEK_SET) < 0 || kgb_fs_read_fd(fd, limit, out, &err) < 0)
		kgb_buf_clear(out);
}

/** Last non-empty line of a judge's stderr. */
static const char *last_line(struct kgb_buf *text)
{
	while (text->len > 0 &&
	       (text->ptr[text->len - 1] == '\n' || text->ptr[text->len - 1] == ' '))
		kgb_buf_truncate(text, text->len - 1);
	const char *newline = strrchr(text->ptr, '\n');
	return newline ? newline + 1 : text->ptr;
}

/** Whether the machine, and not the kernel, caused the missing verdict, so that a new judge may
 * help. */
static bool is_tried_again(const struct kgb_job *job, const struct kgb_job_result *result)
{
	if (job->cancelled || job->broker->closing)
		return false;
	if (!job->started)
		return kgb_err_is_shortage(&job->err) && job->n_delays < DELAYS_MAX;
	const char *status = kgb_json_str(result->verdict, "status", NULL);
	return !kgb_status_is_decided(kgb_status_find(status)) && job->n_tries < TRIES_MAX;
}

/** Report that a judge works on the job now, or that it waits. */
static void set_judging(struct kgb_job *job, bool judging)
{
	if (job->judging == judging)
		return;
	job->judging = judging;
	job->moved(job->payload, judging ? -1 : 1, judging ? 1 : -1);
}

/** Put the job at the head of the queue and reset its state. */
static void requeue(struct kgb_job *job)
{
	struct kgb_broker *broker = job->broker;

	kgb_close(job->verdict_fd);
	kgb_close(job->stderr_fd);
	job->n_delays += !job->started;
	job->started = job->timed_out = job->reaped = false;
	job->verdict_fd = job->stderr_fd = -1;
	job->status = job->signal = 0;
	job->err = (struct kgb_err)KGB_ERR_INIT;
	job->open = 1;
	uv_timer_init(broker->loop, &job->timer);
	job->next = broker->queue;
	broker->queue = job;
	set_judging(job, false);
}

static void free_job(struct kgb_job *job)
{
	kgb_close(job->verdict_fd);
	kgb_close(job->stderr_fd);
	kgb_free(job->spec_path);
	kgb_free(job->kernel_path);
	kgb_free(job);
}

/** Pass the verdict or the error to `done` and free the job. Returns true if the job is queued
 * again instead. */
static bool finish_job(struct kgb_job *job)
{
	struct kgb_job_result result = {.cancelled = job->cancelled, .err = job->err};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	KGB_AUTO(buf) struct kgb_buf talk = KGB_BUF_INIT(JUDGE_STDERR_BYTES);
	KGB_AUTO(json) cJSON *verdict = NULL;
	if (job->started && !job->cancelled) {
		read_back(job->verdict_fd, KGB_LIMIT_VERDICT, &text);
		read_back(job->stderr_fd, JUDGE_STDERR_BYTES, &talk);
		if (job->timed_out)
			kgb_fail(&result.err, KGB_ERR_TIMEOUT,
				 "the judge itself did not end in time");
		else if (job->signal != 0)
			kgb_fail(&result.err, KGB_ERR_FAILED, "the judge was ended by signal %d",
				 job->signal);
		else if (job->status != 0)
			kgb_fail(&result.err,
				 job->status == KGB_EXIT_ENVIRONMENT ? KGB_ERR_UNAVAILABLE
								     : KGB_ERR_FAILED,
				 "the judge ended with status %lld: %.200s", (long long)job->status,
				 last_line(&talk));
		else if (kgb_json_parse(text.ptr, text.len, &verdict, &result.err) < 0)
			kgb_ctx(&result.err, "the judge's verdict");
	} else if (job->cancelled) {
		kgb_fail(&result.err, KGB_ERR_CANCELLED, "the verification was cancelled");
	}
	result.verdict = verdict;
	result.text = text.ptr;
	result.len = text.len;
	if (is_tried_again(job, &result)) {
		if (job->n_delays == 0)
			kgb_warn("no verdict (%s); trying %s",
				 verdict ? kgb_json_str(verdict, "message", "") : result.err.msg,
				 job->started ? "once more" : "until the machine has room");
		requeue(job);
		return true;
	}
	job->moved(job->payload, job->judging ? 0 : -1, job->judging ? -1 : 0);
	job->done(job->payload, &result);
	free_job(job);
	return false;
}

static void unlink_job(struct kgb_job **list, const struct kgb_job *job)
{
	for (; *list; list = &(*list)->next) {
		if (*list == job) {
			*list = job->next;
			return;
		}
	}
}

static void maybe_closed(struct kgb_broker *broker)
{
	if (!broker->closing || broker->open > 0 || broker->running || broker->queue)
		return;
	void (*closed)(void *) = broker->closed;
	void *payload = broker->closed_payload;
	kgb_free(broker->judge);
	kgb_free(broker->data_dir);
	for (size_t i = 0; i < broker->devices->n; i++) {
		if (!broker->zygotes[i].is_shared)
			(void)rmdir(broker->zygotes[i].dir);
		kgb_free(broker->zygotes[i].dir);
	}
	kgb_free(broker->zygotes);
	kgb_free(broker);
	if (closed)
		closed(payload);
}

static void on_job_closed(uv_handle_t *handle)
{
	struct kgb_job *job = handle->data;
	if (--job->open > 0)
		return;
	struct kgb_broker *broker = job->broker;
	unlink_job(&broker->running, job);
	broker->n_running--;
	/* Delay a job that is tried again, so that the exits of dead warm workers arrive first. */
	kick_in(broker, finish_job(job) ? DELAY_MS : 0);
	maybe_closed(broker);
}

static void close_job_handles(struct kgb_job *job)
{
	if (job->open > 1)
		uv_close((uv_handle_t *)&job->process, on_job_closed);
	uv_close((uv_handle_t *)&job->timer, on_job_closed);
}

static void on_judge_exit(uv_process_t *process, int64_t status, int signal)
{
	struct kgb_job *job = process->data;
	kgb_debug("judge %d ended: status %lld, signal %d", process->pid, (long long)status,
		  signal);
	job->reaped = true;
	job->status = status;
	job->signal = signal;
	close_job_handles(job);
}

static void on_job_timer(uv_timer_t *timer)
{
	struct kgb_job *job = timer->data;
	if (job->reaped)
		return;
	if (!job->cancelled && !job->timed_out) {
		job->timed_out = true;
		uv_process_kill(&job->process, SIGTERM);
		uv_timer_start(timer, on_job_timer, (uint64_t)job->broker->grace_ms, 0);
		return;
	}
	uv_process_kill(&job->process, SIGKILL);
}

static void write_request(const struct kgb_job *job, struct kgb_buf *out)
{
	const struct zygotes *zygotes = job->zygotes;
	struct kgb_judge_request request = job->broker->request;

	request.spec = job->spec_path;
	request.kernel = job->kernel_path;
	request.purpose = job->final ? KGB_PURPOSE_FINAL : KGB_PURPOSE_AGENT;
	if (!job->final) {
		request.max_failures = KGB_JUDGE_FAILURES_OF_CHECK;
		request.timing_precision = KGB_PRECISION_QUICK;
	}
	request.device = zygotes->device;
	request.timing = job->timed;
	request.zygotes = zygotes->state == ZYGOTES_READY ? zygotes->dir : NULL;
	request.parent = getpid();
	kgb_judge_request_write(&request, out);
}

static void judge_env(const struct kgb_broker *broker, struct kgb_strv *env)
{
	kgb_child_env(env);
	kgb_strv_addf(env, "KGB_DATA_DIR=%s", broker->data_dir);
}

/** On failure job->err has the reason, and the handles are as uv_spawn left them. */
static int spawn_judge(struct kgb_job *job)
{
	struct kgb_broker *broker = job->broker;
	KGB_AUTO(buf) struct kgb_buf request = KGB_BUF_INIT(0);
	KGB_AUTO(fd) int request_fd = -1;
	write_request(job, &request);
	if (kgb_memfd_of("request", request.ptr, request.len, &request_fd, &job->err) < 0 ||
	    kgb_memfd_empty("verdict", &job->verdict_fd, &job->err) < 0 ||
	    kgb_memfd_empty("judge-stderr", &job->stderr_fd, &job->err) < 0)
		return -1;
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	kgb_strv_add(&argv, broker->judge);
	kgb_strv_add(&argv, "verify");
	judge_env(broker, &env);
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_INHERIT_FD, .data.fd = request_fd},
		{.flags = UV_INHERIT_FD, .data.fd = job->verdict_fd},
		{.flags = UV_INHERIT_FD, .data.fd = job->stderr_fd},
	};
	uv_process_options_t options = {
		.file = broker->judge,
		.args = argv.items,
		.env = env.items,
		.exit_cb = on_judge_exit,
		.stdio = stdio,
		.stdio_count = 3,
		.flags = UV_PROCESS_DETACHED, /* so that the terminal's Ctrl-C signals only
						 kgb-agent */
	};
	int rc = uv_spawn(broker->loop, &job->process, &options);
	job->process.data = job;
	job->open++;
	if (rc < 0)
		return kgb_fail_code(&job->err, KGB_ERR_DOMAIN_UV, KGB_ERR_UNAVAILABLE, rc,
				     "start '%s': %s", broker->judge, uv_strerror(rc));
	job->started = true;
	job->n_tries++;
	kgb_debug("judge %d started on %s: %s of '%s'%s", job->process.pid, job->zygotes->device,
		  job->final ? "final verification" : "check", job->kernel_path,
		  job->zygotes->state == ZYGOTES_READY ? "" : ", without warm workers");
	uv_timer_start(&job->timer, on_job_timer,
		       (uint64_t)(broker->request.timeout_ms + broker->slack_ms), 0);
	set_judging(job, true);
	return 0;
}

/** Move the job from the queue to `running`; on_job_closed removes it there. */
static void move_to_running(struct kgb_job *job)
{
	struct kgb_broker *broker = job->broker;
	unlink_job(&broker->queue, job);
	job->next = broker->running;
	broker->running = job;
	broker->n_running++;
}

static void on_kick(uv_timer_t *timer)
{
	struct kgb_broker *broker = timer->data;
	for (size_t i = 0; i < broker->devices->n; i++)
		if (broker->zygotes[i].state == ZYGOTES_STARTING)
			return;
	while (broker->queue && broker->n_running < broker->max_jobs) {
		struct kgb_job *job = broker->queue;
		move_to_running(job);
		if (spawn_judge(job) < 0)
			close_job_handles(job);
	}
}

static void kick_in(struct kgb_broker *broker, uint64_t delay_ms)
{
	if (!broker->closing)
		uv_timer_start(&broker->kick, on_kick, delay_ms, 0);
}

static void kick(struct kgb_broker *broker)
{
	kick_in(broker, 0);
}

static size_t count_jobs(const struct kgb_job *list, const struct zygotes *zygotes)
{
	size_t n = 0;
	for (; list; list = list->next)
		n += list->zygotes == zygotes;
	return n;
}

const struct kgb_device *kgb_broker_device(const struct kgb_broker *broker,
					   const struct kgb_device *own)
{
	const struct kgb_device *best = own;
	size_t n_least = SIZE_MAX;
	if (!broker->shares_devices)
		return own;
	for (size_t i = 0; i < broker->devices->n; i++) {
		const struct kgb_device *device = &broker->devices->items[i];
		const struct zygotes *zygotes = &broker->zygotes[i];
		size_t n =
			count_jobs(broker->queue, zygotes) + count_jobs(broker->running, zygotes);
		if (n < n_least || (n == n_least && device == own)) {
			n_least = n;
			best = device;
		}
	}
	return best;
}

struct kgb_job *kgb_broker_submit(struct kgb_broker *broker, const struct kgb_job_spec *spec)
{
	KGB_ASSERT(!broker->closing);
	struct kgb_job *job = kgb_xcalloc(1, sizeof(*job));
	*job = (struct kgb_job){
		.broker = broker,
		.spec_path = kgb_xstrdup(spec->spec_path),
		.kernel_path = kgb_xstrdup(spec->kernel_path),
		.zygotes = &broker->zygotes[spec->device - broker->devices->items],
		.final = spec->final,
		.timed = spec->timed,
		.rank = spec->rank,
		.moved = spec->moved,
		.done = spec->done,
		.payload = spec->payload,
		.verdict_fd = -1,
		.stderr_fd = -1,
		.open = 1,
	};
	uv_timer_init(broker->loop, &job->timer);
	job->timer.data = job;
	struct kgb_job **at = &broker->queue;
	while (*at && (*at)->rank <= job->rank)
		at = &(*at)->next;
	job->next = *at;
	*at = job;
	job->moved(job->payload, 1, 0);
	kick(broker);
	return job;
}

void kgb_job_cancel(struct kgb_job *job)
{
	if (job->cancelled || job->reaped)
		return;
	job->cancelled = true;
	if (job->started) {
		uv_process_kill(&job->process, SIGTERM);
		uv_timer_start(&job->timer, on_job_timer, (uint64_t)job->broker->grace_ms, 0);
	} else if (!uv_is_closing((uv_handle_t *)&job->timer)) {
		move_to_running(job);
		close_job_handles(job);
	}
}

/* ---- zygotes ---- */

static void open_zygotes(struct zygotes *zygotes)
{
	struct kgb_broker *broker = zygotes->broker;

	zygotes->state = ZYGOTES_STARTING;
	uv_pipe_init(broker->loop, &zygotes->in, 0);
	uv_pipe_init(broker->loop, &zygotes->out, 0);
	uv_timer_init(broker->loop, &zygotes->timer);
	zygotes->process.data = zygotes->in.data = zygotes->out.data = zygotes->timer.data =
		zygotes;
	zygotes->n_open = 4;
	broker->open += zygotes->n_open;
}

static void on_kick_closed(uv_handle_t *handle)
{
	struct kgb_broker *broker = handle->data;
	broker->open--;
	maybe_closed(broker);
}

static int spawn_zygotes(struct zygotes *zygotes, struct kgb_err *err);
static void settle(struct zygotes *zygotes, enum zygotes_state state);
static void close_zygotes(struct zygotes *zygotes);

static void on_zygotes_closed(uv_handle_t *handle)
{
	struct zygotes *zygotes = handle->data;
	struct kgb_broker *broker = zygotes->broker;
	struct kgb_err err = KGB_ERR_INIT;

	broker->open--;
	zygotes->n_open--;
	if (zygotes->n_open == 0 && !broker->closing && zygotes->n_restarts < RESTARTS_MAX) {
		zygotes->n_restarts++;
		open_zygotes(zygotes);
		if (spawn_zygotes(zygotes, &err) < 0) {
			kgb_warn("warm workers for %s: %s", zygotes->device, err.msg);
			settle(zygotes, ZYGOTES_GONE);
			close_zygotes(zygotes);
		}
	}
	maybe_closed(broker);
}

static void close_handle(void *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_zygotes_closed);
}

static void close_zygotes(struct zygotes *zygotes)
{
	close_handle(&zygotes->process);
	close_handle(&zygotes->in);
	close_handle(&zygotes->out);
	close_handle(&zygotes->timer);
}

static void settle(struct zygotes *zygotes, enum zygotes_state state)
{
	zygotes->state = state;
	if (!zygotes->broker->closing)
		uv_timer_stop(&zygotes->timer);
	kick(zygotes->broker);
}

static void on_zygotes_exit(uv_process_t *process, int64_t status, int signal)
{
	struct zygotes *zygotes = process->data;
	/* Do not restart zygotes that exited before they were ready: they would exit again. */
	const bool restarts = (signal != 0 || zygotes->state == ZYGOTES_READY) &&
			      zygotes->n_restarts < RESTARTS_MAX;
	zygotes->spawned = false;
	if (!restarts)
		zygotes->n_restarts = RESTARTS_MAX;
	if (!zygotes->broker->closing)
		kgb_warn("the warm workers for %s ended (status %lld, signal %d); %s",
			 zygotes->device, (long long)status, signal,
			 restarts ? "others are started"
				  : "verifications start their own from now on");
	settle(zygotes, ZYGOTES_GONE);
	close_zygotes(zygotes);
}

static void on_zygotes_timer(uv_timer_t *timer)
{
	struct zygotes *zygotes = timer->data;
	if (zygotes->spawned)
		uv_process_kill(&zygotes->process, SIGKILL);
}

static void on_zygotes_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	(void)suggested;
	struct zygotes *zygotes = handle->data;
	*buf = uv_buf_init(zygotes->line, sizeof(zygotes->line));
}

/** Their first output is "ready". */
static void on_zygotes_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	(void)buf;
	struct zygotes *zygotes = stream->data;
	if (n > 0 && zygotes->state == ZYGOTES_STARTING)
		settle(zygotes, ZYGOTES_READY);
	if (n < 0)
		uv_read_stop(stream);
}

static int spawn_zygotes(struct zygotes *zygotes, struct kgb_err *err)
{
	const struct kgb_broker *broker = zygotes->broker;
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
	kgb_strv_add(&argv, broker->judge);
	kgb_strv_add(&argv, "zygotes");
	kgb_strv_addf(&argv, "--dir=%s", zygotes->dir);
	kgb_strv_addf(&argv, "--device=%s", zygotes->device);
	kgb_strv_addf(&argv, "--python=%s", broker->request.python);
	/* While they start they do not read stdin, so its end does not stop them. */
	kgb_strv_addf(&argv, "--die-with-parent=%d", (int)getpid());
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	judge_env(broker, &env);
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_CREATE_PIPE | UV_READABLE_PIPE,
		 .data.stream = (uv_stream_t *)&zygotes->in},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		 .data.stream = (uv_stream_t *)&zygotes->out},
		{.flags = UV_INHERIT_FD, .data.fd = 2},
	};
	uv_process_options_t options = {
		.file = broker->judge,
		.args = argv.items,
		.env = env.items,
		.exit_cb = on_zygotes_exit,
		.stdio = stdio,
		.stdio_count = 3,
		.flags = UV_PROCESS_DETACHED,
	};
	int rc = uv_spawn(broker->loop, &zygotes->process, &options);
	if (rc < 0)
		return kgb_fail_code(err, KGB_ERR_DOMAIN_UV, KGB_ERR_UNAVAILABLE, rc,
				     "start '%s': %s", broker->judge, uv_strerror(rc));
	zygotes->spawned = true;
	uv_read_start((uv_stream_t *)&zygotes->out, on_zygotes_alloc, on_zygotes_read);
	uv_timer_start(&zygotes->timer, on_zygotes_timer, ZYGOTES_READY_MS, 0);
	return 0;
}

/** Use shared zygotes if there are any, else start new ones in `dir`. */
static int init_zygotes(struct zygotes *zygotes, struct kgb_broker *broker, const char *device,
			const char *dir, struct kgb_err *err)
{
	zygotes->broker = broker;
	zygotes->device = device;
	zygotes->dir = kgb_shared_zygotes(device, broker->request.python, broker->data_dir);
	zygotes->is_shared = zygotes->dir != NULL;
	if (zygotes->is_shared) {
		zygotes->state = ZYGOTES_READY;
		return 0;
	}
	zygotes->dir = kgb_xasprintf("%s/.zygotes-%s", dir, device);
	open_zygotes(zygotes);
	return spawn_zygotes(zygotes, err);
}

int kgb_broker_start(struct kgb_broker **out, const struct kgb_broker_spec *spec,
		     struct kgb_err *err)
{
	struct kgb_broker *broker = kgb_xcalloc(1, sizeof(*broker));
	*broker = (struct kgb_broker){
		.loop = spec->loop,
		.judge = kgb_path_join(spec->bin_dir, "kgb-judge"),
		.data_dir = kgb_xstrdup(spec->data_dir),
		.request = spec->request,
		.shares_devices = spec->shares_devices,
		.max_jobs = spec->max_jobs,
		.slack_ms = spec->slack_ms,
		.grace_ms = spec->grace_ms,
		.zygotes = kgb_xcalloc(spec->devices->n, sizeof(struct zygotes)),
		.devices = spec->devices,
		.open = 1,
	};
	uv_timer_init(spec->loop, &broker->kick);
	broker->kick.data = broker;
	int rc = 0;
	for (size_t i = 0; i < broker->devices->n; i++)
		if (init_zygotes(&broker->zygotes[i], broker, broker->devices->items[i].name,
				 spec->zygote_dir, err) < 0)
			rc = -1;
	if (rc < 0) {
		kgb_broker_close(broker, NULL, NULL);
		return -1;
	}
	*out = broker;
	return 0;
}

void kgb_broker_close(struct kgb_broker *broker, void (*done)(void *payload), void *payload)
{
	broker->closing = true;
	broker->closed = done;
	broker->closed_payload = payload;
	while (broker->queue)
		kgb_job_cancel(broker->queue);
	for (struct kgb_job *job = broker->running; job; job = job->next)
		kgb_job_cancel(job);
	uv_close((uv_handle_t *)&broker->kick, on_kick_closed);
	for (size_t i = 0; i < broker->devices->n; i++) {
		struct zygotes *zygotes = &broker->zygotes[i];
		if (zygotes->is_shared)
			continue;
		if (zygotes->spawned) {
			/* The end of their stdin is their signal to exit. They read it only after
			 * torch is loaded. */
			if (zygotes->state == ZYGOTES_STARTING)
				uv_process_kill(&zygotes->process, SIGTERM);
			close_handle(&zygotes->in);
			uv_timer_start(&zygotes->timer, on_zygotes_timer,
				       (uint64_t)broker->grace_ms, 0);
		} else {
			close_zygotes(zygotes);
		}
	}
}
