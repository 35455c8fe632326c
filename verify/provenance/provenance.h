/* SPDX-License-Identifier: MIT */
/** \file
 * The makers of the code that kernels of a record were launched from. No statement of the
 * candidate's process counts: an image is the candidate's Triton code when our own compilation of
 * the Triton IR in its cache gives the same code, it is torch's when the judge's own torch holds
 * the same bytes, and unknown otherwise. What that proves and what not: docs/provenance.md.
 */
#ifndef KGB_VERIFY_PROVENANCE_PROVENANCE_H
#define KGB_VERIFY_PROVENANCE_PROVENANCE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/system/disk_cache.h"
#include "verify/process/zygote.h"
#include "verify/provenance/cubin.h"
#include "verify/provenance/device_policy.h"
#include "verify/provenance/image_index.h"
#include "verify/provenance/triton_claims.h"
#include "verify/record/call_classify.h"

#define KGB_PROVENANCE_IMAGES_MAX 4096
#define KGB_PROOF_REASON 320

enum kgb_proof_kind {
	KGB_PROOF_TRITON, /* we compiled the same code from the candidate's Triton IR */
	KGB_PROOF_LIBRARY, /* the same bytes lie in a library of the judge */
	KGB_PROOF_NONE, /* neither; `reason` */
	KGB_PROOF_UNDECIDED, /* our compiler got no answer; `reason` */
};

/** What is known of one image. Everything is owned by the provenance. */
struct kgb_image_proof {
	char image_sha256[KGB_SHA256_HEX_LEN];
	enum kgb_proof_kind kind;
	const char *name; /* TRITON: of the kernel; LIBRARY: of the library; else "" */
	char reason[KGB_PROOF_REASON]; /* NONE, UNDECIDED: why, one line */
	/** TRITON: what we compiled, with the same behaviour as the image. A plan that holds these
	 * bytes runs nothing that came from the candidate's process. */
	const unsigned char *cubin;
	size_t cubin_len;
	struct kgb_cubin_names kernels; /* TRITON */
	size_t n_inline_asm; /* TRITON: pieces of PTX in the source; allowed, counted and shown */
};

struct kgb_compiler;
struct kgb_provenance_spec {
	struct kgb_zygote *compiler; /* of KGB_ROLE_COMPILE */
	const struct kgb_image_index *index;
	const struct kgb_device_policy *policy;
	unsigned sm; /* of the GPU: 90 for compute capability 9.0 */
	int64_t timeout_ms; /* to compile one image */
	const struct kgb_disk_cache *cache; /* of compilations (proof_cache.h); NULL: none */
	struct kgb_compiler *maker; /* of code that runners asked us for; NULL: none */
};

struct kgb_provenance {
	struct kgb_provenance_spec spec;
	struct kgb_arena arena;
	struct kgb_image_proof *proofs[KGB_PROVENANCE_IMAGES_MAX]; /* arena */
	size_t n_proofs;
	int64_t n_recalled; /* compilations that the cache had */
	atomic_uint_fast64_t kept_bytes; /* that it was given */
};

/** What the spec points to must outlive the provenance. Pair with kgb_provenance_release. */
void kgb_provenance_init(struct kgb_provenance *provenance, const struct kgb_provenance_spec *spec);
void kgb_provenance_release(struct kgb_provenance *provenance);

/** Set `proof` of the image, which the provenance owns. An image with the bytes of an earlier one
 * costs its digest only. An image that nothing proves is no error. -1: a fault of ours (no
 * compiler), or LIMIT. */
KGB_MUST_CHECK int kgb_provenance_prove_image(struct kgb_provenance *provenance,
					      struct kgb_image *image,
					      const struct kgb_triton_claims *claims,
					      struct kgb_err *err);
/** The same for all images of a record. */
KGB_MUST_CHECK int kgb_provenance_prove(struct kgb_provenance *provenance,
					const struct kgb_record *record,
					const struct kgb_triton_claims *claims,
					struct kgb_err *err);
/** Was the image of this SHA-256 seen before, in any record? Then no claim about it is needed. */
bool kgb_provenance_knows(const struct kgb_provenance *provenance, const char *image_sha256);
/** How many of the images that were proved have PTX in their source. */
int64_t kgb_provenance_n_inline(const struct kgb_provenance *provenance);
/** The reason of the record's first image with a proof of this kind, NONE or UNDECIDED; NULL: no
 * image has one. */
const char *kgb_provenance_reason(const struct kgb_record *record, enum kgb_proof_kind kind);
/** What to replay in an image's place: the code that we compiled ourselves where it has the same
 * behaviour, else the image. Nothing then runs from bytes that only look right. */
struct kgb_image kgb_provenance_code(const struct kgb_image *image);
/** `find` of struct kgb_owners; payload is a struct kgb_provenance. */
enum kgb_owner kgb_provenance_owner(const struct kgb_image *image, const char *kernel,
				    const void *payload);

#endif
