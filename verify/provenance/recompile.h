/* SPDX-License-Identifier: MIT */
/** \file
 * One compilation: Triton IR and options in, machine code out; or the text of kernel.py and the
 * claims of IR in, Triton IR out. Done by a worker without GPU, network or torch
 * (verify/python/runner/recompile.py, verify/python/compiler/from_source.py); the text that it
 * parses may be hostile, so each IR and each kernel.py gets a separate worker. */
#ifndef KGB_VERIFY_PROVENANCE_RECOMPILE_H
#define KGB_VERIFY_PROVENANCE_RECOMPILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/formats/json.h"
#include "verify/process/worker.h"

#define KGB_RECOMPILE_OUTPUT_MAX (32u << 20) /* one cubin and its facts */
#define KGB_RECOMPILE_WHY 320
#define KGB_TRITON_IR_MAX (8u << 20)
#define KGB_TRITON_OPTIONS_MAX (64u << 10)
#define KGB_CLAIMS_MAX (256u << 10)

enum kgb_source_kind {
	KGB_SOURCE_IR, /* Triton IR, from which machine code is made */
	KGB_SOURCE_PYTHON, /* kernel.py, from which Triton IR is made */
};

/** The source to compile. Untrusted. */
struct kgb_triton_source {
	enum kgb_source_kind kind;
	const char *text;
	size_t text_len;
	const char *options; /* a JSON object: Triton's options, or the claims of IR */
	size_t options_len;
	unsigned sm; /* compute capability to compile for: 90 for 9.0 */
};

/** Append all inputs of a compilation: different sources give different bytes. */
void kgb_triton_source_add(const struct kgb_triton_source *source, struct kgb_buf *out);

struct kgb_recompiled {
	char *bytes; /* owned; the whole answer */
	size_t n_bytes;
	const char *code; /* in it: a cubin, or Triton IR */
	size_t len;
	cJSON *facts; /* owned; see the worker's file */
};
#define KGB_RECOMPILED_INIT   \
	{                     \
		.bytes = NULL \
	}
void kgb_recompiled_release(struct kgb_recompiled *result);
void kgb_auto_recompiled(struct kgb_recompiled *result);

/** Read an answer, which is untrusted; out->bytes are a copy. INVALID. */
KGB_MUST_CHECK int kgb_recompiled_parse(const char *bytes, size_t len, struct kgb_recompiled *out,
					struct kgb_err *err);

/** Start a worker for one source of this kind (pair with kgb_worker_stop). */
KGB_MUST_CHECK int kgb_recompile_start(struct kgb_worker *worker, struct kgb_zygote *zygote,
				       enum kgb_source_kind kind, struct kgb_err *err);
enum kgb_recompile_end {
	KGB_RECOMPILE_DONE,
	KGB_RECOMPILE_NO_CODE, /* the compiler rejects it */
	KGB_RECOMPILE_CRASHED, /* the compiler crashed; a second crash shows that the text is the
				  cause */
	KGB_RECOMPILE_UNDECIDED, /* the compiler gave no answer, for lack of time or memory, which
				    is no evidence about the source */
};
/** Compile a source; returns an enum kgb_recompile_end. DONE: *out is filled. The others: `why`
 * gives the cause in one line (the worker may be dead then). -1: the worker's supervisor is gone,
 * *err. A worker that lives can compile again. */
KGB_MUST_CHECK int kgb_recompile_ask(struct kgb_worker *worker,
				     const struct kgb_triton_source *source, int64_t deadline_ms,
				     struct kgb_recompiled *out, char why[KGB_RECOMPILE_WHY],
				     struct kgb_err *err);
/** The second half of kgb_recompile_ask: wait for a worker that writes to `output_fd`. */
KGB_MUST_CHECK int kgb_recompile_wait(struct kgb_worker *worker, int output_fd, int64_t deadline_ms,
				      struct kgb_recompiled *out, char why[KGB_RECOMPILE_WHY],
				      struct kgb_err *err);

#endif
