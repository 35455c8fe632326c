/* SPDX-License-Identifier: MIT */
#include "verify/provenance/proof_cache.h"

#include <string.h>

#include "base/mem.h"

/* The key covers all options: two sources that differ in an option without effect only get two
 * entries. */
static bool make_key(const struct kgb_triton_source *source, const char *identity,
		     char key[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	if (!identity[0])
		return false;
	kgb_buf_addf(&text, "proof 3\n%s\n%s\n", KGB_VERSION, identity);
	kgb_triton_source_add(source, &text);
	kgb_sha256_hex(text.ptr, text.len, key);
	return true;
}

bool kgb_proof_recall(const struct kgb_disk_cache *store, const struct kgb_triton_source *source,
		      const char *identity, struct kgb_recompiled *out)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_err ignored = KGB_ERR_INIT;
	char key[KGB_SHA256_HEX_LEN];

	return make_key(source, identity, key) && kgb_disk_cache_get(store, key, &bytes) &&
	       kgb_recompiled_parse(bytes.ptr, bytes.len, out, &ignored) == 0;
}

void kgb_proof_keep(const struct kgb_disk_cache *store, atomic_uint_fast64_t *kept,
		    const struct kgb_triton_source *source, const char *identity,
		    const struct kgb_recompiled *compiled)
{
	char key[KGB_SHA256_HEX_LEN];

	if (make_key(source, identity, key) &&
	    atomic_fetch_add(kept, compiled->n_bytes) + compiled->n_bytes <= KGB_PROOF_CACHE_SHARE)
		kgb_disk_cache_put(store, key, compiled->bytes, compiled->n_bytes);
}
