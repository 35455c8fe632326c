/* SPDX-License-Identifier: MIT */
/** \file
 * Lists the processes of a PID namespace, and the children of a process, from /proc. Used
 * to stop a sandboxed program politely and to prove that nothing of a sandbox is left.
 */
#ifndef KGB_SANDBOX_ISOLATION_PIDNS_H
#define KGB_SANDBOX_ISOLATION_PIDNS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** A descriptor of the PID namespace of a process; close it. While it is open, the inode's number
 * is that of no other namespace: kernels give it to the next one as soon as it has no holder.
 * `*inode` 0: it is set; else that must be its number. -1: the process is gone, or has another
 * namespace. */
int kgb_pidns_hold(pid_t pid, uint64_t *inode);
/** Count the processes in that namespace (which is held) and those below it. Processes that we may
 * not inspect belong to other users and do not count. -1 when /proc cannot be read. */
int kgb_pidns_count(uint64_t inode);
/** Send SIGKILL to each of them, but to none when we are in that namespace. The namespace must be
 * held. */
void kgb_pidns_kill(uint64_t inode);
/** Send a signal to each child of `parent`; returns the number of signalled children. A pid that
 * was reused meanwhile is not signalled. */
int kgb_pidns_signal_children(pid_t parent, int signo);

#endif
