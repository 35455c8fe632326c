/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-launch: the supervisor of one sandbox. It runs a command (bwrap) as its child, kills
 * everything below itself when the parent dies or on SIGTERM, SIGINT or SIGHUP, and exits, with the
 * command's status (128+N for signal N), only when nothing below it is left.
 *
 *     kgb-launch --parent PID [OPTION VALUE]... -- COMMAND [ARG]...
 *
 * --parent     exit when this process is not, or no longer, the parent
 * --status-fd  write one JSON line there at the end (and one when the start fails)
 * --listen     put the command into an empty network namespace with loopback up, listen there on
 * 127.0.0.1:PORT and send the listening socket over the socket --send-fd
 * --keep       the command inherits this descriptor; all others above 2 are closed
 * --limit      for each process: nofile, nproc, fsize or as; the core limit is always 0. For all
 * together: tasks, memory, nameless (see launch_limits.c)
 * --cgroup-v2, --cgroup-pids, --cgroup-memory  make a cgroup in this directory for the command
 * --private    record attempts to open files below this directory of the host (with --calls-fd)
 * --calls-fd   a socket over which kgb-confine sends the listener of its system-call filter
 *
 * `bwrap --die-with-parent` alone is not enough: between bwrap's clone and its own prctl a dead
 * parent goes unnoticed and the sandbox would live on. This process is a subreaper, so such an
 * orphan returns to it and is killed. Static and without any library, because one process stays in
 * memory for each attempt. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/pass_fd.h"
#include "sandbox/launch/launch_calls.h"
#include "sandbox/launch/launch_limits.h"

enum {
	EXIT_USAGE = 2,
	EXIT_SETUP = 125,
	EXIT_EXEC = 127,
	SIGNAL_BASE = 128,
	KEEP_MAX = 64,
	LIMITS_MAX = 8,
	BACKLOG = 128,
	TEXT_MAX = 256,
	REACH_MS = 5, /* for the death of bwrap to end its processes */
};

struct limit {
	int resource;
	rlim_t value;
};

struct options {
	pid_t parent;
	int status_fd;
	int send_fd;
	int calls_fd;
	uint16_t port;
	int keep[KEEP_MAX];
	size_t n_keep;
	struct limit limits[LIMITS_MAX];
	size_t n_limits;
	struct launch_limits together;
	const char *private_paths[PRIVATE_PATHS_MAX];
	size_t n_private;
	char **command;
};

/* One line {"launch-error":"..."} for the caller, or plain text for a person; then the end. The
 * texts contain no character that JSON escapes. */
static __attribute__((noreturn)) void die(const struct options *options, const char *what)
{
	const char *why = strerrordesc_np(errno);

	if (options->status_fd >= 0)
		(void)dprintf(options->status_fd, "{\"launch-error\":\"%s: %s\"}\n", what, why);
	else
		(void)dprintf(STDERR_FILENO, "kgb-launch: %s: %s\n", what, why);
	_exit(EXIT_SETUP);
}

static __attribute__((noreturn)) void usage(void)
{
	(void)dprintf(
		STDERR_FILENO,
		"usage: kgb-launch --parent PID [--status-fd FD] [--listen PORT --send-fd FD] "
		"[--calls-fd FD] [--keep FD]... [--limit NAME=N]... [--cgroup-v2 DIR] "
		"[--cgroup-pids DIR] [--cgroup-memory DIR] -- COMMAND [ARG]...\n");
	_exit(EXIT_USAGE);
}

/* A decimal number up to max; anything else is a usage error. */
static uint64_t number(const char *text, uint64_t max)
{
	uint64_t value = 0;

	if (!text || !*text)
		usage();
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			usage();
		uint64_t digit = (uint64_t)(*text - '0');
		if (value > (max - digit) / 10)
			usage();
		value = 10 * value + digit;
	}
	return value;
}

