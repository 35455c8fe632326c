/* SPDX-License-Identifier: MIT */
/** \file
 * The claimed sources of a candidate's kernels: the entries of its Triton cache, as
 * verify/python/runner/claims.py packs them. Untrusted; nothing follows from a claim until we
 * compile it ourselves and get the code that was launched.
 */
#ifndef KGB_VERIFY_PROVENANCE_TRITON_CLAIMS_H
#define KGB_VERIFY_PROVENANCE_TRITON_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/formats/json.h"
#include "base/hash.h"

#define KGB_CLAIMS_MAX 4096
#define KGB_CLAIMS_BYTES_MAX (48u << 20)
#define KGB_CLAIM_TTIR_MAX (8u << 20)
#define KGB_CLAIM_METADATA_MAX (64u << 10)

struct kgb_triton_claim {
	const char *name; /* of the kernel, for people */
	const char *cubin_sha256; /* of the cubin in the cache: which image this claim is about */
	const char *ttir;
	size_t ttir_len;
	const char *metadata; /* the JSON that Triton stored beside it */
	size_t metadata_len;
	int64_t num_warps; /* that it was compiled with; 0: as recorded */
};

struct kgb_triton_claims {
	struct kgb_arena arena; /* of all that follows */
	struct kgb_triton_claim *items; /* sorted by cubin_sha256 */
	size_t n;
};
#define KGB_CLAIMS_INIT \
	{               \
		.n = 0  \
	}

/** Parse untrusted bytes. INVALID or LIMIT names the fault. */
KGB_MUST_CHECK int kgb_triton_claims_parse(const void *bytes, size_t len,
					   struct kgb_triton_claims *out, struct kgb_err *err);
/** The first of *n claims about the cubin with this digest; NULL and 0 when there is none. */
const struct kgb_triton_claim *kgb_triton_claims_find(const struct kgb_triton_claims *claims,
						      const char *cubin_sha256, size_t *n);
void kgb_triton_claims_release(struct kgb_triton_claims *claims);

#endif
