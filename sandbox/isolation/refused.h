/* SPDX-License-Identifier: MIT */
/** \file System calls that every sandbox refuses, with their errors: X(name, errno). Used by the
 * filter (seccomp.c) and by the launcher, which answers for it (launch_calls.c).
 */
#ifndef KGB_SANDBOX_ISOLATION_REFUSED_H
#define KGB_SANDBOX_ISOLATION_REFUSED_H

/* clang-format off */

#define KGB_REFUSED_ALWAYS(X) \
	/* other processes' memory and descriptors */ \
	X(ptrace, EPERM) \
	X(process_vm_readv, EPERM) \
	X(process_vm_writev, EPERM) \
	X(process_madvise, EPERM) \
	X(pidfd_getfd, EPERM) \
	X(kcmp, EPERM) \
	/* interfaces to the kernel's internals: never needed, often vulnerable */ \
	X(bpf, EPERM) \
	X(perf_event_open, EPERM) \
	X(userfaultfd, EPERM) \
	X(kexec_load, EPERM) \
	X(kexec_file_load, EPERM) \
	X(init_module, EPERM) \
	X(finit_module, EPERM) \
	X(delete_module, EPERM) \
	X(lookup_dcookie, EPERM) \
	X(fanotify_init, EPERM) \
	X(open_by_handle_at, EPERM) \
	X(syslog, EPERM) \
	X(reboot, EPERM) \
	X(swapon, EPERM) \
	X(swapoff, EPERM) \
	X(acct, EPERM) \
	X(quotactl, EPERM) \
	X(quotactl_fd, EPERM) \
	X(vhangup, EPERM) \
	X(settimeofday, EPERM) \
	X(clock_settime, EPERM) \
	X(sethostname, EPERM) \
	X(setdomainname, EPERM) \
	/* keyrings are not namespaced by user: they would be shared with the caller */ \
	X(keyctl, EPERM) \
	X(add_key, EPERM) \
	X(request_key, EPERM) \
	X(setns, EPERM) \
	/* "not in this kernel": libraries fall back to plain system calls */ \
	X(io_uring_setup, ENOSYS) \
	X(io_uring_enter, ENOSYS) \
	X(io_uring_register, ENOSYS)

/* Refused unless the policy allows nested user namespaces, which need them. */
#define KGB_REFUSED_UNLESS_NESTED(X) \
	X(mount, EPERM) \
	X(umount2, EPERM) \
	X(pivot_root, EPERM) \
	X(chroot, EPERM) \
	X(move_mount, EPERM) \
	X(open_tree, EPERM) \
	X(fsopen, EPERM) \
	X(fsconfig, EPERM) \
	X(fsmount, EPERM) \
	X(fspick, EPERM) \
	X(mount_setattr, EPERM)

/* clang-format on */

#endif
