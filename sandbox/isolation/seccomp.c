/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

struct rule {
	int syscall;
	int refuse_errno;
};

/* Refused in every sandbox. */
static const struct rule always[] = {
	/* other processes' memory and descriptors */
	{SCMP_SYS(ptrace), EPERM},
	{SCMP_SYS(process_vm_readv), EPERM},
	{SCMP_SYS(process_vm_writev), EPERM},
	{SCMP_SYS(process_madvise), EPERM},
	{SCMP_SYS(pidfd_getfd), EPERM},
	{SCMP_SYS(kcmp), EPERM},
	/* the kernel's own machinery: never needed, often where the holes are */
	{SCMP_SYS(bpf), EPERM},
	{SCMP_SYS(perf_event_open), EPERM},
	{SCMP_SYS(userfaultfd), EPERM},
	{SCMP_SYS(kexec_load), EPERM},
	{SCMP_SYS(kexec_file_load), EPERM},
	{SCMP_SYS(init_module), EPERM},
	{SCMP_SYS(finit_module), EPERM},
	{SCMP_SYS(delete_module), EPERM},
	{SCMP_SYS(lookup_dcookie), EPERM},
	{SCMP_SYS(fanotify_init), EPERM},
	{SCMP_SYS(open_by_handle_at), EPERM},
	{SCMP_SYS(syslog), EPERM},
	{SCMP_SYS(reboot), EPERM},
	{SCMP_SYS(swapon), EPERM},
	{SCMP_SYS(swapoff), EPERM},
	{SCMP_SYS(acct), EPERM},
	{SCMP_SYS(quotactl), EPERM},
	{SCMP_SYS(quotactl_fd), EPERM},
	{SCMP_SYS(vhangup), EPERM},
	{SCMP_SYS(settimeofday), EPERM},
	{SCMP_SYS(clock_settime), EPERM},
	{SCMP_SYS(sethostname), EPERM},
	{SCMP_SYS(setdomainname), EPERM},
	/* keyrings are not namespaced by user: they would be shared with the caller */
	{SCMP_SYS(keyctl), EPERM},
	{SCMP_SYS(add_key), EPERM},
	{SCMP_SYS(request_key), EPERM},
	{SCMP_SYS(setns), EPERM},
	/* "not in this kernel": libraries fall back to plain system calls */
	{SCMP_SYS(io_uring_setup), ENOSYS},
	{SCMP_SYS(io_uring_enter), ENOSYS},
	{SCMP_SYS(io_uring_register), ENOSYS},
};

/* Refused unless the policy allows nested user namespaces, whose use needs them. */
static const struct rule unless_nested[] = {
	{SCMP_SYS(mount), EPERM},
	{SCMP_SYS(umount2), EPERM},
	{SCMP_SYS(pivot_root), EPERM},
	{SCMP_SYS(chroot), EPERM},
	{SCMP_SYS(move_mount), EPERM},
	{SCMP_SYS(open_tree), EPERM},
	{SCMP_SYS(fsopen), EPERM},
	{SCMP_SYS(fsconfig), EPERM},
	{SCMP_SYS(fsmount), EPERM},
	{SCMP_SYS(fspick), EPERM},
	{SCMP_SYS(mount_setattr), EPERM},
	/* Its flags lie in memory, where a filter cannot look; the C library then uses clone. */
	{SCMP_SYS(clone3), ENOSYS},
};

/* Each returns 0 or a negative errno, as libseccomp does. */

static int add_rules(scmp_filter_ctx ctx, const struct rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t action = SCMP_ACT_ERRNO((uint32_t)rules[i].refuse_errno);
		int rc = seccomp_rule_add(ctx, action, rules[i].syscall, 0);
		/* EDOM: this architecture has no such system call. */
		if (rc < 0 && rc != -EDOM)
			return rc;
	}
	return 0;
}

/* Refuse a system call whose arguments meet all n conditions. */
static int add_conditional(scmp_filter_ctx ctx, int refuse_errno, int syscall, unsigned n,
			   const struct scmp_arg_cmp *conditions)
{
	return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint32_t)refuse_errno), syscall, n,
				      conditions);
}

