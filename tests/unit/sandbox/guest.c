/* SPDX-License-Identifier: MIT */
/** \file
 * What the sandbox tests run inside: one small experiment a mode, the finding on stdout. Without
 * any library of ours and without sanitizers, whose tricks (ptrace) the sandbox forbids.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/close_range.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_BY_SIGNAL = 7, EXIT_BAD_MODE = 99, FILLER = 1 << 20 };

static int sleep_forever(void)
{
	while (pause() < 0)
		continue;
	return EXIT_BAD_MODE;
}

static void report(const char *name, long rc)
{
	printf("%s=%s\n", name, rc >= 0 ? "ok" : strerrorname_np(errno));
}

static int number(const char *text)
{
	int value = 0;

	if (!text || !*text)
		exit(EXIT_BAD_MODE);
	for (; *text >= '0' && *text <= '9'; text++)
		value = 10 * value + (*text - '0');
	return value;
}

/* Create a file in a directory; returns its descriptor or -1. */
static int create_in(const char *dir, const char *name)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);

	return dir_fd < 0 ? -1 : openat(dir_fd, name, O_CREAT | O_RDWR, 0600);
}

static int show_fds(char **args)
{
	DIR *dir = opendir("/proc/self/fd");

	(void)args;
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_name[0] != '.' && number(entry->d_name) != dirfd(dir))
			printf("%s ", entry->d_name);
	printf("\n");
	return 0;
}

static int show_env(char **args)
{
	(void)args;
	for (char **item = environ; *item; item++)
		printf("%s\n", *item);
	return 0;
}

static int show_self(char **args)
{
	struct utsname name;
	char cwd[256] = "?";

	(void)args;
	(void)uname(&name);
	(void)!getcwd(cwd, sizeof(cwd));
	printf("uid=%u gid=%u host=%s cwd=%s pid=%d\n", getuid(), getgid(), name.nodename, cwd,
	       getpid());
	return 0;
}

static int show_exists(char **args)
{
	for (; *args; args++)
		printf("%s=%s\n", *args, access(*args, F_OK) == 0 ? "yes" : "no");
	return 0;
}

static int try_write(char **args)
{
	for (; *args; args++) {
		int fd = create_in(*args, "probe-file");
		printf("%s=%s\n", *args, fd >= 0 ? "written" : strerrorname_np(errno));
	}
	return 0;
}

static int try_open_for_writing(char **args)
{
	for (; *args; args++)
		report(*args, open(*args, O_WRONLY));
	return 0;
}

static int report_if_writable(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	if (where->level == 1 && type != FTW_F && strspn(path, "/proc0123456789") == strlen(path))
		return FTW_SKIP_SUBTREE; /* a process */
	int fd = type == FTW_F ? open(path, O_WRONLY | O_NONBLOCK) : -1;
	if (fd >= 0)
		printf("%s\n", path);
	(void)close(fd);
	return FTW_CONTINUE;
}

static int show_writable_proc(char **args)
{
	enum { FDS = 16 };

	(void)args;
	return nftw("/proc", report_if_writable, FDS, FTW_PHYS | FTW_ACTIONRETVAL);
}

static int show_interfaces(char **args)
{
	struct if_nameindex *all = if_nameindex();

	(void)args;
	for (struct if_nameindex *one = all; one && one->if_index; one++)
		printf("%s ", one->if_name);
	printf("\n");
	return 0;
}

static int open_connection(in_addr_t host, uint16_t port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = host};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return fd;
}

static int try_internet(char **args)
{
	(void)args;
	int fd = open_connection(htonl(0x01010101), 80); /* 1.1.1.1 */
	printf("%s\n", fd >= 0 ? "connected" : strerrorname_np(errno));
	return 0;
}

static int be_client(char **args)
{
	char reply[64] = "";
	int fd = open_connection(htonl(INADDR_LOOPBACK), (uint16_t)number(args[0]));

	if (fd < 0 || write(fd, "hello", 5) != 5)
		printf("%s\n", strerrorname_np(errno));
	else if (read(fd, reply, sizeof(reply) - 1) >= 0)
		printf("%s\n", reply);
	return 0;
}

