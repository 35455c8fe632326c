/* SPDX-License-Identifier: MIT */
/** \file
 * Finds directories in which this process may make cgroups, from its own cgroup. A trial sandbox
 * tests whether limits there hold (ladder.h). */
#ifndef KGB_SANDBOX_ISOLATION_CGROUP_H
#define KGB_SANDBOX_ISOLATION_CGROUP_H

#include "base/err.h"
#include "sandbox/isolation/bwrap.h"

/** Fill the cgroup members of *out: version 2 with the controllers memory and pids, else both
 * hierarchies of version 1. In version 2 a group with processes gives its children no controllers;
 * a process that is alone in its group moves into a child of it for good. UNAVAILABLE with the
 * reason and the fix when there is none; the members are "" then. */
KGB_MUST_CHECK int kgb_cgroup_find(struct kgb_confinement *out, struct kgb_err *err);

/** For tests: the same with other files than /proc/self/mountinfo and /proc/self/cgroup, and
 * without moving this process. */
KGB_MUST_CHECK int kgb_cgroup_find_in(const char *mountinfo, const char *cgroup, bool may_move,
				      struct kgb_confinement *out, struct kgb_err *err);

#endif
