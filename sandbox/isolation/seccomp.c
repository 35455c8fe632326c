/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/memfd.h"
#include "sandbox/isolation/refused.h"

struct rule {
	int syscall;
	int refuse_errno;
};

#define RULE(name, refuse_errno) {SCMP_SYS(name), refuse_errno},
static const struct rule always[] = {KGB_REFUSED_ALWAYS(RULE)};
static const struct rule unless_nested[] = {KGB_REFUSED_UNLESS_NESTED(RULE)};
#undef RULE

/* The action for a refused call: the errno alone, or the listener's answer. */
static uint32_t refuse(const struct kgb_seccomp_spec *spec, int refuse_errno)
{
	return spec->notify ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO((uint32_t)refuse_errno);
}

/* Each returns 0 or a negative errno, as libseccomp does. */

static int add_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec,
		     const struct rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t action = refuse(spec, rules[i].refuse_errno);
		int rc = seccomp_rule_add(ctx, action, rules[i].syscall, 0);
		/* EDOM: this architecture has no such system call. */
		if (rc < 0 && rc != -EDOM)
			return rc;
	}
	return 0;
}

/* The action of a rule on arguments: the listener's answer, or this errno; 0 is always the
 * listener. Rows with only the listener record calls that the namespaces refuse, or refuse calls
 * that the launcher could not count. */
struct argument_rule {
	int syscall;
	int refuse_errno;
	struct scmp_arg_cmp args[2];
	unsigned n_args;
};

/* Argument number `arg`, under `mask`, is `value`. */
#define MASKED(number, mask, value)                                                              \
	{                                                                                        \
		.arg = (number), .op = SCMP_CMP_MASKED_EQ, .datum_a = (mask), .datum_b = (value) \
	}
#define ONE(name, code, ...)                             \
	{                                                \
		SCMP_SYS(name), (code), {__VA_ARGS__}, 1 \
	}
#define TWO(name, code, ...)                             \
	{                                                \
		SCMP_SYS(name), (code), {__VA_ARGS__}, 2 \
	}
#define ANY(name, code)                          \
	{                                        \
		SCMP_SYS(name), (code), {{0}}, 0 \
	}

/* The flags are the first argument on x86-64 and arm64 (s390 has them second). */
static const struct argument_rule no_user_namespaces[] = {
	ONE(unshare, EPERM, MASKED(0, CLONE_NEWUSER, CLONE_NEWUSER)),
	ONE(clone, EPERM, MASKED(0, CLONE_NEWUSER, CLONE_NEWUSER)),
};

static const struct argument_rule for_all[] = {
	/* No raw sockets. */
	TWO(socket, EPERM, MASKED(0, UINT64_MAX, AF_INET), MASKED(1, 0xf, SOCK_RAW)),
	TWO(socket, EPERM, MASKED(0, UINT64_MAX, AF_INET6), MASKED(1, 0xf, SOCK_RAW)),
	/* Typing into a terminal that is read outside. The kernel reads 32 bits of the request. */
	ONE(ioctl, EPERM, MASKED(1, UINT32_MAX, TIOCSTI)),
	ONE(ioctl, EPERM, MASKED(1, UINT32_MAX, TIOCLINUX)),
	/* Also catches an allowed family with bits above the 32 that the kernel reads. */
	ONE(socket, EAFNOSUPPORT, {.op = SCMP_CMP_GT, .datum_a = AF_NETLINK}),
};