static int try_syscalls(char **args)
{
	struct iovec iov = {.iov_base = args, .iov_len = 1};
	char buf[256] = {0};

	report("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	report("process_vm_readv", process_vm_readv(getpid(), &iov, 1, &iov, 1, 0));
	report("unshare_user", unshare(CLONE_NEWUSER));
	report("clone_user", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
	report("clone3", syscall(SYS_clone3, NULL, 0));
	report("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
	report("umount", umount2("/tmp", 0));
	report("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	report("setns", syscall(SYS_setns, 0, 0));
	report("keyctl", syscall(SYS_keyctl, 0, -3, 1, 0, 0));
	report("add_key", syscall(SYS_add_key, "user", "a", "b", 1, -3));
	report("bpf", syscall(SYS_bpf, 0, NULL, 0));
	report("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0));
	report("io_uring_setup", syscall(SYS_io_uring_setup, 1, buf));
	report("userfaultfd", syscall(SYS_userfaultfd, 0));
	report("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
	report("init_module", syscall(SYS_init_module, NULL, 0, ""));
	report("pidfd_getfd", syscall(SYS_pidfd_getfd, -1, 0, 0));
	report("tiocsti", ioctl(0, TIOCSTI, "x"));
	report("chroot", chroot("/"));
	return 0;
}

static int try_sockets(char **args)
{
	(void)args;
	report("unix", socket(AF_UNIX, SOCK_STREAM, 0));
	report("inet", socket(AF_INET, SOCK_STREAM, 0));
	report("inet_udp", socket(AF_INET, SOCK_DGRAM, 0));
	report("inet6", socket(AF_INET6, SOCK_STREAM, 0));
	report("netlink_raw", socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
	report("inet_raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	report("packet", socket(AF_PACKET, SOCK_RAW, 0));
	report("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
	report("alg", socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0));
	report("ax25", socket(3 /* AF_AX25 */, SOCK_DGRAM, 0));
	return 0;
}

/* Ways around a rule that looks at connect alone. */
static int try_fast_open(char **args)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(9),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct mmsghdr message = {.msg_hdr = {.msg_name = &address,
					      .msg_namelen = sizeof(address),
					      .msg_iov = &iov,
					      .msg_iovlen = 1}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	const struct sockaddr *to = (const struct sockaddr *)&address;

	(void)args;
	report("sendto", sendto(fd, "x", 1, MSG_FASTOPEN, to, sizeof(address)));
	report("sendmsg", sendmsg(fd, &message.msg_hdr, MSG_FASTOPEN | MSG_NOSIGNAL));
	report("sendmmsg", sendmmsg(fd, &message, 1, MSG_FASTOPEN));
	report("plain", sendto(fd, "x", 1, MSG_NOSIGNAL, to, sizeof(address)));
	address.sin_port = 0;
	report("bind", bind(fd, to, sizeof(address)));
	report("seqpacket", socket(AF_INET6, SOCK_SEQPACKET, 0));
	report("dccp", socket(AF_INET, SOCK_DCCP, 0));
	return 0;
}

static struct sockaddr_in ip(in_addr_t host)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(host)};
}

/* Two messages in one call: the second goes outside. */
static void try_messages(void)
{
	struct sockaddr_in to[] = {ip(INADDR_LOOPBACK), ip(0x01010102), ip(0x01010103)};
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct mmsghdr messages[3];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int pair[2];

	for (size_t i = 0; i < 3; i++)
		messages[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &to[i],
							   .msg_namelen = sizeof(to[i]),
							   .msg_iov = &iov,
							   .msg_iovlen = 1}};
	report("sendmsg", sendmsg(fd, &messages[2].msg_hdr, 0));
	report("sendmmsg", sendmmsg(fd, messages, 2, 0));
	report("sendmsg_inside", sendmsg(fd, &messages[0].msg_hdr, 0));
	messages[0].msg_hdr.msg_name = NULL;
	messages[0].msg_hdr.msg_namelen = 0;
	report("socketpair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	report("sendmsg_pair", sendmsg(pair[0], &messages[0].msg_hdr, 0));
}

/* Connect to a socket of the abstract space; its name without the NUL. */
static int connect_abstract(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path + 1, name, len);
	return connect(fd, (const struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

static void try_abstract(const char *of_host, const char *of_both)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(of_both);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	report("abstract_host", connect_abstract(of_host));
	report("abstract_nobody", connect_abstract("kgb-nobody"));
	memcpy(address.sun_path + 1, of_both, len);
	report("bind", bind(fd, (const struct sockaddr *)&address,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)));
	report("listen", listen(fd, 1));
	report("abstract_both", connect_abstract(of_both));
}

/* What a filter with a listener refuses besides; a thread of a table of its own would run into
 * nothing. */
static void try_hiding(void)
{
	static char stack[4096];

	report("unshare_files", unshare(CLONE_FILES));
	report("clone_files", syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
				      stack + sizeof(stack), NULL, NULL, 0));
	report("close_range_unshare", close_range(100, ~0U, CLOSE_RANGE_UNSHARE));
	report("close_range", close_range(100, ~0U, 0));
	report("mknod_block", mknod("/tmp/block", S_IFBLK | 0600, makedev(8, 0)));
	report("mknod_character", mknod("/tmp/null", S_IFCHR | 0600, makedev(1, 3)));
	report("mknod_fifo", mknod("/tmp/fifo", S_IFIFO | 0600, 0));
	report("mknod_file", mknod("/tmp/file", 0600, makedev(8, 0)));
	report("netlink_firewall", socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
	report("netlink_routes", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
}

/* args: two names of abstract sockets of the host. */
static int try_reaching(char **args)
{
	try_messages();
	try_abstract(args[0], args[1]);
	try_hiding();
	return 0;
}

static int try_nested(char **args)
{
	(void)args;
	report("unshare",
	       unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET));
	pid_t pid = fork();
	if (pid == 0) {
		report("tmpfs", mount("none", "/tmp", "tmpfs", 0, "size=65536"));
		printf("pid=%d\n", getpid());
		exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	return 0;
}

static int show_limits(char **args)
{
	static const struct {
		const char *name;
		__rlimit_resource_t resource;
	} all[] = {{"core", RLIMIT_CORE}, {"nofile", RLIMIT_NOFILE}, {"fsize", RLIMIT_FSIZE}};

	(void)args;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct rlimit limit;
		(void)getrlimit(all[i].resource, &limit);
		printf("%s=%llu\n", all[i].name, (unsigned long long)limit.rlim_cur);
	}
	return 0;
}

/* Fill a directory until it is full; prints the number of megabytes that fitted. */
static int fill(char **args)
{
	static char block[FILLER];
	int fd = create_in(args[0], "filler");
	int n = 0;

	memset(block, 'x', sizeof(block));
	while (fd >= 0 && n < 64 && write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
		n++;
	printf("%d\n", n);
	return 0;
}

static int be_deaf_in_silence(void)
{
	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_IGN);
	return sleep_forever();
}

/* A grandchild in its own session, orphaned, deaf to everything that can be ignored; then go on as
 * args say. */
static void start_daemon(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)setsid();
		if (fork() != 0)
			_exit(0);
		exit(be_deaf_in_silence());
	}
	(void)waitpid(pid, NULL, 0);
}

static int leave_daemon(char **args)
{
	(void)args;
	start_daemon();
	printf("ready\n");
	return 0;
}

static int daemon_and_wait(char **args)
{
	(void)args;
	start_daemon();
	printf("ready\n");
	return sleep_forever();
}

static int bomb(char **args)
{
	(void)args;
	printf("ready\n");
	/* Children sleep, so that a machine with few cores survives the test. */
	for (int i = 0; i < 500; i++)
		if (fork() == 0) {
			(void)setsid();
			exit(sleep_forever());
		}
	return sleep_forever();
}

/* Hold some megabytes for ever, as args say: of memory, of a file without a name in memory, or on a
 * disk. */
static void *hold(void *words)
{
	char **args = words;
	int n = number(args[1]);
	int fd = -1;

	if (strcmp(args[0], "memfd") == 0)
		fd = memfd_create("hog", 0);
	if (strcmp(args[0], "disk") == 0 || strcmp(args[0], "mapped") == 0) {
		fd = create_in(args[2], "hog");
		(void)unlinkat(open(args[2], O_RDONLY | O_DIRECTORY), "hog", 0);
	}
	for (int i = 0; i < n; i++) {
		char *block = malloc(FILLER);
		if (!block)
			exit(EXIT_BAD_MODE);
		memset(block, i, FILLER);
		if (fd >= 0 && write(fd, block, FILLER) != FILLER)
			exit(EXIT_BAD_MODE);
		if (fd >= 0)
			free(block);
	}
	if (strcmp(args[0], "mapped") == 0) {
		if (mmap(NULL, FILLER, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			exit(EXIT_BAD_MODE);
		(void)close(fd);
	}
	exit(sleep_forever());
}

static int wait_for_child(pid_t pid)
{
	int status = 0;

	(void)waitpid(pid, &status, 0);
	printf("child=%s\n", WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "exited");
	return 0;
}

static int hog(char **args)
{
	pid_t pid = fork();

	if (pid == 0)
		(void)hold(args);
	return wait_for_child(pid);
}

/* The same by a second thread of a process whose first has ended: ps calls that a zombie. */
static int hog_in_thread(char **args)
{
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, hold, args) != 0)
			_exit(EXIT_BAD_MODE);
		pthread_exit(NULL);
	}
	return wait_for_child(pid);
}

/* As many children as args say: deaf to what can be ignored, every second one a daemon. */
static int crowd(char **args)
{
	int n = number(args[0]);

	for (int i = 0; i < n; i++) {
		if (i % 2)
			start_daemon();
		else if (fork() == 0)
			exit(be_deaf_in_silence());
	}
	printf("ready\n");
	return sleep_forever();
}

/* Doubles a few times, each process in a session of its own: enough for a test, and no danger for
 * the machine should nobody end it. */
static int fork_bomb(char **args)
{
	enum { DOUBLINGS = 9, SECONDS = 90 };

	(void)args;
	for (int i = 0; i < DOUBLINGS; i++)
		if (fork() == 0)
			(void)setsid();
	(void)alarm(SECONDS);
	return sleep_forever();
}

static void say_bye(int signo)
{
	(void)signo;
	(void)!write(STDOUT_FILENO, "bye\n", 4);
	_exit(EXIT_BY_SIGNAL);
}

static int be_polite(char **args)
{
	(void)args;
	(void)signal(SIGINT, say_bye);
	(void)signal(SIGTERM, say_bye);
	printf("ready\n");
	return sleep_forever();
}

static int be_deaf(char **args)
{
	(void)args;
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	printf("ready\n");
	return sleep_forever();
}

static int close_passed(char **args)
{
	(void)args;
	(void)close(3);
	return sleep_forever();
}

static int do_exit(char **args)
{
	return number(args[0]);
}

static int do_raise(char **args)
{
	(void)raise(number(args[0]));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *mode;
		int (*run)(char **args);
	} modes[] = {
		{"fds", show_fds},
		{"env", show_env},
		{"self", show_self},
		{"exists", show_exists},
		{"write", try_write},
		{"open", try_open_for_writing},
		{"writable-proc", show_writable_proc},
		{"interfaces", show_interfaces},
		{"internet", try_internet},
		{"client", be_client},
		{"syscalls", try_syscalls},
		{"sockets", try_sockets},
		{"reaching", try_reaching},
		{"nested", try_nested},
		{"limits", show_limits},
		{"fill", fill},
		{"leave-daemon", leave_daemon},
		{"daemon", daemon_and_wait},
		{"bomb", bomb},
		{"crowd", crowd},
		{"fast-open", try_fast_open},
		{"fork-bomb", fork_bomb},
		{"hog", hog},
		{"hog-in-thread", hog_in_thread},
		{"polite", be_polite},
		{"deaf", be_deaf},
		{"close-passed", close_passed},
		{"exit", do_exit},
		{"raise", do_raise},
	};

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].mode) == 0)
			return modes[i].run(argv + 2);
	return EXIT_BAD_MODE;
}
