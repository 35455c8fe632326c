/* SPDX-License-Identifier: MIT */
#include "base/system/proc.h"

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
#include "base/system/memfd.h"
#include "base/time.h"

enum { GRACE_MS = 2000, STATUS_EXEC_FAILED = 127 };

/** The arrays of execve are not const for historical reasons only. */
static char *const *unconst_strv(const char *const *strings)
{
	union {
		const char *const *in;
		char *const *out;
	} u = {.in = strings};
	return u.out;
}

/* First number above all descriptors of the child. */
static int scratch_base(const struct kgb_proc_start_spec *spec)
{
	int base = STDERR_FILENO + 1;

	for (size_t i = 0; i < spec->n_fds; i++)
		if (spec->fds[i].to >= base)
			base = spec->fds[i].to + 1;
	return base;
}

/* A copy numbered `base` or more; -1 with errno. */
static int move_up(int fd, int base)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, base);

	if (moved < 0 && errno == EINVAL) /* `base` is more than `ulimit -n` allows */
		errno = EMFILE;
	return moved;
}

/* Move all descriptors to high numbers, then to their places, so that no number is overwritten
 * before its use. */
static int place_fds(const struct kgb_proc_start_spec *spec, int base)
{
	int moved[KGB_PROC_FDS_MAX];

	for (size_t i = 0; i < spec->n_fds; i++)
		if ((moved[i] = move_up(spec->fds[i].from, base)) < 0)
			return -1;
	for (size_t i = 0; i < spec->n_fds; i++)
		if (dup2(moved[i], spec->fds[i].to) < 0)
			return -1;
	return 0;
}

/** In the child, between fork and exec: only async-signal-safe calls. */
KGB_NORETURN static void become(const struct kgb_proc_start_spec *spec, int base, int report_fd,
				pid_t parent)
{
	const struct sigaction default_action = {.sa_handler = SIG_DFL};
	sigset_t none;
	int report = move_up(report_fd, base);

	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &default_action, NULL);
	sigemptyset(&none);
	(void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	if (report < 0) {
		report = report_fd;
	} else if (place_fds(spec, base) == 0 &&
		   (!spec->own_group ||
		    (setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0))) {
		if (spec->own_group && getppid() != parent)
			_exit(STATUS_EXEC_FAILED);
		(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
		execve(spec->argv[0], unconst_strv(spec->argv), unconst_strv(spec->env));
	}
	int code = errno;
	ssize_t n = write(report, &code, sizeof(code));
	(void)n;
	_exit(STATUS_EXEC_FAILED);
}

int kgb_proc_start(const struct kgb_proc_start_spec *spec, pid_t *out_pid, struct kgb_err *err)
{
	int report[2];
	int code = 0;
	ssize_t n;

	KGB_ASSERT(spec->n_fds <= KGB_PROC_FDS_MAX);
	if (pipe2(report, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int report_read = report[0];
	KGB_AUTO(fd) int report_write = report[1];
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return kgb_fail_errno(err, errno, "fork '%s'", spec->argv[0]);
	if (pid == 0)
		become(spec, scratch_base(spec), report_write, parent);
	/* The child reports a failure through the pipe; a successful exec closes it. */
	kgb_close(kgb_take_fd(&report_write));
	while ((n = read(report_read, &code, sizeof(code))) < 0 && errno == EINTR)
		;
	if (n == (ssize_t)sizeof(code)) {
		(void)kgb_proc_wait(pid);
		return kgb_fail_errno(err, code, "start '%s'", spec->argv[0]);
	}
	*out_pid = pid;
	return 0;
}

struct kgb_proc_end kgb_proc_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return (struct kgb_proc_end){
		.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		.term_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	};
}

bool kgb_proc_drain(int fd, int64_t deadline_ms, struct kgb_buf *out)
{
	for (;;) {
		char part[4096];
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		int64_t left_ms = deadline_ms - kgb_mono_ms();
		int n = poll(&poll_fd, 1, left_ms > 0 ? (int)left_ms : 0);
		if (n == 0)
			return false;
		ssize_t len = n < 0 ? -1 : read(fd, part, sizeof(part));
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return true;
		(void)kgb_buf_add(out, part, (size_t)len);
	}
}

struct child {
	const struct kgb_proc_spec *spec;
	pid_t pid;
	int out_fd; /* read end */
	int signal_fd; /* SIGINT, SIGTERM, SIGHUP, SIGCHLD */
	bool ended; /* not reaped yet, so its number is still safe to signal */
	int interrupted;
	int64_t deadline_ms; /* monotonic: send TERM */
	int64_t kill_ms; /* monotonic: send KILL; 0: TERM was not sent yet */
	bool timed_out;
	bool flooded;
};

static int start(struct child *child, struct kgb_err *err)
{
	const struct kgb_proc_spec *spec = child->spec;
	KGB_AUTO(fd) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	KGB_AUTO(fd) int input_fd = -1;
	const struct kgb_buf *input = spec->input;
	int out_pipe[2];

	if (null_fd < 0)
		return kgb_fail_errno(err, errno, "open '/dev/null'");
	if (input && kgb_memfd_of("input", input->ptr, input->len, &input_fd, err) < 0)
		return -1;
	if (pipe2(out_pipe, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int out_read = out_pipe[0];
	KGB_AUTO(fd) int out_write = out_pipe[1];
	const struct kgb_fdmap fds[] = {{.from = input ? input_fd : null_fd, .to = STDIN_FILENO},
					{.from = out_write, .to = spec->capture_fd},
					{.from = null_fd, .to = STDERR_FILENO}};
	const struct kgb_proc_start_spec start = {.argv = spec->argv,
						  .env = spec->env,
						  .fds = fds,
						  .n_fds = spec->quiet ? 3 : 2,
						  .own_group = true};
	if (kgb_proc_start(&start, &child->pid, err) < 0)
		return -1;
	child->out_fd = kgb_take_fd(&out_read);
	return 0;
}

/** Signal the whole group: the child may have left helpers behind. */
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
	/* A second signal kills at once. */
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
		/* A process that left the group may still hold the pipe: stop waiting for it, but
		 * first read what is in the pipe, because a busy machine may run us late. */
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
		/* Processes that the child left behind may hold the pipe open: wait for them only
		 * for the grace time. */
		if (child->ended && child->out_fd >= 0)
			ask_to_end(child);
		check_clock(child);
	}
	/* No process of the group outlives this call. */
	signal_group(child, SIGKILL);
}

int kgb_proc_run(const struct kgb_proc_spec *spec, struct kgb_buf *out, struct kgb_proc_end *end,
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
	int rc = child.signal_fd < 0 ? kgb_fail_errno(err, errno, "signalfd") : start(&child, err);
	if (rc == 0) {
		wait_for_end(&child, out);
		*end = kgb_proc_wait(child.pid);
		end->interrupted = child.interrupted;
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
