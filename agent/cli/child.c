/* SPDX-License-Identifier: MIT */
#include "agent/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"

#define GRACE_MS 2000

/** The arrays of execve are not const for historical reasons only. */
static char *const *unconst_strv(const char *const *strings)
{
	union {
		const char *const *in;
		char *const *out;
	} u = {.in = strings};
	return u.out;
}

struct child {
	const struct kgb_child_spec *spec;
	pid_t pid;
	int out_fd; /* read end */
	int signal_fd; /* SIGINT, SIGTERM, SIGHUP, SIGCHLD */
	bool ended; /* seen to have ended, not reaped yet: its number stays ours to signal */
	int interrupted;
	int64_t deadline_ms; /* monotonic: end it */
	int64_t kill_ms; /* monotonic: TERM was not enough; 0: not asked yet */
	bool timed_out;
	bool flooded;
};

/** In the child, between fork and exec. Only async-signal-safe calls. */
KGB_NORETURN static void exec_child(const struct kgb_child_spec *spec, int out_fd, int report_fd,
				    pid_t parent, const sigset_t *mask)
{
	int code = 0;
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* The pipe could have been given a number that it must be moved to; dup2 on itself would
	 * keep O_CLOEXEC. */
	int moved = fcntl(out_fd, F_DUPFD_CLOEXEC, 10);
	int report = fcntl(report_fd, F_DUPFD_CLOEXEC, 10);
	if (null_fd < 0 || moved < 0 || report < 0 ||
	    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0 || setpgid(0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    dup2(null_fd, STDIN_FILENO) < 0 || dup2(moved, spec->capture_fd) < 0 ||
	    (spec->quiet && dup2(null_fd, STDERR_FILENO) < 0) ||
	    sigprocmask(SIG_SETMASK, mask, NULL) < 0)
		code = errno ? errno : ESRCH;
	if (code == 0) {
		/* What main() ignores must not be ignored in the child. */
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
		execve(spec->argv[0], unconst_strv(spec->argv), unconst_strv(spec->env));
		code = errno;
	}
	ssize_t n = write(report, &code, sizeof(code));
	(void)n;
	_exit(127);
}

static int start(struct child *child, const sigset_t *mask, struct kgb_err *err)
{
	int out_pipe[2];
	int report_pipe[2];
	if (pipe2(out_pipe, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "pipe");
	KGB_AUTO(fd) int out_read = out_pipe[0];
	KGB_AUTO(fd) int out_write = out_pipe[1];
	if (pipe2(report_pipe, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "pipe");
	KGB_AUTO(fd) int report_read = report_pipe[0];
	KGB_AUTO(fd) int report_write = report_pipe[1];
	pid_t parent = getpid();
	child->pid = fork();
	if (child->pid < 0)
		return kgb_fail_errno(err, errno, "fork");
	if (child->pid == 0)
		exec_child(child->spec, out_write, report_write, parent, mask);
	/* From here on there is a child: failures before the exec are told through the pipe, which
	 * the exec closes. */
	kgb_close(kgb_take_fd(&report_write));
	int code = 0;
	ssize_t n = 0;
	do
		n = read(report_read, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(code)) {
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
		return kgb_fail_errno(err, code, "start '%s'", child->spec->argv[0]);
	}
	child->out_fd = kgb_take_fd(&out_read);
	return 0;
}

/** The whole group: the child may have left helpers behind. */
static void signal_group(const struct child *child, int number)
{
	if (kill(-child->pid, number) < 0)
		kill(child->pid, number);
}

static void ask_to_end(struct child *child)
{
	if (child->kill_ms > 0)
		return;
	signal_group(child, SIGTERM);
	child->kill_ms = kgb_mono_ms() + GRACE_MS;
}

static void on_signal(struct child *child)
{
	struct signalfd_siginfo info;
	if (read(child->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD) {
		siginfo_t status = {0};
		int rc = waitid(P_PID, (id_t)child->pid, &status, WEXITED | WNOWAIT | WNOHANG);
		child->ended = child->ended || (rc == 0 && status.si_pid == child->pid);
		return;
	}
	/* A second signal means: now. */
	if (child->interrupted)
		child->kill_ms = 1;
	child->interrupted = (int)info.ssi_signo;
	ask_to_end(child);
}

static void on_output(struct child *child, struct kgb_buf *out)
{
	char chunk[16384];
	ssize_t n = read(child->out_fd, chunk, sizeof(chunk));
	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		kgb_close(child->out_fd);
		child->out_fd = -1;
		return;
	}
	if (!child->flooded && out->len + (size_t)n > child->spec->limit) {
		child->flooded = true;
		ask_to_end(child);
	}
	if (!child->flooded)
		kgb_buf_add(out, chunk, (size_t)n);
}

/** Milliseconds until something is due. */
static int due_in(const struct child *child)
{
	int64_t due = child->kill_ms > 0 ? child->kill_ms : child->deadline_ms;
	int64_t left = due - kgb_mono_ms();
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static bool has_output(const struct child *child)
{
	struct pollfd out = {.fd = child->out_fd, .events = POLLIN};
	return poll(&out, 1, 0) > 0;
}

static void check_clock(struct child *child)
{
	int64_t now_ms = kgb_mono_ms();
	if (child->kill_ms > 0 && now_ms >= child->kill_ms) {
		signal_group(child, SIGKILL);
		/* Whoever still holds the pipe has left the group: it is waited for no longer. What
		 * is in the pipe by now is read, for on a busy machine we may come late. */
		if (child->ended && (child->flooded || !has_output(child))) {
			kgb_close(child->out_fd);
			child->out_fd = -1;
		}
		child->kill_ms = now_ms + GRACE_MS;
	} else if (child->kill_ms == 0 && now_ms >= child->deadline_ms) {
		child->timed_out = true;
		ask_to_end(child);
	}
}

static void wait_for_end(struct child *child, struct kgb_buf *out)
{
	while (!child->ended || child->out_fd >= 0) {
		struct pollfd fds[2] = {{.fd = child->signal_fd, .events = POLLIN},
					{.fd = child->out_fd, .events = POLLIN}};
		if (poll(fds, 2, due_in(child)) > 0) {
			if (fds[0].revents)
				on_signal(child);
			if (child->out_fd >= 0 && fds[1].revents)
				on_output(child, out);
		}
		/* What the child leaves behind may hold the pipe open; it gets the grace time and
		 * no more. */
		if (child->ended && child->out_fd >= 0)
			ask_to_end(child);
		check_clock(child);
	}
	/* Nothing of the group outlives this call. */
	signal_group(child, SIGKILL);
}

static void reap(const struct child *child, struct kgb_child_end *end)
{
	int status = 0;
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	end->term_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	end->interrupted = child->interrupted;
}

int kgb_child_run(const struct kgb_child_spec *spec, struct kgb_buf *out, struct kgb_child_end *end,
		  struct kgb_err *err)
{
	sigset_t ours;
	sigset_t before;
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &ours, &before) < 0)
		return kgb_fail_errno(err, errno, "sigprocmask");
	struct child child = {
		.spec = spec, .out_fd = -1, .deadline_ms = kgb_mono_ms() + spec->timeout_ms};
	child.signal_fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	int rc = child.signal_fd < 0 ? kgb_fail_errno(err, errno, "signalfd")
				     : start(&child, &before, err);
	if (rc == 0) {
		wait_for_end(&child, out);
		reap(&child, end);
	}
	kgb_close(child.signal_fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (rc < 0)
		return -1;
	if (child.timed_out && !child.interrupted)
		return kgb_fail(err, KGB_ERR_TIMEOUT, "'%s' did not end in time", spec->argv[0]);
	if (child.flooded)
		return kgb_fail(err, KGB_ERR_LIMIT, "'%s' wrote more than %zu bytes", spec->argv[0],
				spec->limit);
	return 0;
}
