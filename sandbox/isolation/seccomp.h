/* SPDX-License-Identifier: MIT */
/** \file
 * The system-call filter of the sandboxes. Everything is allowed except what reaches into other
 * processes, the kernel or new privileges: ptrace and its kin, mounts, new user namespaces,
 * keyrings, BPF, perf, io_uring, userfaultfd, modules, exotic socket families, terminal injection.
 * It must not break node, Python or torch.
 */
#ifndef KGB_SANDBOX_ISOLATION_SECCOMP_H
#define KGB_SANDBOX_ISOLATION_SECCOMP_H

#include <stdbool.h>

#include "base/err.h"

/** Compile the filter into a new sealed memfd (close-on-exec, offset 0) in the form that `bwrap
 * --seccomp` and prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER) take: an array of struct sock_filter.
 * `allow_nested_userns` leaves out the rules on user namespaces and mounts. The caller closes
 * *out_fd. */
KGB_MUST_CHECK int kgb_seccomp_memfd(bool allow_nested_userns, int *out_fd, struct kgb_err *err);

#endif
