/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-confine: the first program inside a sandbox. It lays Landlock rules and the system-call
 * filter over itself and its descendants, runs the command as its child, reaps orphans (it is the
 * first process of the sandbox's PID namespace) and ends with the command's status, 128+N for
 * signal N.
 *
 *     kgb-confine [--landlock ABI] [--ro PATH]... [--rw PATH]... [--dev PATH]... [--list PATH]...
 *                 [--filter-fd FD] [--calls-fd FD] -- COMMAND [ARG]...
 *
 * --landlock   version of the kernel's interface; 0: none, the paths are ignored
 * --ro, --rw   files below may be read and executed; also made, written and removed
 * --dev        existing files there may be read and written
 * --list       names there may be read
 * --filter-fd  the filter, an array of struct sock_filter
 * --calls-fd   send the filter's listener over this socket, see launch_calls.c
 *
 * Paths that do not exist are left out. Static and without any library: nothing of the host is
 * needed inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/pass_fd.h"

enum { EXIT_USAGE = 2, EXIT_SETUP = 125, EXIT_EXEC = 127, SIGNAL_BASE = 128, FILTER_MAX = 4096 };

/* Names that this C library's header may be too old for. */
#define ACCESS_FS_TRUNCATE (1ULL << 14) /* version 3 */
#define ACCESS_FS_IOCTL_DEV (1ULL << 15) /* version 5 */
#define SCOPE_ABSTRACT_UNIX (1ULL << 0) /* version 6 */
#define SCOPE_SIGNAL (1ULL << 1)
enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_IOCTL = 5, ABI_SCOPE = 6 };

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

static const uint64_t access_read =
	LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t access_dev = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
				   LANDLOCK_ACCESS_FS_READ_DIR | ACCESS_FS_TRUNCATE |
				   ACCESS_FS_IOCTL_DEV;
/* The list omits new character and block devices, so that no process may make them. */
static const uint64_t access_write = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
				     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
				     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
				     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |
				     LANDLOCK_ACCESS_FS_REFER | ACCESS_FS_TRUNCATE;
static const uint64_t access_of_files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
					LANDLOCK_ACCESS_FS_READ_FILE | ACCESS_FS_TRUNCATE |
					ACCESS_FS_IOCTL_DEV;

static __attribute__((noreturn)) void die(const char *what)
{
	(void)dprintf(STDERR_FILENO, "kgb-confine: %s: %s\n", what, strerrordesc_np(errno));
	_exit(EXIT_SETUP);
}

static __attribute__((noreturn)) void usage(void)
{
	(void)dprintf(STDERR_FILENO,
		      "usage: kgb-confine [--landlock ABI] [--ro|--rw|--dev|--list PATH]... "
		      "[--filter-fd FD] [--calls-fd FD] -- COMMAND [ARG]...\n");
	_exit(EXIT_USAGE);
}

static int number(const char *text)
{
	int value = 0;

	if (!text || !*text)
		usage();
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || value > 1000000)
			usage();
		value = 10 * value + (*text - '0');
	}
	return value;
}

/* ---- Landlock ---- */

/* All file rights of this version of the interface. */
static uint64_t known_fs(int abi)
{
	uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

	if (abi >= ABI_REFER)
		all |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= ABI_TRUNCATE)
		all |= ACCESS_FS_TRUNCATE;
	if (abi >= ABI_IOCTL)
		all |= ACCESS_FS_IOCTL_DEV;
	return all;
}

static int make_ruleset(int abi)
{
	const struct ruleset_attr attr = {
		.fs = known_fs(abi),
		.scoped = abi >= ABI_SCOPE ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0,
	};
	size_t size = abi >= ABI_SCOPE ? sizeof(attr) : sizeof(attr.fs);
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);

	if (fd < 0)
		die("make Landlock rules");
	return fd;
}

static void allow_path(int ruleset_fd, int abi, const char *path, uint64_t access)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0 || fstat(fd, &st) < 0)
		die(path);
	struct landlock_path_beneath_attr rule = {.allowed_access = access & known_fs(abi),
						  .parent_fd = fd};
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= access_of_files;
	if (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		die(path);
	(void)close(fd);
}

/* ---- the filter ---- */

/* Sends the filter's listener to the launcher. It starts before the filter, which would make the
 * send itself wait for the listener, and shares our descriptors: it only needs the number. */
struct sender {
	pid_t pid;
	int number[2]; /* a pipe */
};

