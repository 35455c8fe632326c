/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "verify/provenance/triton_claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever a candidate's process claims: refused, or every claim is complete and can be found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_triton_claims claims = KGB_CLAIMS_INIT;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_triton_claims_parse(data, size, &claims, &err) < 0) {
		KGB_ASSERT(err.msg[0] != '\0' && claims.n == 0);
		return 0;
	}
	KGB_ASSERT(claims.n <= KGB_CLAIMS_MAX);
	for (size_t i = 0; i < claims.n; i++) {
		const struct kgb_triton_claim *claim = &claims.items[i];
		size_t n;
		KGB_ASSERT(strlen(claim->cubin_sha256) == KGB_SHA256_HEX_LEN - 1);
		KGB_ASSERT(strlen(claim->ttir) == claim->ttir_len &&
			   strlen(claim->metadata) == claim->metadata_len);
		KGB_ASSERT(kgb_triton_claims_find(&claims, claim->cubin_sha256, &n) && n > 0);
	}
	kgb_triton_claims_release(&claims);
	return 0;
}
