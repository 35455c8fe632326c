/* SPDX-License-Identifier: MIT */
#include "sandbox/spawn/sandbox_child.h"

#include <signal.h>
#include <unistd.h>

#include "base/time.h"
#include "sandbox/isolation/pidns.h"

enum {
	SIGNAL_BASE = 128,
	RETRY_MS = 10, /* between checks for a program that has not started, or a tree that has not
			  ended */
	KILL_LIMIT_MS = 30000, /* for the launcher to kill and reap */
	DRAIN_LIMIT_MS = 30000, /* for the status stream to end after the launcher */
	PROOF_LIMIT_MS = 30000,
};

/* One timer serves all of them. Phases only go forward. */
enum phase {
	PHASE_RUNNING,
	PHASE_STOPPING, /* the program was asked to end */
	PHASE_KILLING, /* the launcher was asked to kill everything */
	PHASE_DRAINING, /* the launcher has ended */
	PHASE_PROVING, /* nothing may be left */
	PHASE_CLOSING,
};

static void on_timer(uv_timer_t *timer);

static void arm(struct kgb_sandbox_child *launch, int64_t ms)
{
	int rc = uv_timer_start(&launch->timer, on_timer, ms > 0 ? (uint64_t)ms : 0, 0);

	KGB_ASSERT(rc == 0);
}

static void on_closed(uv_handle_t *handle)
{
	struct kgb_sandbox_child *launch = handle->data;
	struct kgb_sandbox_child_callbacks callbacks = launch->callbacks;

	if (--launch->n_open > 0)
		return;
	kgb_sandbox_release(&launch->sandbox);
	kgb_sandbox_status_release(&launch->status);
	kgb_close(launch->listen_fd);
	launch->listen_fd = -1;
	kgb_close(launch->pidns_fd);
	launch->pidns_fd = -1;
	/* A copy, because the launch may be freed or used again in the callback. */
	struct kgb_sandbox_child_result result = launch->result;
	callbacks.on_done(launch, &result, launch->payload);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void end_status(struct kgb_sandbox_child *launch)
{
	launch->status_ended = true;
	close_handle((uv_handle_t *)&launch->status_pipe);
}

static void end_listen(struct kgb_sandbox_child *launch)
{
	if (launch->listen_ended)
		return;
	launch->listen_ended = true;
	close_handle((uv_handle_t *)&launch->listen_poll);
	/* After uv_close the descriptor is ours alone. */
	kgb_close(launch->sandbox.listen_fd);
	launch->sandbox.listen_fd = -1;
}

static void fill_result(struct kgb_sandbox_child *launch)
{
	struct kgb_sandbox_child_result *result = &launch->result;
	const struct kgb_sandbox_status *status = &launch->status;

	result->started = status->init_pid != 0;
	result->exit_code = status->exit_code;
	/* bwrap was killed before it reported a status: take the launcher's. */
	if (result->started && result->exit_code < 0) {
		result->exit_code = launch->launcher_exit;
		result->walls_died = !result->stop_requested && !result->killed;
	}
	int signo = result->exit_code - SIGNAL_BASE;
	result->term_signal = signo > 0 && signo < NSIG ? signo : 0;
	result->user_ms = status->user_ms;
	result->sys_ms = status->sys_ms;
	result->max_rss_bytes = status->max_rss_bytes;
	if (result->started || result->err.msg[0])
		return;
	if (status->error[0])
		(void)kgb_fail(&result->err, KGB_ERR_UNAVAILABLE, "sandbox: %s", status->error);
	else
		(void)kgb_fail(
			&result->err, KGB_ERR_UNAVAILABLE,
			"sandbox: bwrap ended with status %d before the sandbox existed; its stderr has the reason",
			launch->launcher_exit);
}

/* Count surviving processes. End the launch when none is left, or when waiting longer does not
 * help. */
static void prove(struct kgb_sandbox_child *launch)
{
	uint64_t inode = launch->status.pidns_inode;
	int64_t now_ms = kgb_mono_ms();

	if (launch->phase != PHASE_PROVING) {
		launch->phase = PHASE_PROVING;
		launch->deadline_ms = now_ms + PROOF_LIMIT_MS;
		/* Between its clone and its first report bwrap cannot name the namespace, and it
		 * may end before we read them: use the launcher's report then. */
		launch->result.survivors = launch->status.tree_empty ? 0 : -1;
	}
	if (launch->pidns_fd >= 0)
		launch->result.survivors = kgb_pidns_count(inode);
	if (launch->result.survivors > 0 && now_ms < launch->deadline_ms) {
		/* A survivor has disabled its parent-death signal. */
		kgb_pidns_kill(inode);
		arm(launch, RETRY_MS);
		return;
	}
	fill_result(launch);
	launch->phase = PHASE_CLOSING;
	close_handle((uv_handle_t *)&launch->timer);
}

static void check_end(struct kgb_sandbox_child *launch)
{
	if (!launch->process_ended || launch->phase >= PHASE_PROVING)
		return;
	if (launch->status_ended && launch->listen_ended) {
		prove(launch);
		return;
	}
	if (launch->phase != PHASE_DRAINING) {
		launch->phase = PHASE_DRAINING;
		arm(launch, DRAIN_LIMIT_MS);
	}
}

static void on_child_exit(uv_process_t *process, int64_t exit_status, int term_signal)
{
	struct kgb_sandbox_child *launch = process->data;

	launch->process_ended = true;
	launch->launcher_exit = term_signal ? SIGNAL_BASE + term_signal : (int)exit_status;
	launch->result.wall_ms = kgb_mono_ms() - launch->start_ms;
	close_handle((uv_handle_t *)process);
	check_end(launch);
}

/* Deliver a requested signal if the program runs. */
static void try_signal(struct kgb_sandbox_child *launch)
{
	pid_t init_pid = launch->status.init_pid;

	if (launch->stop_signal && init_pid &&
	    kgb_pidns_signal_children(init_pid, launch->stop_signal) > 0)
		launch->stop_signal = 0;
}

static void on_stop_timer(struct kgb_sandbox_child *launch)
{
	int64_t left_ms = launch->deadline_ms - kgb_mono_ms();

	if (left_ms <= 0) {
		kgb_sandbox_child_kill(launch);
		return;
	}
	try_signal(launch);
	arm(launch, launch->stop_signal && left_ms > RETRY_MS ? RETRY_MS : left_ms);
}

static void on_timer(uv_timer_t *timer)
{
	struct kgb_sandbox_child *launch = timer->data;

	switch ((enum phase)launch->phase) {
	case PHASE_RUNNING: /* the spawn failed, see start_process */
		check_end(launch);
		break;
	case PHASE_STOPPING:
		on_stop_timer(launch);
		break;
	case PHASE_KILLING:
		/* The launcher hangs (a child in an uninterruptible wait): without it, the
		 * parent-death signals remain. */
		(void)uv_process_kill(&launch->process, SIGKILL);
		break;
	case PHASE_DRAINING:
		end_status(launch);
		end_listen(launch);
		prove(launch);
		break;
	case PHASE_PROVING:
		prove(launch);
		break;
	case PHASE_CLOSING:
		break;
	}
}

static void check_ready(struct kgb_sandbox_child *launch)
{
	if (launch->ready_sent || launch->status.init_pid == 0 ||
	    (launch->wants_listener && launch->listen_fd < 0))
		return;
	launch->ready_sent = true;
	int fd = kgb_take_fd(&launch->listen_fd);
	if (launch->callbacks.on_ready)
		launch->callbacks.on_ready(launch, fd, launch->payload);
	else
		kgb_close(fd);
}

static void on_status_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct kgb_sandbox_child *launch = handle->data;

	(void)suggested;
	*buf = uv_buf_init(launch->read_buf, sizeof(launch->read_buf));
}

