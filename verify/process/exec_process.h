/* SPDX-License-Identifier: MIT */
/** \file
 * A sandboxed kgb-exec process and its socket, as its user sees it: either a child of ours, or one
 * that a pool (verify/process/exec_pool.h) keeps and lends. */
#ifndef KGB_VERIFY_PROCESS_EXEC_PROCESS_H
#define KGB_VERIFY_PROCESS_EXEC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/isolation/policy.h"
#include "verify/gpu/gpu_lease.h"

struct kgb_exec_spec {
	bool on_cpu; /* by the machine for Triton's IR; device is 0 then */
	int n_threads; /* CPU: of a launch, at most KGB_MACHINE_THREADS_MAX; 0: one for each core */
	const char *program; /* path of kgb-exec; NULL: beside the running program */
	const char *launcher; /* path of kgb-launch; NULL: that of the installation */
	const char *cupti; /* path of libcupti.so.N on this host; NULL: the loader's path */
	uint32_t device; /* CUDA's number of the GPU */
	struct kgb_gpu_share *share; /* borrowed; NULL: requests do not wait for the GPU */
	/** Folder of a pool that has processes of this kind (borrowed); NULL: start a child. */
	const char *pool;
};

struct kgb_exec_process {
	pid_t launcher; /* a child: 0 when it was reaped, or is none */
	int holder_fd; /* lent by a pool: -1 when it has ended, or is none */
	int channel_fd, log_fd, status_fd;
	int end_value; /* exit status; 128 + N for signal N */
};
#define KGB_EXEC_PROCESS_INIT                                                    \
	{                                                                        \
		.holder_fd = -1, .channel_fd = -1, .log_fd = -1, .status_fd = -1 \
	}

/** The sandbox of kgb-exec: /usr, GPU devices where it uses one, nothing writable except its
 * threads' names and an empty /tmp. */
KGB_MUST_CHECK int kgb_exec_process_policy(struct kgb_policy *policy,
					   const struct kgb_exec_spec *spec, struct kgb_err *err);
/** Start a child. It ends with the thread that calls this. */
KGB_MUST_CHECK int kgb_exec_process_start(struct kgb_exec_process *process,
					  const struct kgb_exec_spec *spec, struct kgb_err *err);
/** Request a process of the pool in the folder spec->pool, without waiting. */
KGB_MUST_CHECK int kgb_exec_process_request(struct kgb_exec_process *process,
					    const struct kgb_exec_spec *spec, struct kgb_err *err);
/** Wait for the requested process until `deadline_ms` (monotonic). TIMEOUT; UNAVAILABLE: the pool
 * cannot start one, and says why. A child is there already. */
KGB_MUST_CHECK int kgb_exec_process_await(struct kgb_exec_process *process, int64_t deadline_ms,
					  struct kgb_err *err);
/** False: it has ended, or there never was one. */
bool kgb_exec_process_lives(const struct kgb_exec_process *process);
/** Start the end of the process without waiting. */
void kgb_exec_process_kill(const struct kgb_exec_process *process);
/** Wait `wait_ms` (-1: for ever) for the end of the process and its sandbox. False: it still runs.
 */
bool kgb_exec_process_reap(struct kgb_exec_process *process, int64_t wait_ms);
/** Add the last line that the process wrote to stderr, escaped. It must have ended. */
void kgb_exec_process_last_words(const struct kgb_exec_process *process, struct kgb_buf *out);
/** End the process, wait for that, and close everything. */
void kgb_exec_process_stop(struct kgb_exec_process *process);
/** Begin that without waiting; kgb_exec_process_stop must follow. Where a pool lent the process it
 * is gone at once: the pool has it cleared, then lends it again if it `is_clean` and ends it if
 * not, and holds a copy of the lease (NULL: none) until that is done. */
void kgb_exec_process_leave(struct kgb_exec_process *process, bool is_clean,
			    const struct kgb_gpu_lease *lease);

/* Messages on the socket between a pool and the user of a process. The pool sends the process: one
 * byte with the descriptors channel, log and status; or the text of an error, and closes. Later it
 * sends the process's end: an int, end_value. The user sends at most one byte: */
#define KGB_EXEC_POOL_KEEP 'k' /* the process is clean: lend it to others */
#define KGB_EXEC_POOL_END 'e' /* end it; with the descriptor of a lease, or without */
/* A user that closes the socket, or dies, also ends the process. */
/** Name of the pool's socket in its folder. */
static inline const char *kgb_exec_pool_socket(bool on_cpu)
{
	return on_cpu ? "exec-cpu.sock" : "exec.sock";
}
#define KGB_EXEC_POOL_FDS 3
#define KGB_EXEC_POOL_TEXT 512

#endif