static void start_sender(struct sender *sender, int calls_fd)
{
	int fd;

	if (pipe2(sender->number, O_CLOEXEC) < 0)
		die("make a pipe");
	sender->pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (sender->pid < 0)
		die("fork");
	if (sender->pid > 0)
		return;
	if (read(sender->number[0], &fd, sizeof(fd)) != (ssize_t)sizeof(fd) ||
	    !kgb_pass_fd(calls_fd, fd))
		_exit(EXIT_SETUP);
	_exit(0);
}

static void send_listener(const struct sender *sender, int fd)
{
	int status;

	if (write(sender->number[1], &fd, sizeof(fd)) != (ssize_t)sizeof(fd) ||
	    waitpid(sender->pid, &status, 0) != sender->pid || status != 0)
		die("send the filter's listener");
	(void)close(sender->number[0]);
	(void)close(sender->number[1]);
}

static void install_filter(int filter_fd, int calls_fd)
{
	static struct sock_filter filter[FILTER_MAX];
	ssize_t len = pread(filter_fd, filter, sizeof(filter), 0);
	struct sender sender;

	if (len <= 0 || len == (ssize_t)sizeof(filter) || len % (ssize_t)sizeof(filter[0]) != 0)
		die("read the system-call filter");
	(void)close(filter_fd);
	const struct sock_fprog program = {.len = (unsigned short)((size_t)len / sizeof(filter[0])),
					   .filter = filter};
	unsigned long flags = calls_fd >= 0 ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	/* A waiting caller is not disturbed by signals, only killed; Linux 5.19. */
	unsigned long patient = calls_fd >= 0 ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
	if (calls_fd >= 0)
		start_sender(&sender, calls_fd);
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | patient, &program);
	if (fd < 0 && errno == EINVAL && patient)
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0)
		die("install the system-call filter");
	if (calls_fd >= 0)
		send_listener(&sender, fd);
}

/* ---- the command ---- */

static __attribute__((noreturn)) void run(char **command)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		execvp(command[0], command);
		(void)dprintf(STDERR_FILENO, "kgb-confine: execute '%s': %s\n", command[0],
			      strerrordesc_np(errno));
		_exit(EXIT_EXEC);
	}
	/* No process inside may inspect or change the first process. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* Close our copies of the command's descriptors, so that its peers notice when it hangs
	 * up. */
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	(void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, 0);
		if (pid == child && (WIFEXITED(status) || WIFSIGNALED(status)))
			_exit(WIFEXITED(status) ? WEXITSTATUS(status)
						: SIGNAL_BASE + WTERMSIG(status));
		if (pid < 0 && errno == ECHILD)
			_exit(EXIT_SETUP);
	}
}

struct options {
	int abi;
	int filter_fd;
	int calls_fd;
	char **command;
};

/* The rights of a path option; 0: not a path option. */
static uint64_t path_access(const char *option)
{
	if (strcmp(option, "--ro") == 0)
		return access_read;
	if (strcmp(option, "--rw") == 0)
		return access_read | access_write;
	if (strcmp(option, "--dev") == 0)
		return access_dev;
	return strcmp(option, "--list") == 0 ? LANDLOCK_ACCESS_FS_READ_DIR : 0;
}

static void parse(struct options *options, char **argv)
{
	*options = (struct options){.filter_fd = -1, .calls_fd = -1};
	for (argv++; *argv && strcmp(*argv, "--") != 0; argv += 2) {
		if (!argv[1])
			usage();
		if (strcmp(*argv, "--landlock") == 0)
			options->abi = number(argv[1]);
		else if (strcmp(*argv, "--filter-fd") == 0)
			options->filter_fd = number(argv[1]);
		else if (strcmp(*argv, "--calls-fd") == 0)
			options->calls_fd = number(argv[1]);
		else if (!path_access(*argv))
			usage();
	}
	if (!*argv || !argv[1])
		usage();
	options->command = argv + 1;
}

static void restrict_files(const struct options *options, char **argv)
{
	int fd = make_ruleset(options->abi);

	for (argv++; strcmp(*argv, "--") != 0; argv += 2)
		if (path_access(*argv))
			allow_path(fd, options->abi, argv[1], path_access(*argv));
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		die("enter the Landlock rules");
	(void)close(fd);
}

/* Drop all of root's rights, also those that bwrap left. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0)
		die("give up capabilities");
}

int main(int argc, char **argv)
{
	struct options options;

	(void)argc;
	parse(&options, argv);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("give up new privileges");
	(void)setsid();
	if (options.abi > 0)
		drop_capabilities();
	if (options.abi > 0)
		restrict_files(&options, argv);
	if (options.filter_fd >= 0)
		install_filter(options.filter_fd, options.calls_fd);
	run(options.command);
}
