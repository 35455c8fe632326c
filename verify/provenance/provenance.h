/* SPDX-License-Identifier: MIT */
/** \file
 * The makers of the code that kernels of a record were launched from. Statements of the candidate's
 * process do not count: an image is the candidate's Triton code when our compiler made these bytes
 * from the text of kernel.py; it is torch's when the judge's own torch holds the same bytes, and
 * unknown otherwise. docs/provenance.md describes the reach of these proofs. */
#ifndef KGB_VERIFY_PROVENANCE_PROVENANCE_H
#define KGB_VERIFY_PROVENANCE_PROVENANCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "verify/provenance/compiler.h"
#include "verify/provenance/cubin.h"
#include "verify/provenance/device_policy.h"
#include "verify/provenance/image_index.h"
#include "verify/record/call_classify.h"

#define KGB_PROVENANCE_IMAGES_MAX 4096
#define KGB_PROOF_REASON 320

enum kgb_proof_kind {
	KGB_PROOF_TRITON, /* our compiler made the same bytes */
	KGB_PROOF_LIBRARY, /* the same bytes lie in a library of the judge */
	KGB_PROOF_MOVES, /* torch's fills and copies as kgb-exec-cpu executes them */
	KGB_PROOF_NONE, /* no proof; `reason` */
	KGB_PROOF_UNDECIDED, /* our compiler gave no answer; `reason` */
};

/** The proof of one image. The provenance owns everything. */
struct kgb_image_proof {
	char image_sha256[KGB_SHA256_HEX_LEN];
	enum kgb_proof_kind kind;
	const char *name; /* TRITON: of the kernel; LIBRARY: of the library; else "" */
	char reason[KGB_PROOF_REASON]; /* NONE, UNDECIDED: why, one line */
	struct kgb_cubin_names kernels; /* TRITON */
	bool is_text; /* TRITON: the image is Triton's IR behind its claims, not machine code */
	const char *no_gpu; /* is_text: why no GPU can run it; NULL: a GPU can run it */
	bool has_code; /* is_text: `code` is made */
	struct kgb_launch_code code;
	size_t n_inline_asm; /* TRITON: pieces of PTX in the source; allowed, counted and shown */
};

struct kgb_provenance_spec {
	struct kgb_compiler *compiler; /* of code that runners requested; NULL: none */
	const char *kernel_text; /* of kernel.py */
	size_t kernel_len;
	unsigned sm; /* compute capability of the GPU: 90 for 9.0; CPU: KGB_CPU_SM */
	const struct kgb_image_index *index; /* NULL: images are those of the CPU */
	const struct kgb_device_policy *policy; /* of a GPU */
};

struct kgb_provenance {
	struct kgb_provenance_spec spec;
	struct kgb_arena arena;
	struct kgb_image_proof *proofs[KGB_PROVENANCE_IMAGES_MAX]; /* arena */
	size_t n_proofs;
};

/** The objects of the spec must outlive the provenance. Pair with kgb_provenance_release. */
void kgb_provenance_init(struct kgb_provenance *provenance, const struct kgb_provenance_spec *spec);
void kgb_provenance_release(struct kgb_provenance *provenance);

/** Set `proof` of each image of the record; the provenance owns the proofs. An image with the bytes
 * of an earlier image gets the earlier proof. An image without a proof is no error. -1: LIMIT. */
KGB_MUST_CHECK int kgb_provenance_prove(struct kgb_provenance *provenance,
					const struct kgb_record *record, struct kgb_err *err);
/** Number of proved images with PTX in their source. */
int64_t kgb_provenance_n_inline(const struct kgb_provenance *provenance);
/** Make machine code for this GPU of each kernel that the window launches by Triton's IR, unless it
 * is made. A kernel whose code may not run loses its proof. DONE; else `why` gives the cause in one
 * line: NO_CODE: the compiler rejects a kernel; UNDECIDED: lack of time or memory. */
enum kgb_recompile_end kgb_provenance_make_code(struct kgb_provenance *provenance,
						const struct kgb_record *record,
						const struct kgb_window *window,
						char why[KGB_RECOMPILE_WHY]);
/** `code` of struct kgb_owners. */
const struct kgb_launch_code *kgb_provenance_code(const struct kgb_image *image);
/** The record's first kernel that no GPU can run; NULL: there is none. */
const struct kgb_image_proof *kgb_provenance_unfit(const struct kgb_record *record);
/** The reason of the record's first image with a proof of this kind, NONE or UNDECIDED; NULL: no
 * image has one. */
const char *kgb_provenance_reason(const struct kgb_record *record, enum kgb_proof_kind kind);
/** `find` of struct kgb_owners; payload is a struct kgb_provenance. */
enum kgb_owner kgb_provenance_owner(const struct kgb_image *image, const char *kernel,
				    const void *payload);

#endif
