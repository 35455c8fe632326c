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

/* Argument number `arg`, under `mask`, is `value`. */
static struct scmp_arg_cmp masked(unsigned arg, uint64_t mask, uint64_t value)
{
	return (struct scmp_arg_cmp){
		.arg = arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

static int add_userns_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec)
{
	/* The flags are the first argument on x86-64 and arm64 (s390 has them second). */
	const struct scmp_arg_cmp newuser = masked(0, CLONE_NEWUSER, CLONE_NEWUSER);
	int rc = seccomp_rule_add_array(ctx, refuse(spec, EPERM), SCMP_SYS(unshare), 1, &newuser);

	if (rc == 0)
		rc = seccomp_rule_add_array(ctx, refuse(spec, EPERM), SCMP_SYS(clone), 1, &newuser);
	/* Its flags lie in memory, which a filter cannot read. The C library falls back to clone
	 * for each thread, so this refusal is not recorded. */
	return rc < 0 ? rc : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* Only unix, inet, inet6 and netlink (getaddrinfo and node ask it for interfaces); no raw sockets.
 */
static int add_socket_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec)
{
	static const int inet_families[] = {AF_INET, AF_INET6};
	/* Also catches an allowed family with bits above the 32 that the kernel reads. */
	const struct scmp_arg_cmp is_higher = {
		.op = SCMP_CMP_GT, .datum_a = AF_NETLINK, .datum_b = 0};
	const uint32_t unknown_family = refuse(spec, EAFNOSUPPORT);
	int rc = seccomp_rule_add_array(ctx, unknown_family, SCMP_SYS(socket), 1, &is_higher);

	for (int family = 0; rc == 0 && family < AF_NETLINK; family++) {
		const struct scmp_arg_cmp is_family = masked(0, UINT64_MAX, (uint64_t)family);
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
			rc = seccomp_rule_add_array(ctx, unknown_family, SCMP_SYS(socket), 1,
						    &is_family);
	}
	for (size_t i = 0; rc == 0 && i < KGB_ARRAY_LEN(inet_families); i++) {
		const struct scmp_arg_cmp is_raw[] = {
			masked(0, UINT64_MAX, (uint64_t)inet_families[i]),
			masked(1, 0xf, SOCK_RAW)};
		rc = seccomp_rule_add_array(ctx, refuse(spec, EPERM), SCMP_SYS(socket),
					    KGB_ARRAY_LEN(is_raw), is_raw);
	}
	return rc;
}

/* Typing into a terminal that is read outside. The kernel reads 32 bits of the request. */
static int add_ioctl_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec)
{
	static const unsigned long requests[] = {TIOCSTI, TIOCLINUX};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < KGB_ARRAY_LEN(requests); i++) {
		const struct scmp_arg_cmp is_request = masked(1, UINT32_MAX, requests[i]);
		rc = seccomp_rule_add_array(ctx, refuse(spec, EPERM), SCMP_SYS(ioctl), 1,
					    &is_request);
	}
	return rc;
}

/* Memory that escapes the counts: SysV shared memory lies in no file and, unattached, in no
 * process; descriptors in a thread's own table are not in /proc/PID/fd. */
static int add_hiding_rules(scmp_filter_ctx ctx)
{
	const struct {
		int syscall;
		struct scmp_arg_cmp leaves_table;
	} splits[] = {
		{SCMP_SYS(unshare), masked(0, CLONE_FILES, CLONE_FILES)},
		{SCMP_SYS(clone), masked(0, CLONE_THREAD | CLONE_FILES, CLONE_THREAD)},
		{SCMP_SYS(close_range), masked(2, CLOSE_RANGE_UNSHARE, CLOSE_RANGE_UNSHARE)},
	};
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(shmget), 0);

	for (size_t i = 0; rc == 0 && i < KGB_ARRAY_LEN(splits); i++)
		rc = seccomp_rule_add_array(ctx, SCMP_ACT_NOTIFY, splits[i].syscall, 1,
					    &splits[i].leaves_table);
	return rc;
}