static void parse_limit(struct options *options, const char *text)
{
	const struct {
		const char *name;
		int resource;
		int64_t *together;
	} names[] = {{"nofile=", RLIMIT_NOFILE, NULL},
		     {"nproc=", RLIMIT_NPROC, NULL},
		     {"fsize=", RLIMIT_FSIZE, NULL},
		     {"as=", RLIMIT_AS, NULL},
		     {"tasks=", 0, &options->together.n_tasks},
		     {"memory=", 0, &options->together.memory_bytes},
		     {"nameless=", 0, &options->together.nameless_bytes}};

	for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i].name);
		if (strncmp(text, names[i].name, len) != 0)
			continue;
		uint64_t value = number(text + len, INT64_MAX);
		if (names[i].together)
			*names[i].together = (int64_t)value;
		else if (options->n_limits < LIMITS_MAX)
			options->limits[options->n_limits++] =
				(struct limit){names[i].resource, value};
		return;
	}
	usage();
}

static void parse_option(struct options *options, const char *option, const char *value)
{
	const struct {
		const char *name;
		int *number; /* of a descriptor or a process */
		const char **text;
	} rows[] = {
		{"--parent", &options->parent, NULL},
		{"--status-fd", &options->status_fd, NULL},
		{"--send-fd", &options->send_fd, NULL},
		{"--calls-fd", &options->calls_fd, NULL},
		{"--cgroup-v2", NULL, &options->together.cgroup_v2},
		{"--cgroup-pids", NULL, &options->together.cgroup_pids},
		{"--cgroup-memory", NULL, &options->together.cgroup_memory},
		{"--keep", options->n_keep < KEEP_MAX ? &options->keep[options->n_keep] : NULL,
		 NULL},
		{"--private", NULL,
		 options->n_private < PRIVATE_PATHS_MAX
			 ? &options->private_paths[options->n_private]
			 : NULL},
	};

	for (size_t i = 0; value && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(option, rows[i].name) != 0)
			continue;
		if (rows[i].number)
			*rows[i].number = (int)number(value, INT32_MAX);
		else if (rows[i].text)
			*rows[i].text = value;
		else
			usage();
		options->n_keep += strcmp(option, "--keep") == 0;
		options->n_private += strcmp(option, "--private") == 0;
		return;
	}
	if (strcmp(option, "--listen") == 0)
		options->port = (uint16_t)number(value, UINT16_MAX);
	else if (strcmp(option, "--limit") == 0)
		parse_limit(options, value);
	else
		usage();
}

static void parse(struct options *options, char **argv)
{
	*options = (struct options){.status_fd = -1, .send_fd = -1, .calls_fd = -1};
	for (argv++; *argv && strcmp(*argv, "--") != 0; argv += 2)
		parse_option(options, argv[0], argv[1]);
	if (!*argv || !argv[1] || options->parent == 0 ||
	    (options->port != 0) != (options->send_fd >= 0))
		usage();
	options->command = argv + 1;
}

/* Request `signo` for the death of the parent, and exit now if it has died already. */
static void bind_to_parent(const struct options *options, pid_t parent, int signo)
{
	if (prctl(PR_SET_PDEATHSIG, signo) < 0)
		die(options, "set the parent-death signal");
	if (getppid() != parent)
		_exit(SIGNAL_BASE + SIGKILL);
}

static bool is_kept(const struct options *options, int fd)
{
	if (fd <= STDERR_FILENO || fd == options->status_fd || fd == options->send_fd ||
	    fd == options->calls_fd)
		return true;
	for (size_t i = 0; i < options->n_keep; i++)
		if (options->keep[i] == fd)
			return true;
	return false;
}

static void close_other_fds(const struct options *options)
{
	int highest = options->status_fd > options->send_fd ? options->status_fd : options->send_fd;

	if (options->calls_fd > highest)
		highest = options->calls_fd;
	for (size_t i = 0; i < options->n_keep; i++)
		if (options->keep[i] > highest)
			highest = options->keep[i];
	for (int fd = STDERR_FILENO + 1; fd <= highest; fd++)
		if (!is_kept(options, fd))
			(void)close(fd);
	if (highest < STDERR_FILENO)
		highest = STDERR_FILENO;
	if (syscall(SYS_close_range, (unsigned)highest + 1, ~0u, 0) < 0)
		die(options, "close inherited descriptors");
}

