/* SPDX-License-Identifier: MIT */
/** \file
 * Keeps kgb-exec processes with open contexts and lends them to judges, because a context takes
 * longer to make than most of what it is used for. A judge connects to the socket
 * kgb_exec_pool_socket (verify/process/exec_process.h) and gets a process that ran no code of any
 * candidate: a new one, or one that its last user gave back as clean. All others end after their
 * first use. One thread, whose end ends the processes. */
#ifndef KGB_VERIFY_PROCESS_EXEC_POOL_H
#define KGB_VERIFY_PROCESS_EXEC_POOL_H

#include <poll.h>
#include <stddef.h>

#include "base/err.h"
#include "verify/process/exec_process.h"

struct kgb_exec_pool;

/** Begin to make the first of `n_spares` spares and listen in the folder `dir_fd`. `spec` is
 * copied, its texts are borrowed; it has no pool. Free *out with kgb_exec_pool_free. */
KGB_MUST_CHECK int kgb_exec_pool_new(const struct kgb_exec_spec *spec, size_t n_spares, int dir_fd,
				     struct kgb_exec_pool **out, struct kgb_err *err);
/** End all processes, lent or not, and wait for that. Accepts NULL. */
void kgb_exec_pool_free(struct kgb_exec_pool *pool);

/** What the pool waits for: at most `cap` entries of *out, which kgb_exec_pool_turn answers.
 * Returns their number. */
size_t kgb_exec_pool_list(const struct kgb_exec_pool *pool, struct pollfd *out, size_t cap);
/** Do all that can be done without waiting: processes are started for users that would wait, not in
 * advance. Returns whether a user has come. */
bool kgb_exec_pool_turn(struct kgb_exec_pool *pool);
/** Whether the pool has fewer spares than it wants, and is making none. */
bool kgb_exec_pool_lacks(const struct kgb_exec_pool *pool);
/** Number of spares that it has; and of processes that it lent. */
size_t kgb_exec_pool_n_ready(const struct kgb_exec_pool *pool);
size_t kgb_exec_pool_n_lent(const struct kgb_exec_pool *pool);
/** Whether processes are being emptied, for which the pool must have a turn every second or so. */
bool kgb_exec_pool_is_emptying(const struct kgb_exec_pool *pool);
/** Whether processes are being made. */
bool kgb_exec_pool_is_making(const struct kgb_exec_pool *pool);
/** Begin to make a spare. */
void kgb_exec_pool_make_spare(struct kgb_exec_pool *pool);

/** Most entries of kgb_exec_pool_list, and most processes of a pool. */
#define KGB_EXEC_POOL_LIST_MAX 256
#define KGB_EXEC_POOL_MAX 96

#endif
