/* SPDX-License-Identifier: MIT */
/** \file
 * The system-call filter of the sandboxes. Everything is allowed except calls that reach into other
 * processes, the kernel or new privileges: ptrace and its kin, mounts, new user namespaces,
 * keyrings, BPF, perf, io_uring, userfaultfd, modules, exotic socket families, terminal injection.
 * It must not break node, Python or torch. */
#ifndef KGB_SANDBOX_ISOLATION_SECCOMP_H
#define KGB_SANDBOX_ISOLATION_SECCOMP_H

#include <stdbool.h>

#include "base/err.h"

struct kgb_seccomp_spec {
	bool allow_nested_userns; /* leave out the rules on user namespaces and mounts */
	/** Ask a listener instead of refusing at once (seccomp(2), "user-space notification"), also
	 * about addresses that are connected or sent to. The process that installs the filter needs
	 * a listener, and must pass it on from a process without the filter, because sendmsg(2)
	 * asks it too. Calls that the launcher could not see or count are refused as well: device
	 * nodes, netlink to the machine's services, SysV shared memory, private descriptor tables
	 * of threads. */
	bool notify;
	/** With it: ask about files that are opened, too. */
	bool watch_files;
};

/** Compile the filter into a new sealed memfd (close-on-exec, offset 0) in the form that `bwrap
 * --seccomp` and seccomp(2) take: an array of struct sock_filter. The caller closes *out_fd. */
KGB_MUST_CHECK int kgb_seccomp_memfd(const struct kgb_seccomp_spec *spec, int *out_fd,
				     struct kgb_err *err);

#endif
