/* SPDX-License-Identifier: MIT */
/** \file
 * Makes the executable form of the candidate's kernels: Triton IR of the text of kernel.py, on a
 * GPU also machine code. A runner does not compile: it requests IR for its claims, or code for its
 * Triton IR (verify/python/runner/remote.py). So the judge compiles every kernel once for all lanes
 * and, through the cache, for later verifications; and for code from the judge only the IR needs a
 * proof. Requests are untrusted. The runner compiles refused images itself, to get the error
 * message for the kernel's author; such code has no proof.
 *
 * One SOCK_STREAM socket per runner. Request: three little-endian 64-bit numbers, the lengths of an
 * image as on the CPU, which is the IR behind its claims (verify/protocol/cpu_image.h), and of a
 * JSON object with Triton's options, and the compute capability (90 for 9.0); then image and
 * options. Answer: two such numbers, the lengths of a cubin and of its facts
 * (verify/python/runner/recompile.py); then both; or no cubin, and a text with the cause. A request
 * without an image has claims in place of options, and gets IR in place of a cubin. */
#ifndef KGB_VERIFY_PROVENANCE_COMPILER_H
#define KGB_VERIFY_PROVENANCE_COMPILER_H

#include "base/system/disk_cache.h"
#include "verify/protocol/cpu_image.h"
#include "verify/provenance/recompile.h"

#define KGB_COMPILER_ENTRIES_MAX 4096
#define KGB_COMPILER_BYTES_MAX ((size_t)512 << 20) /* of all entries in memory */
#define KGB_COMPILER_SM_MAX 999

struct kgb_compiler;

/** `zygote` (of KGB_ROLE_COMPILE) and `cache` (of compilations, proof_cache.h; NULL: none) are
 * borrowed. */
struct kgb_compiler *kgb_compiler_new(struct kgb_zygote *zygote,
				      const struct kgb_disk_cache *cache);
/** No seat may be left. NULL is fine. */
void kgb_compiler_free(struct kgb_compiler *compiler);
/** Number of compilations taken from earlier verifications. */
int64_t kgb_compiler_n_recalled(struct kgb_compiler *compiler);

/** A seat: a thread that serves a runner. */
struct kgb_compiler_seat;
/** Serve a runner, which is paused (kgb_worker_pause) while it waits for compilations; the caller
 * gives *runner_fd to it and closes it. `kernel` is the kernel.py of all requests for IR; NULL:
 * there are none. Both are borrowed. Machine code is made only if `makes_code`. */
KGB_MUST_CHECK int kgb_compiler_sit(struct kgb_compiler *compiler, struct kgb_worker *runner,
				    const struct kgb_buf *kernel, bool makes_code,
				    struct kgb_compiler_seat **out, int *runner_fd,
				    struct kgb_err *err);
/** Milliseconds that the runner of this seat has waited for compilations, the one that runs
 * included. NULL: 0. */
int64_t kgb_compiler_seat_waited_ms(struct kgb_compiler_seat *seat);
/** End a compilation that runs and the thread. NULL is fine. */
void kgb_compiler_leave(struct kgb_compiler_seat *seat);

/** Whether some request got no code for lack of time, memory or processes, which is no evidence
 * about the candidate; `why` gives the cause in one line, or "". */
bool kgb_compiler_undecided(struct kgb_compiler *compiler, char why[KGB_RECOMPILE_WHY]);

/** Compile for the judge itself, once for all lanes. All sources of kind PYTHON must be of one
 * candidate: they share a worker. DONE: *out is the result; owned by the compiler. The others:
 * `why` gives the cause in one line. */
enum kgb_recompile_end kgb_compiler_make(struct kgb_compiler *compiler,
					 const struct kgb_triton_source *source,
					 const struct kgb_recompiled **out,
					 char why[KGB_RECOMPILE_WHY]);

/** Machine code that a runner requested. Owned by the compiler. */
struct kgb_compiled {
	const struct kgb_recompiled *made;
	struct kgb_cpu_image from; /* untrusted: the IR of which it was made, and the IR's claims */
	unsigned sm; /* compute capability for which it was made */
};

/** False: no runner got a cubin of this SHA-256. */
bool kgb_compiler_find(struct kgb_compiler *compiler, const char *cubin_sha256,
		       struct kgb_compiled *out);

#endif
