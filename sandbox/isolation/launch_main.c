/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-launch: the supervisor of one sandbox. It runs a command (bwrap) as its child, kills
 * everything below itself when the parent dies or it gets SIGTERM, SIGINT or SIGHUP, and exits,
 * with the command's status (128+N for signal N), only when nothing below it is left.
 *
 *     kgb-launch --parent PID [--status-fd FD] [--listen PORT --send-fd FD] [--keep FD]... [--limit
 * NAME=N]...
 *                -- COMMAND [ARG]...
 *
 * --parent     exit when this process is not, or no longer, the parent
 * --status-fd  write one JSON line there at the end (and one when the start fails)
 * --listen     put the command into an empty network namespace with loopback up, listen there on
 * 127.0.0.1:PORT and send the listening socket over the socket --send-fd
 * --keep       the command inherits this descriptor; all others above 2 are closed
 * --limit      nofile, nproc, fsize or as; the core limit is always 0
 *
 * Why not only `bwrap --die-with-parent`: between bwrap's clone and its own prctl a dead parent
 * goes unnoticed and the sandbox would live on. This process is a subreaper, so such an orphan
 * comes back to it and is killed. Static and without any library, because one stays in memory for
 * each attempt.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,
	EXIT_SETUP = 125,
	EXIT_EXEC = 127,
	SIGNAL_BASE = 128,
	KEEP_MAX = 64,
	LIMITS_MAX = 8,
	BACKLOG = 128,
	TEXT_MAX = 256,
};

struct limit {
	int resource;
	rlim_t value;
};

struct options {
	pid_t parent;
	int status_fd;
	int send_fd;
	uint16_t port;
	int keep[KEEP_MAX];
	size_t n_keep;
	struct limit limits[LIMITS_MAX];
	size_t n_limits;
	char **command;
};

/* One line {"launch-error":"..."} for the caller, or plain text for a person; then the end. The
 * texts hold nothing that JSON would need escaped. */
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
		"usage: kgb-launch --parent PID [--status-fd FD] [--listen PORT --send-fd FD] [--keep FD]... "
		"[--limit NAME=N]... -- COMMAND [ARG]...\n");
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

static struct limit parse_limit(const char *text)
{
	static const struct {
		const char *name;
		int resource;
	} names[] = {{"nofile=", RLIMIT_NOFILE},
		     {"nproc=", RLIMIT_NPROC},
		     {"fsize=", RLIMIT_FSIZE},
		     {"as=", RLIMIT_AS}};

	for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i].name);
		if (strncmp(text, names[i].name, len) == 0)
			return (struct limit){names[i].resource, number(text + len, INT64_MAX)};
	}
	usage();
}

static void parse(struct options *options, char **argv)
{
	*options = (struct options){.status_fd = -1, .send_fd = -1};
	for (argv++; *argv && strcmp(*argv, "--") != 0; argv += 2) {
		const char *value = argv[1];
		if (strcmp(*argv, "--parent") == 0)
			options->parent = (pid_t)number(value, INT32_MAX);
		else if (strcmp(*argv, "--status-fd") == 0)
			options->status_fd = (int)number(value, INT32_MAX);
		else if (strcmp(*argv, "--send-fd") == 0)
			options->send_fd = (int)number(value, INT32_MAX);
		else if (strcmp(*argv, "--listen") == 0)
			options->port = (uint16_t)number(value, UINT16_MAX);
		else if (strcmp(*argv, "--keep") == 0 && options->n_keep < KEEP_MAX)
			options->keep[options->n_keep++] = (int)number(value, INT32_MAX);
		else if (strcmp(*argv, "--limit") == 0 && options->n_limits < LIMITS_MAX)
			options->limits[options->n_limits++] = parse_limit(value);
		else
			usage();
	}
	if (!*argv || !argv[1] || options->parent == 0 ||
	    (options->port != 0) != (options->send_fd >= 0))
		usage();
	options->command = argv + 1;
}

/* Get `signo` when the parent dies; and if it has died already, end now. */
static void bind_to_parent(const struct options *options, pid_t parent, int signo)
{
	if (prctl(PR_SET_PDEATHSIG, signo) < 0)
		die(options, "set the parent-death signal");
	if (getppid() != parent)
		_exit(SIGNAL_BASE + SIGKILL);
}

static bool is_kept(const struct options *options, int fd)
{
	if (fd <= STDERR_FILENO || fd == options->status_fd || fd == options->send_fd)
		return true;
	for (size_t i = 0; i < options->n_keep; i++)
		if (options->keep[i] == fd)
			return true;
	return false;
}

