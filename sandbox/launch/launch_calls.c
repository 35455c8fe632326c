/* SPDX-License-Identifier: MIT */
/** \file
 * The launcher's part in the system-call filter: the kernel asks here about refused calls
 * (seccomp's user-space notification), so that the launcher can count and name them. It always
 * refuses those. It only records the addresses that a program connects or sends to, because the
 * network namespace blocks them. Every such call fails once this process has ended.
 */
#include "sandbox/launch/launch_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/system/pass_fd.h"
#include "sandbox/isolation/refused.h"

/* Room for fields that later kernels append to the structures. */
enum {
	NOTIFICATION_MAX = 512,
	BATCH = 64,
	PAGE_MIN = 4096,
	MESSAGES_MAX = 1024, /* of one sendmmsg; the kernel sends no more either */
	PATH_LEN = 64,
	LINE_MAX_LEN = 512, /* of /proc/net/unix: numbers and a name */
	UNIX_START = offsetof(struct sockaddr_un, sun_path),
	V4_START = 12 /* of an address that is mapped into the space of version 6 */
};

/* Names that this C library's header may be too old for. */
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SYNC_WAKE_UP 1UL

union notification {
	struct seccomp_notif request;
	struct seccomp_notif_resp response;
	char room[NOTIFICATION_MAX];
};

static const struct {
	int syscall;
	const char *name;
	int refuse_errno;
} refused[] = {
#define ROW(name, refuse_errno) {SCMP_SYS(name), #name, refuse_errno},
	KGB_REFUSED_ALWAYS(ROW) KGB_REFUSED_UNLESS_NESTED(ROW)
#undef ROW
};

/* The meaning of a call. */
struct finding {
	const char *name; /* NULL: nothing to record */
	char detail[CALLS_TEXT_MAX];
	int refuse_errno; /* 0: let the kernel carry it out */
};

static __attribute__((format(printf, 2, 3))) void describe(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
	/* The text becomes part of a JSON string. */
	for (char *c = f->detail; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
			*c = '?';
}

static void look_at_inet(const struct sockaddr_in *address, struct finding *f)
{
	char text[INET_ADDRSTRLEN];
	uint32_t host = ntohl(address->sin_addr.s_addr);

	if (host >> 24 == 127 || host == INADDR_ANY)
		return;
	f->name = "network";
	describe(f, "%s:%u", inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)),
		 ntohs(address->sin_port));
}

static void look_at_inet6(const struct sockaddr_in6 *address, struct finding *f)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in mapped = {.sin_port = address->sin6_port};

	if (IN6_IS_ADDR_V4MAPPED(&address->sin6_addr)) {
		memcpy(&mapped.sin_addr, &address->sin6_addr.s6_addr[V4_START],
		       sizeof(mapped.sin_addr));
		look_at_inet(&mapped, f);
		return;
	}
	if (IN6_IS_ADDR_LOOPBACK(&address->sin6_addr) ||
	    IN6_IS_ADDR_UNSPECIFIED(&address->sin6_addr))
		return;
	f->name = "network";
	describe(f, "[%s]:%u", inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof(text)),
		 ntohs(address->sin6_port));
}

/* Returns true when the network of a process has an abstract socket of this name. The file writes
 * '@' for each NUL, as here. */
static bool has_abstract(pid_t pid, const char *name)
{
	char path[PATH_LEN];
	char line[LINE_MAX_LEN];
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/net/unix", pid);
	FILE *sockets = fopen(path, "re");
	while (sockets && !found && fgets(line, sizeof(line), sockets)) {
		line[strcspn(line, "\n")] = '\0';
		const char *at = strchr(line, '@'); /* columns before it are numbers */
		found = at && strcmp(at, name) == 0;
	}
	if (sockets)
		(void)fclose(sockets);
	return found;
}

/* A name that does not exist on the host is no evidence: its owner may have ended, or not started.
 * A name that exists on the host and not inside is the host's. */
