/* SPDX-License-Identifier: MIT */
#include "verify/provenance/proof_cache.h"

#include <string.h>

#include "base/mem.h"

bool kgb_triton_claim_has_one_result(const struct kgb_triton_claim *claim)
{
	static const char mark[] = "warp_specialize";

	return memmem(claim->ttir, claim->ttir_len, mark, strlen(mark)) == NULL;
}

/* All of the metadata counts, though most of it is no option: what differs there only makes a
 * second entry. */
static bool make_key(const struct kgb_triton_claim *claim, unsigned sm, const char *identity,
		     char key[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	if (!identity[0] || !kgb_triton_claim_has_one_result(claim))
		return false;
	kgb_buf_addf(&text, "proof 1\n%s\n%s\nsm %u\nwarps %lld\nbytes %zu %zu\n", KGB_VERSION,
		     identity, sm, (long long)claim->num_warps, claim->ttir_len,
		     claim->metadata_len);
	kgb_buf_add(&text, claim->ttir, claim->ttir_len);
	kgb_buf_add(&text, claim->metadata, claim->metadata_len);
	kgb_sha256_hex(text.ptr, text.len, key);
	return true;
}

bool kgb_proof_recall(const struct kgb_disk_cache *store, const struct kgb_triton_claim *claim,
		      unsigned sm, const char *identity, struct kgb_recompiled *out)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_err ignored = KGB_ERR_INIT;
	char key[KGB_SHA256_HEX_LEN];

	return make_key(claim, sm, identity, key) && kgb_disk_cache_get(store, key, &bytes) &&
	       kgb_recompiled_parse(bytes.ptr, bytes.len, out, &ignored) == 0;
}

void kgb_proof_keep(const struct kgb_disk_cache *store, atomic_uint_fast64_t *kept,
		    const struct kgb_triton_claim *claim, unsigned sm, const char *identity,
		    const struct kgb_recompiled *compiled)
{
	char key[KGB_SHA256_HEX_LEN];

	if (make_key(claim, sm, identity, key) &&
	    atomic_fetch_add(kept, compiled->n_bytes) + compiled->n_bytes <= KGB_PROOF_CACHE_SHARE)
		kgb_disk_cache_put(store, key, compiled->bytes, compiled->n_bytes);
}