/* Argument number `arg`, under `mask`, is `value`. */
static struct scmp_arg_cmp masked(unsigned arg, uint64_t mask, uint64_t value)
{
	return (struct scmp_arg_cmp){
		.arg = arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

static int add_userns_rules(scmp_filter_ctx ctx)
{
	/* The flags are the first argument on all architectures that we know (s390 has them
	 * second). */
	const struct scmp_arg_cmp newuser = masked(0, CLONE_NEWUSER, CLONE_NEWUSER);
	int rc = add_conditional(ctx, EPERM, SCMP_SYS(unshare), 1, &newuser);

	return rc < 0 ? rc : add_conditional(ctx, EPERM, SCMP_SYS(clone), 1, &newuser);
}

/* Only unix, inet, inet6 and netlink (getaddrinfo and node ask it for interfaces); no raw sockets.
 */
static int add_socket_rules(scmp_filter_ctx ctx)
{
	static const int inet_families[] = {AF_INET, AF_INET6};
	/* Also catches a good family with bits above the 32 that the kernel looks at. */
	const struct scmp_arg_cmp is_higher = {
		.op = SCMP_CMP_GT, .datum_a = AF_NETLINK, .datum_b = 0};
	int rc = add_conditional(ctx, EAFNOSUPPORT, SCMP_SYS(socket), 1, &is_higher);

	for (int family = 0; rc == 0 && family < AF_NETLINK; family++) {
		const struct scmp_arg_cmp is_family = masked(0, UINT64_MAX, (uint64_t)family);
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
			rc = add_conditional(ctx, EAFNOSUPPORT, SCMP_SYS(socket), 1, &is_family);
	}
	for (size_t i = 0; rc == 0 && i < KGB_ARRAY_LEN(inet_families); i++) {
		const struct scmp_arg_cmp is_raw[] = {
			masked(0, UINT64_MAX, (uint64_t)inet_families[i]),
			masked(1, 0xf, SOCK_RAW)};
		rc = add_conditional(ctx, EPERM, SCMP_SYS(socket), KGB_ARRAY_LEN(is_raw), is_raw);
	}
	return rc;
}

/* Typing into a terminal that somebody outside reads. The kernel looks at 32 bits of the request.
 */
static int add_ioctl_rules(scmp_filter_ctx ctx)
{
	static const unsigned long requests[] = {TIOCSTI, TIOCLINUX};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < KGB_ARRAY_LEN(requests); i++) {
		const struct scmp_arg_cmp is_request = masked(1, UINT32_MAX, requests[i]);
		rc = add_conditional(ctx, EPERM, SCMP_SYS(ioctl), 1, &is_request);
	}
	return rc;
}

static int add_all_rules(scmp_filter_ctx ctx, bool allow_nested_userns)
{
	/* A 32-bit program on a 64-bit kernel would slip past rules on numbers: it gets "no such
	 * system call". */
	int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));

	if (rc == 0) /* a binary tree by system call number: fewer steps for each call */
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc == 0)
		rc = add_rules(ctx, always, KGB_ARRAY_LEN(always));
	if (rc == 0 && !allow_nested_userns)
		rc = add_rules(ctx, unless_nested, KGB_ARRAY_LEN(unless_nested));
	if (rc == 0 && !allow_nested_userns)
		rc = add_userns_rules(ctx);
	if (rc == 0)
		rc = add_socket_rules(ctx);
	if (rc == 0)
		rc = add_ioctl_rules(ctx);
	return rc;
}

int kgb_seccomp_memfd(bool allow_nested_userns, int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = memfd_create("kgb-seccomp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "create a memfd for the seccomp filter");

	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (!ctx)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"seccomp: libseccomp refuses to start on this architecture");
	int rc = add_all_rules(ctx, allow_nested_userns);
	if (rc == 0)
		rc = seccomp_export_bpf(ctx, fd);
	seccomp_release(ctx);
	if (rc < 0)
		return kgb_fail_errno(err, -rc, "seccomp: build the filter");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return kgb_fail_errno(err, errno, "seccomp: seal the filter");
	*out_fd = kgb_take_fd(&fd);
	return 0;
}