/* Close our copies of the command's descriptors: they would hide the program's hang-up from its
 * peers. */
static void close_command_fds(const struct options *options)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	for (size_t i = 0; i < options->n_keep; i++)
		if (options->keep[i] != options->status_fd)
			(void)close(options->keep[i]);
	if (options->send_fd >= 0)
		(void)close(options->send_fd);
}

static void write_file(const struct options *options, const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(options, path);
	(void)close(fd);
}

/* Enter a new network namespace inside a new user namespace that maps only ourselves, which plain
 * users may do. Root does the same, so that tests cover one way. */
static void enter_network_namespace(const struct options *options)
{
	char map[TEXT_MAX];
	unsigned uid = geteuid();
	unsigned gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		die(options, "make a user and a network namespace");
	write_file(options, "/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	write_file(options, "/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	write_file(options, "/proc/self/gid_map", map);
}

static int listen_on_loopback(const struct options *options)
{
	struct ifreq request = {.ifr_name = "lo"};
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(options->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		die(options, "bring the loopback interface up");
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		die(options, "listen on the loopback interface");
	return fd;
}

/* When memory runs out, the kernel must kill the sandbox and not the judge. Every supported kernel
 * has the file, and the sandbox does not depend on it for isolation. */
static void volunteer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	(void)!write(fd, "1000", 4);
	(void)close(fd);
}

/* Set at most `value`: a lower limit of the caller stays. */
static int lower_limit(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -1;
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

static __attribute__((noreturn)) void run_command(const struct options *options,
						  const struct launch_watch *watch, pid_t launcher)
{
	const struct rlimit no_core = {0, 0};
	sigset_t none;

	sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	bind_to_parent(options, launcher, SIGKILL);
	volunteer_for_oom();
	if (launch_watch_enter(watch) < 0)
		die(options, "enter a cgroup");
	if (options->calls_fd >= 0)
		(void)close(options->calls_fd);
	if (options->port) {
		enter_network_namespace(options);
		if (!kgb_pass_fd(options->send_fd, listen_on_loopback(options)))
			die(options, "send the listening socket");
		/* A change of credentials may clear the parent-death signal. */
		bind_to_parent(options, launcher, SIGKILL);
	}
	(void)setrlimit(RLIMIT_CORE, &no_core);
	for (size_t i = 0; i < options->n_limits; i++)
		if (lower_limit((__rlimit_resource_t)options->limits[i].resource,
				options->limits[i].value) < 0)
			die(options, "set a resource limit");
	execv(options->command[0], options->command);
	die(options, "execute the sandbox program");
}

/* The state of the launcher while the command runs. */
struct supervision {
	pid_t command;
	int command_status;
	bool command_ended;
	bool ending;
	int64_t ending_ms; /* since when */
	bool searched; /* search for processes that survived the end of bwrap */
	int signal_fd;
	struct launch_watch *watch;
	struct launch_calls *calls;
};

static void begin_ending(struct supervision *s)
{
	if (!s->ending)
		s->ending_ms = launch_now_ms();
	s->ending = true;
}

/* kill_rest does the rest in the next rounds. */
static void end_all(struct supervision *s)
{
	begin_ending(s);
	launch_watch_kill(s->watch);
}

/* SIGKILL for each child, also inherited ones. Their numbers cannot be reused: only the launcher
 * reaps them. */
static void kill_children(void)
{
	DIR *proc = opendir("/proc");

	if (!proc)
		return;
	for (struct dirent *entry; (entry = readdir(proc));) {
		pid_t pid = 0;
		const char *digit = entry->d_name;
		for (; *digit >= '0' && *digit <= '9'; digit++)
			pid = 10 * pid + (*digit - '0');
		if (pid > 0 && !*digit && kgb_proc_tree_parent(pid) == getpid())
			(void)kill(pid, SIGKILL);
	}
	(void)closedir(proc);
}

/* The death of bwrap ends all others by parent-death signals and the PID namespace. Search all of
 * /proc only for a process that was not ready for such a signal: this takes milliseconds on a full
 * machine. */
static void kill_rest(struct supervision *s)
{
	if (!s->command_ended)
		(void)kill(s->command, SIGKILL);
	s->searched = launch_now_ms() - s->ending_ms >= REACH_MS;
	if (s->searched)
		kill_children();
}

/* Reap ended children; false when none is left. */
static bool reap(struct supervision *s)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			return false;
		if (pid <= 0)
			break;
		if (pid == s->command) {
			s->command_status = status;
			s->command_ended = true;
			begin_ending(s);
		}
	}
	/* A process orphaned by a kill becomes our child: the next round finds it. */
	if (s->ending)
		kill_rest(s);
	return true;
}

