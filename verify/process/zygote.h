/* SPDX-License-Identifier: MIT */
/** \file
 * Warm parents of workers: a sandboxed Python with torch and triton imported, which forks a worker
 * for every control socket that it receives. A zygote is either the process's own, started for one
 * verification, or one that `kgb-judge zygotes` keeps warm behind a socket in a directory. Threads
 * may request workers at the same time; one thread starts and ends zygotes. */
#ifndef KGB_VERIFY_PROCESS_ZYGOTE_H
#define KGB_VERIFY_PROCESS_ZYGOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/formats/json.h"
#include "base/hash.h"
#include "sandbox/isolation/probe.h"

enum kgb_role {
	KGB_ROLE_RUNNER,
	KGB_ROLE_REFERENCE,
	/** Compiles the claimed IR of GPU kernels, or makes their IR from the text of kernel.py
	 * (verify/provenance/recompile.h). Needs only triton, no torch, no GPU. */
	KGB_ROLE_COMPILE,
	KGB_N_ROLES,
};
const char *kgb_role_name(enum kgb_role role);

struct kgb_zygote {
	enum kgb_role role;
	int hub_fd; /* own zygote: control sockets are sent here; -1 for the other kind */
	int log_fd; /* own zygote: a memfd with its stderr and its sandbox's; -1 for the other kind
		     */
	int status_fd; /* own zygote: reports of the launcher and bwrap; -1 */
	pid_t launcher; /* own zygote; 0 when it was reaped */
	char *socket_dir; /* owned; NULL for an own zygote */
	/** Digest of the software behind its workers' answers (verify/python/runner/identity.py);
	 * "": unknown. */
	char identity[KGB_SHA256_HEX_LEN];
};

#define KGB_DEVICE_CPU (-1)

struct kgb_zygote_spec {
	const char *python; /* absolute path of an interpreter that has torch and triton */
	const char *data_dir; /* holds verify/python/runner and verify/python/reference */
	const char *library; /* path of _kgbrun.abi3.so */
	int device; /* number of the GPU that workers use, KGB_DEVICE_CPU: none */
	/** The recorder of runners: path of libkgb_trace.so with a GPU, of libkgb_cpu_trace.so
	 * without one. */
	const char *trace_library;
	const char *cupti; /* path of libcupti.so.N; NULL: the loader's path */
	int spares; /* workers that are made before they are needed */
	bool tells_sizes; /* references also compute sizes of results, without data: import the
			     modules for that */
};

/** Private disk space of a runner: on a GPU for all compiled variants of a tuned kernel. */
int64_t kgb_runner_tmp_bytes(int device);
/** Start an own zygote; it is not ready yet. UNAVAILABLE names the missing part and the remedy. */
KGB_MUST_CHECK int kgb_zygote_start(struct kgb_zygote *zygote, enum kgb_role role,
				    const struct kgb_zygote_spec *spec, struct kgb_err *err);
/** Wait until it has imported everything. UNAVAILABLE when it cannot (torch or triton missing),
 * TIMEOUT. */
KGB_MUST_CHECK int kgb_zygote_wait_ready(struct kgb_zygote *zygote, int64_t timeout_ms,
					 struct kgb_err *err);
/** Use the zygote of that role whose socket lies in `dir`. Does not connect. */
void kgb_zygote_use(struct kgb_zygote *zygote, enum kgb_role role, const char *dir);
/** A control socket for a new worker. */
KGB_MUST_CHECK int kgb_zygote_connect(struct kgb_zygote *zygote, int *out_fd, struct kgb_err *err);
/** Send a control socket (borrowed) to an own zygote. */
KGB_MUST_CHECK int kgb_zygote_forward(struct kgb_zygote *zygote, int control_fd,
				      struct kgb_err *err);
/** Write the zygote's identity to the file "<role>.identity" in `dir_fd`, for users of its socket
 * there. */
KGB_MUST_CHECK int kgb_zygote_tell_identity(const struct kgb_zygote *zygote, int dir_fd,
					    struct kgb_err *err);
#define KGB_ZYGOTES_ISOLATION "isolation.json"
/** Write the isolation that this machine permits to that file in `dir_fd`, so that it is probed
 * once and not for each verdict. */
KGB_MUST_CHECK int kgb_zygotes_write_isolation(const struct kgb_isolation_info *info, int dir_fd,
					       struct kgb_err *err);
/** Read it; false: `dir` has no such file. */
bool kgb_zygotes_isolation(const char *dir, struct kgb_isolation_info *out);
enum kgb_zygote_says {
	KGB_ZYGOTE_NOTHING,
	KGB_ZYGOTE_LACKS, /* it has fewer spares than it wants */
	KGB_ZYGOTE_OUT, /* it has none of a role */
	KGB_ZYGOTE_MADE, /* the spare that it was to make is ready, or has failed */
	KGB_ZYGOTE_ENDED,
};
/** What an own zygote that is ready says next. Does not wait. */
enum kgb_zygote_says kgb_zygote_hear(const struct kgb_zygote *zygote);
/** Fail with "<role> process: <why>" and the last output of an own zygote that has ended. */
int kgb_zygote_fail_ended(const struct kgb_zygote *zygote, const char *why, struct kgb_err *err);
/** Let an own zygote that lacks spares make one. It says when that is done. */
KGB_MUST_CHECK int kgb_zygote_make_spare(struct kgb_zygote *zygote, struct kgb_err *err);
/** End an own zygote with all its workers, and reap it. Accepts one that was never started (all
 * zero). */
void kgb_zygote_stop(struct kgb_zygote *zygote);

/** Name of the socket of a warm zygote in its folder. */
const char *kgb_zygote_socket(enum kgb_role role);
/** A listening socket of that name in the folder `dir_fd`, replacing a stale one. */
KGB_MUST_CHECK int kgb_zygotes_listen(int dir_fd, const char *name, int *out_fd,
				      struct kgb_err *err);
/** Connect to the socket of that name in the folder at `path`. */
KGB_MUST_CHECK int kgb_zygotes_connect(const char *path, const char *name, int *out_fd,
				       struct kgb_err *err);

#endif