static void on_status_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
	struct kgb_sandbox_child *launch = stream->data;

	if (len < 0) {
		end_status(launch);
		check_end(launch);
		return;
	}
	kgb_sandbox_status_feed(&launch->status, buf->base, (size_t)len);
	/* An older bwrap names no namespaces. */
	if (launch->status.init_pid && launch->pidns_fd < 0)
		launch->pidns_fd =
			kgb_pidns_hold(launch->status.init_pid, &launch->status.pidns_inode);
	check_ready(launch);
}

static void on_listen_event(uv_poll_t *poll, int status, int events)
{
	struct kgb_sandbox_child *launch = poll->data;

	(void)status;
	(void)events;
	(void)!kgb_sandbox_recv_listener(launch->sandbox.listen_fd, 0, &launch->listen_fd, NULL);
	end_listen(launch);
	check_ready(launch);
	check_end(launch);
}

static int spawn(struct kgb_sandbox_child *launch)
{
	char *no_env[] = {NULL};
	uv_stdio_container_t stdio[KGB_PROC_FDS_MAX + 3];
	int n_stdio = 0;

	for (size_t i = 0; i < KGB_ARRAY_LEN(stdio); i++)
		stdio[i].flags = UV_IGNORE;
	for (size_t i = 0; i < launch->sandbox.n_fds; i++) {
		int to = launch->sandbox.fds[i].to;
		if (to >= (int)KGB_ARRAY_LEN(stdio))
			return UV_EINVAL;
		stdio[to].flags = UV_INHERIT_FD;
		stdio[to].data.fd = launch->sandbox.fds[i].from;
		if (to >= n_stdio)
			n_stdio = to + 1;
	}
	const uv_process_options_t options = {
		.exit_cb = on_child_exit,
		.file = launch->sandbox.argv.items[0],
		.args = launch->sandbox.argv.items,
		.env = launch->sandbox.env.n ? launch->sandbox.env.items : no_env,
		.flags = UV_PROCESS_DETACHED,
		.stdio_count = n_stdio,
		.stdio = stdio,
	};
	return uv_spawn(launch->loop, &launch->process, &options);
}