static void look_at_abstract(pid_t pid, const char *bytes, size_t len, struct finding *f)
{
	char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];

	memcpy(name, bytes, len);
	name[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (!name[i])
			name[i] = '@';
	if (has_abstract(pid, name) || !has_abstract(getpid(), name))
		return;
	f->name = "socket.host";
	describe(f, "%s", name);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Returns true when the path begins with one of the list, which ends with NULL. */
static bool begins_with_any(const char *path, const char *const *list)
{
	for (; *list; list++)
		if (begins(path, *list))
			return true;
	return false;
}

/* Sockets of the host: only paths in the folders of services, without those that the C library
 * tries by itself. */
static void look_at_unix(pid_t pid, const struct sockaddr_un *address, size_t len,
			 struct finding *f)
{
	static const char *const usual[] = {"/run/nscd/socket", "/var/run/nscd/socket", "/dev/log"};
	static const char *const suspect[] = {"/run/", "/var/", "/root/", "/home/", "/dev/", NULL};
	const char *path = address->sun_path;

	if (len <= UNIX_START)
		return;
	if (path[0] == '\0') {
		look_at_abstract(pid, path, len - UNIX_START, f);
		return;
	}
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (strcmp(path, usual[i]) == 0)
			return;
	if (!begins_with_any(path, suspect) || begins(path, "/home/agent/"))
		return;
	f->name = "socket.host";
	describe(f, "%s", path);
}

/* Read the caller's memory; false when the bytes are not there. */
static bool read_theirs(const struct seccomp_notif *request, uint64_t where, void *out, size_t size)
{
	struct iovec ours = {.iov_base = out, .iov_len = size};
	struct iovec theirs = {.iov_base = (void *)(uintptr_t)where, .iov_len = size};

	return process_vm_readv((pid_t)request->pid, &ours, 1, &theirs, 1, 0) == (ssize_t)size;
}

static void look_at_address(const struct seccomp_notif *request, uint64_t where, uint64_t len,
			    struct finding *f)
{
	union {
		struct sockaddr any;
		struct sockaddr_in inet;
		struct sockaddr_in6 inet6;
		struct sockaddr_un local;
		char room[sizeof(struct sockaddr_un) + 1];
	} address = {.room = {0}};
	size_t size = len < sizeof(address) - 1 ? (size_t)len : sizeof(address) - 1;

	if (!read_theirs(request, where, &address, size))
		return;
	if (address.any.sa_family == AF_INET && size >= sizeof(address.inet))
		look_at_inet(&address.inet, f);
	else if (address.any.sa_family == AF_INET6 && size >= sizeof(address.inet6))
		look_at_inet6(&address.inet6, f);
	else if (address.any.sa_family == AF_UNIX)
		look_at_unix((pid_t)request->pid, &address.local, size, f);
}

/* The destination of messages: the first address outside. */
static void look_at_messages(const struct seccomp_notif *request, uint64_t n, size_t step,
			     struct finding *f)
{
	uint64_t where = request->data.args[1];

	for (uint64_t i = 0; i < n && i < MESSAGES_MAX && !f->name; i++, where += step) {
		struct msghdr message;
		if (!read_theirs(request, where, &message, sizeof(message)))
			return;
		if (message.msg_name)
			look_at_address(request, (uint64_t)(uintptr_t)message.msg_name,
					message.msg_namelen, f);
	}
}

/* Files that hold keys on most machines. */
static bool is_key(const char *path)
{
	static const char *const starts[] = {"/root/", "/proc/1/mem", "/proc/1/root", "/proc/1/cwd",
					     NULL};
	static const char *const parts[] = {"/.ssh/",  "/.aws/",    "/.kube/",     "/.gnupg/",
					    "/.netrc", "/.docker/", "/etc/shadow", "/etc/gshadow"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(path, parts[i]))
			return true;
	return strcmp(path, "/root") == 0 || begins_with_any(path, starts);
}

/* Our own files around the workspace, by name. */
static bool is_ours(const char *path)
{
	static const char names[] = " /journal.jsonl /results.json /progress.json /exit.json "
				    "/verdicts /traffic ";
	const char *last = strrchr(path, '/');
	char word[CALLS_TEXT_MAX + 2];

	if (!last || strchr(last, ' '))
		return false;
	(void)snprintf(word, sizeof(word), " %s ", last);
	return strstr(names, word) != NULL;
}

static void look_at_path(const struct launch_calls *calls, const struct seccomp_notif *request,
			 uint64_t where, struct finding *f)
{
	/* The sandbox's own files: opening them is not recorded. */
	static const char *const own[] = {"/ws/",  "/home/agent/", "/tmp/",
					  "/usr/", "/opt/kgb/",    NULL};
	char path[CALLS_TEXT_MAX];
	/* Do not read beyond a page that may be the last. */
	size_t to_page_end = PAGE_MIN - (size_t)(where % PAGE_MIN);
	size_t size = to_page_end < sizeof(path) - 1 ? to_page_end : sizeof(path) - 1;
	struct iovec ours = {.iov_base = path, .iov_len = size};
	struct iovec theirs = {.iov_base = (void *)(uintptr_t)where, .iov_len = size};
	ssize_t len = process_vm_readv((pid_t)request->pid, &ours, 1, &theirs, 1, 0);

	if (len <= 0)
		return;
	path[len] = '\0';
	/* A name that is not absolute leads out of the workspace only by "..". */
	bool leads_out = path[0] == '/' || begins(path, "../");
	/* Our real directories and the user's are private; they may lie below the sandbox's
	 * /tmp. */
	if (!begins_with_any(path, calls->private_paths) &&
	    (!leads_out || begins_with_any(path, own) || (!is_key(path) && !is_ours(path))))
		return;
	f->name = "file";
	describe(f, "%s", path);
}

static void look_at_socket(const struct seccomp_data *data, struct finding *f)
{
	uint64_t family = data->args[0];

	f->refuse_errno = EAFNOSUPPORT;
	f->name = "socket.family";
	describe(f, "family %llu", (unsigned long long)family);
	if (family == AF_INET || family == AF_INET6) {
		f->refuse_errno = EPERM;
		f->name = "socket.raw";
	} else if (family == AF_PACKET) {
		f->name = "socket.packet";
	} else if (family == AF_VSOCK) {
		f->name = "socket.vsock";
	} else if (family == AF_NETLINK) {
		f->refuse_errno = EPROTONOSUPPORT;
		f->name = "socket.netlink";
		describe(f, "protocol %u", (unsigned)data->args[2]);
	}
}

static void look_at_device(uint64_t mode, uint64_t device, struct finding *f)
{
	f->name = "device";
	describe(f, "%s %u:%u", S_ISBLK(mode) ? "block" : "character", major(device),
		 minor(device));
}

/* Classify calls that the kernel always carries out: false for all others. */
static bool only_looks(const struct launch_calls *calls, const struct seccomp_notif *request,
		       struct finding *f)
{
	const struct seccomp_data *data = &request->data;

	*f = (struct finding){0};
	if (data->nr == SCMP_SYS(connect))
		look_at_address(request, data->args[1], data->args[2], f);
	else if (data->nr == SCMP_SYS(sendto))
		look_at_address(request, data->args[4], data->args[5], f);
	else if (data->nr == SCMP_SYS(sendmsg))
		look_at_messages(request, 1, 0, f);
	else if (data->nr == SCMP_SYS(sendmmsg))
		look_at_messages(request, (uint32_t)data->args[2], sizeof(struct mmsghdr), f);
	else if (data->nr == SCMP_SYS(open))
		look_at_path(calls, request, data->args[0], f);
	else if (data->nr == SCMP_SYS(openat) || data->nr == SCMP_SYS(openat2))
		look_at_path(calls, request, data->args[1], f);
	else
		return false;
	return true;
}

static void judge(const struct launch_calls *calls, const struct seccomp_notif *request,
		  struct finding *f)
{
	const struct seccomp_data *data = &request->data;

	if (only_looks(calls, request, f))
		return;
	*f = (struct finding){.refuse_errno = EPERM, .name = "other"};
	if (data->nr == SCMP_SYS(socket)) {
		look_at_socket(data, f);
	} else if (data->nr == SCMP_SYS(clone) || data->nr == SCMP_SYS(unshare)) {
		f->name = data->args[0] & CLONE_NEWUSER ? "user_namespace" : "file_table";
	} else if (data->nr == SCMP_SYS(close_range)) {
		f->name = "file_table";
		f->refuse_errno = EINVAL;
	} else if (data->nr == SCMP_SYS(ioctl)) {
		f->name = "terminal";
	} else if (data->nr == SCMP_SYS(mknod)) {
		look_at_device(data->args[1], data->args[2], f);
	} else if (data->nr == SCMP_SYS(mknodat)) {
		look_at_device(data->args[2], data->args[3], f);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (refused[i].syscall != data->nr)
			continue;
		f->name = refused[i].name;
		f->refuse_errno = refused[i].refuse_errno;
	}
}

/* Count it under its name; keep the detail of the first. */
static void note(struct launch_calls *calls, const struct finding *f)
{
	size_t i = 0;

	while (i < calls->n_kinds && (strcmp(calls->kinds[i].name, f->name) != 0 ||
				      strcmp(calls->kinds[i].detail, f->detail) != 0))
		i++;
	if (i == CALLS_KINDS_MAX) {
		calls->n_more++;
		return;
	}
	if (i == calls->n_kinds) {
		calls->n_kinds++;
		(void)snprintf(calls->kinds[i].name, sizeof(calls->kinds[i].name), "%s", f->name);
		(void)snprintf(calls->kinds[i].detail, sizeof(calls->kinds[i].detail), "%s",
			       f->detail);
	}
	calls->kinds[i].count++;
}

/* False when no listener is left. */
static bool serve_one(struct launch_calls *calls)
{
	union notification question = {.room = {0}};
	union notification answer = {.room = {0}};
	struct finding f;

	/* ENOENT: the caller has ended. EINTR: a signal. Only an answer of the right size works. */
	if (ioctl(calls->listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &question) < 0)
		return errno == ENOENT || errno == EINTR;
	judge(calls, &question.request, &f);
	answer.response.id = question.request.id;
	if (f.refuse_errno)
		answer.response.error = -f.refuse_errno;
	else
		answer.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (f.name)
		note(calls, &f);
	(void)ioctl(calls->listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return true;
}

static void close_listener(struct launch_calls *calls)
{
	(void)close(calls->listener_fd);
	calls->listener_fd = -1;
}

static void receive_listener(struct launch_calls *calls)
{
	calls->listener_fd = kgb_receive_fd(calls->socket_fd);
	if (calls->listener_fd < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Run question and answer in turns on one processor, which takes a third of the time (Linux
	 * 6.6). */
	if (calls->listener_fd >= 0)
		(void)ioctl(calls->listener_fd, NOTIF_SET_FLAGS, SYNC_WAKE_UP);
	(void)close(calls->socket_fd);
	calls->socket_fd = -1;
}

int launch_calls_fd(const struct launch_calls *calls)
{
	return calls->listener_fd >= 0 ? calls->listener_fd : calls->socket_fd;
}

void launch_calls_serve(struct launch_calls *calls)
{
	if (calls->listener_fd < 0) {
		receive_listener(calls);
		return;
	}
	for (int i = 0; i < BATCH && calls->listener_fd >= 0; i++) {
		struct pollfd ready = {.fd = calls->listener_fd, .events = POLLIN};
		if (poll(&ready, 1, 0) <= 0)
			return;
		/* A hang-up: no process with the filter is left. */
		if (!(ready.revents & POLLIN) || !serve_one(calls))
			close_listener(calls);
	}
}

void launch_calls_finish(struct launch_calls *calls, int status_fd)
{
	for (size_t i = 0; i < calls->n_kinds && status_fd >= 0; i++)
		(void)dprintf(status_fd, "{\"probe\":\"%s\",\"detail\":\"%s\",\"count\":%lld}\n",
			      calls->kinds[i].name, calls->kinds[i].detail,
			      (long long)calls->kinds[i].count);
	if (calls->n_more > 0 && status_fd >= 0)
		(void)dprintf(status_fd, "{\"probe\":\"more\",\"detail\":\"\",\"count\":%lld}\n",
			      (long long)calls->n_more);
	if (calls->listener_fd >= 0)
		close_listener(calls);
	if (calls->socket_fd >= 0)
		(void)close(calls->socket_fd);
	calls->socket_fd = -1;
}