static const struct argument_rule for_listener[] = {
	/* Descriptors in a thread's private table are not in /proc/PID/fd. */
	ONE(unshare, 0, MASKED(0, CLONE_FILES, CLONE_FILES)),
	ONE(clone, 0, MASKED(0, CLONE_THREAD | CLONE_FILES, CLONE_THREAD)),
	ONE(close_range, 0, MASKED(2, CLOSE_RANGE_UNSHARE, CLOSE_RANGE_UNSHARE)),
	/* Device nodes: the kernel refuses them anyway, but only the filter records the attempt. */
	ONE(mknod, 0, MASKED(1, S_IFMT, S_IFBLK)),
	ONE(mknod, 0, MASKED(1, S_IFMT, S_IFCHR)),
	ONE(mknodat, 0, MASKED(2, S_IFMT, S_IFBLK)),
	ONE(mknodat, 0, MASKED(2, S_IFMT, S_IFCHR)),
	/* The machine's firewall, process events and IPsec. Routes stay readable: getaddrinfo reads
	 * them. */
	TWO(socket, 0, MASKED(0, UINT64_MAX, AF_NETLINK), MASKED(2, UINT32_MAX, NETLINK_NETFILTER)),
	TWO(socket, 0, MASKED(0, UINT64_MAX, AF_NETLINK), MASKED(2, UINT32_MAX, NETLINK_CONNECTOR)),
	TWO(socket, 0, MASKED(0, UINT64_MAX, AF_NETLINK), MASKED(2, UINT32_MAX, NETLINK_XFRM)),
	/* Destinations of connections and messages. An address in a message lies in memory, which a
	 * filter cannot read. */
	ANY(connect, 0),
	ANY(sendmsg, 0),
	ANY(sendmmsg, 0),
	ONE(sendto, 0, {.arg = 4, .op = SCMP_CMP_NE}),
};

static const struct argument_rule for_files[] = {ANY(open, 0), ANY(openat, 0), ANY(openat2, 0)};

static int add_argument_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec,
			      const struct argument_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t action = rules[i].refuse_errno ? refuse(spec, rules[i].refuse_errno)
							: SCMP_ACT_NOTIFY;
		int rc = seccomp_rule_add_array(ctx, action, rules[i].syscall, rules[i].n_args,
						rules[i].args);
		/* EDOM: this architecture has no such system call. */
		if (rc < 0 && rc != -EDOM)
			return rc;
	}
	return 0;
}

/* Only unix, inet, inet6 and netlink (getaddrinfo and node ask it for interfaces). */
static int add_family_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec)
{
	int rc = 0;

	for (int family = 0; rc == 0 && family < AF_NETLINK; family++) {
		const struct scmp_arg_cmp is_family = MASKED(0, UINT64_MAX, (uint64_t)family);
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
			rc = seccomp_rule_add_array(ctx, refuse(spec, EAFNOSUPPORT),
						    SCMP_SYS(socket), 1, &is_family);
	}
	return rc;
}

#define ADD(function, rules) function(ctx, spec, rules, KGB_ARRAY_LEN(rules))

static int add_all_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec)
{
	/* A 32-bit program on a 64-bit kernel would slip past rules on numbers: it gets "no such
	 * system call". */
	int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));

	if (rc == 0) /* a binary tree by system call number: fewer steps for each call */
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc == 0)
		rc = ADD(add_rules, always);
	if (rc == 0 && !spec->allow_nested_userns)
		rc = ADD(add_rules, unless_nested);
	if (rc == 0 && !spec->allow_nested_userns)
		rc = ADD(add_argument_rules, no_user_namespaces);
	/* The flags of clone3 lie in memory, which a filter cannot read. The C library falls back
	 * to clone for each thread, so this refusal is not recorded. */
	if (rc == 0 && !spec->allow_nested_userns)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (rc == 0)
		rc = add_family_rules(ctx, spec);
	if (rc == 0)
		rc = ADD(add_argument_rules, for_all);
	/* SysV shared memory lies in no file and, unattached, in no process. */
	if (rc == 0 && spec->notify)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(shmget), 0);
	if (rc == 0 && spec->notify)
		rc = ADD(add_argument_rules, for_listener);
	if (rc == 0 && spec->notify && spec->watch_files)
		rc = ADD(add_argument_rules, for_files);
	return rc;
}

int kgb_seccomp_memfd(const struct kgb_seccomp_spec *spec, int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;
	if (kgb_memfd_empty("kgb-seccomp", &fd, err) < 0)
		return -1;
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (!ctx)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"seccomp: libseccomp refuses to start on this architecture");
	int rc = add_all_rules(ctx, spec);
	if (rc == 0)
		rc = seccomp_export_bpf(ctx, fd);
	seccomp_release(ctx);
	if (rc < 0)
		return kgb_fail_errno(err, -rc, "seccomp: build the filter");
	if (kgb_memfd_seal("kgb-seccomp", fd, err) < 0)
		return -1;
	*out_fd = kgb_take_fd(&fd);
	return 0;
}