/* After uv_spawn the process handle must be closed even when it failed, which needs the loop: so
 * on_done reports that error. */
static void start_process(struct kgb_sandbox_child *launch)
{
	int rc = spawn(launch);

	launch->process.data = launch;
	launch->n_open++;
	kgb_sandbox_close_child_fds(&launch->sandbox);
	if (rc == 0)
		return;
	(void)kgb_fail_code(&launch->result.err, KGB_ERR_DOMAIN_UV, KGB_ERR_FAILED, rc,
			    "start '%s': %s", launch->sandbox.argv.items[0], uv_strerror(rc));
	launch->process_ended = true;
	close_handle((uv_handle_t *)&launch->process);
	arm(launch, 0);
}

static void start_handles(struct kgb_sandbox_child *launch)
{
	int rc = uv_timer_init(launch->loop, &launch->timer);
	KGB_ASSERT(rc == 0);
	launch->timer.data = launch;
	launch->n_open++;

	rc = uv_pipe_init(launch->loop, &launch->status_pipe, 0);
	KGB_ASSERT(rc == 0);
	launch->status_pipe.data = launch;
	launch->n_open++;
	rc = uv_pipe_open(&launch->status_pipe, kgb_take_fd(&launch->sandbox.status_fd));
	KGB_ASSERT(rc == 0);
	rc = uv_read_start((uv_stream_t *)&launch->status_pipe, on_status_alloc, on_status_read);
	KGB_ASSERT(rc == 0);

	launch->listen_ended = !launch->wants_listener;
	if (!launch->wants_listener)
		return;
	rc = uv_poll_init(launch->loop, &launch->listen_poll, launch->sandbox.listen_fd);
	KGB_ASSERT(rc == 0);
	launch->listen_poll.data = launch;
	launch->n_open++;
	rc = uv_poll_start(&launch->listen_poll, UV_READABLE | UV_DISCONNECT, on_listen_event);
	KGB_ASSERT(rc == 0);
}

int kgb_sandbox_child_start(struct kgb_sandbox_child *launch, uv_loop_t *loop,
			    const struct kgb_sandbox_spec *spec,
			    const struct kgb_sandbox_child_callbacks *callbacks, void *payload,
			    struct kgb_err *err)
{
	struct kgb_sandbox sandbox;

	KGB_ASSERT(callbacks->on_done);
	if (kgb_sandbox_prepare(&sandbox, spec, err) < 0)
		return -1;
	*launch = (struct kgb_sandbox_child){
		.loop = loop,
		.callbacks = *callbacks,
		.payload = payload,
		.phase = PHASE_RUNNING,
		.sandbox = sandbox,
		.result = {.exit_code = -1, .survivors = -1},
		.wants_listener = spec->policy->network == KGB_NETWORK_LISTENER,
		.listen_fd = -1,
		.pidns_fd = -1,
		.start_ms = kgb_mono_ms(),
	};
	kgb_sandbox_status_init(&launch->status);
	start_handles(launch);
	start_process(launch);
	return 0;
}

void kgb_sandbox_child_stop(struct kgb_sandbox_child *launch, int signo, int64_t grace_ms)
{
	int64_t deadline_ms = kgb_mono_ms() + grace_ms;

	if (launch->process_ended || launch->phase > PHASE_STOPPING)
		return;
	launch->result.stop_requested = true;
	if (launch->phase == PHASE_RUNNING || deadline_ms < launch->deadline_ms)
		launch->deadline_ms = deadline_ms;
	launch->phase = PHASE_STOPPING;
	launch->stop_signal = signo;
	on_stop_timer(launch);
}

void kgb_sandbox_child_kill(struct kgb_sandbox_child *launch)
{
	if (launch->process_ended || launch->phase >= PHASE_KILLING)
		return;
	launch->result.stop_requested = true;
	launch->result.killed = true;
	launch->phase = PHASE_KILLING;
	(void)uv_process_kill(&launch->process, SIGTERM);
	arm(launch, KILL_LIMIT_MS);
}

pid_t kgb_sandbox_child_pid(const struct kgb_sandbox_child *launch)
{
	return launch->process_ended ? 0 : launch->process.pid;
}