static void close_other_fds(const struct options *options)
{
	int highest = STDERR_FILENO;

	for (size_t i = 0; i < options->n_keep; i++)
		if (options->keep[i] > highest)
			highest = options->keep[i];
	if (options->status_fd > highest)
		highest = options->status_fd;
	if (options->send_fd > highest)
		highest = options->send_fd;
	for (int fd = STDERR_FILENO + 1; fd <= highest; fd++)
		if (!is_kept(options, fd))
			(void)close(fd);
	if (syscall(SYS_close_range, (unsigned)highest + 1, ~0u, 0) < 0)
		die(options, "close inherited descriptors");
}

/* The command has them; with a copy here, whoever talks with the program would not see it hang up.
 */
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

/* Into a new network namespace, as a user may: inside a new user namespace that maps only
 * ourselves. Root takes the same way, so that there is one way to test. */
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

static void send_fd(const struct options *options, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	if (sendmsg(options->send_fd, &msg, MSG_NOSIGNAL) != 1)
		die(options, "send the listening socket");
	(void)close(fd);
	(void)close(options->send_fd);
}

/* When memory runs out, the kernel shall take from the sandbox and not from who is judging it. No
 * kernel without the file is known, but a sandbox without it is no less tight. */
static void volunteer_for_oom(void)
{
	static const char most[] = "1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	ssize_t written = write(fd, most, sizeof(most) - 1);
	(void)written;
	(void)close(fd);
}

/* At most `value`: what the caller itself is not allowed stays as it is. */
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

static __attribute__((noreturn)) void run_command(const struct options *options, pid_t launcher)
{
	const struct rlimit no_core = {0, 0};
	sigset_t none;

	sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	bind_to_parent(options, launcher, SIGKILL);
	volunteer_for_oom();
	if (options->port) {
		enter_network_namespace(options);
		send_fd(options, listen_on_loopback(options));
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

/* Parent of a process from /proc/PID/stat, 0 when it is gone. */
static pid_t parent_of(const char *pid)
{
	char path[TEXT_MAX];
	char text[TEXT_MAX];
	pid_t parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t len = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	/* "pid (name) S ppid": the name may hold brackets and blanks. */
	const char *end = strrchr(text, ')');
	if (!end || strlen(end) < sizeof(") S "))
		return 0;
	for (const char *digit = end + sizeof(") S ") - 1; *digit >= '0' && *digit <= '9'; digit++)
		parent = 10 * parent + (*digit - '0');
	return parent;
}

/* Kill each child, also those inherited as a subreaper. They cannot be reused numbers: only we reap
 * them. */
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
		if (pid > 0 && !*digit && parent_of(entry->d_name) == getpid())
			(void)kill(pid, SIGKILL);
	}
	(void)closedir(proc);
}

/* Reap until nothing is left; returns the command's wait status. */
static int supervise(pid_t command, const sigset_t *signals)
{
	int command_status = 0;
	bool ending = false;

	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			return command_status;
		if (pid == command) {
			command_status = status;
			ending = true;
		}
		if (pid > 0)
			continue;
		/* Whoever is orphaned by a kill becomes our child and is found in the next round.
		 */
		if (ending)
			kill_children();
		siginfo_t info;
		if (sigwaitinfo(signals, &info) > 0 && info.si_signo != SIGCHLD) {
			ending = true;
			kill_children();
		}
	}
}

static long long milliseconds(struct timeval time)
{
	return 1000LL * time.tv_sec + time.tv_usec / 1000;
}

int main(int argc, char **argv)
{
	struct options options;
	sigset_t signals;
	struct rusage usage_of_all;

	(void)argc;
	parse(&options, argv);
	/* Not SIGKILL: dying ourselves would leave the cleaning to bwrap. */
	bind_to_parent(&options, options.parent, SIGTERM);
	close_other_fds(&options);
	(void)setsid();
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		die(&options, "become a subreaper");

	pid_t launcher = getpid();
	pid_t command = fork();
	if (command < 0)
		die(&options, "fork");
	if (command == 0)
		run_command(&options, launcher);
	close_command_fds(&options);
	int status = supervise(command, &signals);

	if (options.status_fd >= 0 && getrusage(RUSAGE_CHILDREN, &usage_of_all) == 0)
		(void)dprintf(
			options.status_fd,
			"{\"tree-empty\":true,\"user-ms\":%lld,\"sys-ms\":%lld,\"max-rss-bytes\":%lld}\n",
			milliseconds(usage_of_all.ru_utime), milliseconds(usage_of_all.ru_stime),
			1024LL * usage_of_all.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_BASE + WTERMSIG(status);
}