static void on_signals(struct supervision *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			end_all(s);
}

/* Milliseconds until the next timed work, -1: none. */
static int interval_ms(const struct supervision *s)
{
	if (!s->ending)
		return launch_watch_interval_ms(s->watch);
	return s->searched ? -1 : REACH_MS;
}

/* Run until no process is left; returns the command's wait status. */
static int supervise(struct supervision *s)
{
	while (reap(s)) {
		struct pollfd fds[] = {{.fd = s->signal_fd, .events = POLLIN},
				       {.fd = launch_calls_fd(s->calls), .events = POLLIN}};
		if (poll(fds, 2, interval_ms(s)) < 0)
			continue;
		if (fds[0].revents)
			on_signals(s);
		if (fds[1].revents)
			launch_calls_serve(s->calls);
		if (!s->ending && launch_watch_look(s->watch))
			end_all(s);
	}
	return s->command_status;
}

static long long milliseconds(struct timeval time)
{
	return 1000LL * time.tv_sec + time.tv_usec / 1000;
}

/* 128+N for signal N. */
static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_BASE + WTERMSIG(status);
}

static void report(const struct options *options)
{
	struct rusage all;

	if (options->status_fd >= 0 && getrusage(RUSAGE_CHILDREN, &all) == 0)
		(void)dprintf(
			options->status_fd,
			"{\"tree-empty\":true,\"user-ms\":%lld,\"sys-ms\":%lld,\"max-rss-bytes\":%lld}\n",
			milliseconds(all.ru_utime), milliseconds(all.ru_stime),
			1024LL * all.ru_maxrss);
}

/* From here on signals arrive as readable data. */
static int block_signals(const struct options *options)
{
	static const int signos[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(signos) / sizeof(signos[0]); i++)
		sigaddset(&signals, signos[i]);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
	int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die(options, "wait for signals");
	return fd;
}

int main(int argc, char **argv)
{
	static struct launch_watch watch;
	static struct launch_calls calls;
	struct options options;
	const char *what;

	(void)argc;
	parse(&options, argv);
	/* Do not send SIGKILL: our death would leave the cleanup to bwrap. */
	bind_to_parent(&options, options.parent, SIGTERM);
	close_other_fds(&options);
	(void)setsid();
	int signal_fd = block_signals(&options);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		die(&options, "become a subreaper");
	calls.socket_fd = options.calls_fd;
	calls.listener_fd = -1;
	memcpy(calls.private_paths, options.private_paths, sizeof(options.private_paths));
	if (launch_watch_start(&watch, &options.together, &what) < 0) {
		int code = errno;
		launch_watch_finish(&watch, -1);
		errno = code;
		die(&options, what);
	}

	pid_t launcher = getpid();
	pid_t command = launch_watch_fork(&watch);
	if (command < 0)
		die(&options, "fork");
	if (command == 0)
		run_command(&options, &watch, launcher);
	launch_watch_started(&watch);
	close_command_fds(&options);
	struct supervision s = {
		.command = command,
		.signal_fd = signal_fd,
		.watch = &watch,
		.calls = &calls,
	};
	int status = supervise(&s);

	launch_calls_finish(&calls, options.status_fd);
	launch_watch_finish(&watch, options.status_fd);
	report(&options);
	return exit_code(status);
}