/* Device nodes: the kernel refuses them anyway, but only the filter records the attempt. */
static int add_device_rules(scmp_filter_ctx ctx)
{
	static const struct {
		int syscall;
		unsigned mode_arg;
		mode_t kind;
	} making[] = {{SCMP_SYS(mknod), 1, S_IFBLK},
		      {SCMP_SYS(mknod), 1, S_IFCHR},
		      {SCMP_SYS(mknodat), 2, S_IFBLK},
		      {SCMP_SYS(mknodat), 2, S_IFCHR}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(making); i++) {
		const struct scmp_arg_cmp is_device =
			masked(making[i].mode_arg, S_IFMT, making[i].kind);
		int rc = seccomp_rule_add_array(ctx, SCMP_ACT_NOTIFY, making[i].syscall, 1,
						&is_device);
		if (rc < 0 && rc != -EDOM) /* this architecture has no mknod */
			return rc;
	}
	return 0;
}

/* The machine's firewall, process events and IPsec. Routes stay readable: getaddrinfo reads them.
 */
static int add_netlink_rules(scmp_filter_ctx ctx)
{
	static const int protocols[] = {NETLINK_NETFILTER, NETLINK_CONNECTOR, NETLINK_XFRM};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < KGB_ARRAY_LEN(protocols); i++) {
		const struct scmp_arg_cmp is_protocol[] = {
			masked(0, UINT64_MAX, AF_NETLINK),
			masked(2, UINT32_MAX, (uint64_t)protocols[i])};
		rc = seccomp_rule_add_array(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(socket),
					    KGB_ARRAY_LEN(is_protocol), is_protocol);
	}
	return rc;
}

/* Sending to an address: in a message it lies in memory, which a filter cannot read. */
static int add_sending_watch(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp has_address = {
		.arg = 4, .op = SCMP_CMP_NE, .datum_a = 0, .datum_b = 0};
	int rc = seccomp_rule_add_array(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(sendto), 1, &has_address);

	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(sendmsg), 0);
	return rc < 0 ? rc : seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(sendmmsg), 0);
}

/* Record destinations of connections and messages, and opened files, without refusing them: the
 * namespaces do that. */
static int add_watch_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec)
{
	static const int opening[] = {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2)};
	int rc = seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(connect), 0);

	if (rc == 0)
		rc = add_sending_watch(ctx);
	for (size_t i = 0; rc == 0 && spec->watch_files && i < KGB_ARRAY_LEN(opening); i++) {
		rc = seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, opening[i], 0);
		if (rc == -EDOM) /* this architecture has no such system call */
			rc = 0;
	}
	return rc;
}

static int add_all_rules(scmp_filter_ctx ctx, const struct kgb_seccomp_spec *spec)
{
	/* A 32-bit program on a 64-bit kernel would slip past rules on numbers: it gets "no such
	 * system call". */
	int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));

	if (rc == 0) /* a binary tree by system call number: fewer steps for each call */
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc == 0)
		rc = add_rules(ctx, spec, always, KGB_ARRAY_LEN(always));
	if (rc == 0 && !spec->allow_nested_userns)
		rc = add_rules(ctx, spec, unless_nested, KGB_ARRAY_LEN(unless_nested));
	if (rc == 0 && !spec->allow_nested_userns)
		rc = add_userns_rules(ctx, spec);
	if (rc == 0)
		rc = add_socket_rules(ctx, spec);
	if (rc == 0)
		rc = add_ioctl_rules(ctx, spec);
	if (rc == 0 && spec->notify)
		rc = add_hiding_rules(ctx);
	if (rc == 0 && spec->notify)
		rc = add_device_rules(ctx);
	if (rc == 0 && spec->notify)
		rc = add_netlink_rules(ctx);
	if (rc == 0 && spec->notify)
		rc = add_watch_rules(ctx, spec);
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
