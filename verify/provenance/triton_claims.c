/* SPDX-License-Identifier: MIT */
#include "verify/provenance/triton_claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define SCHEMA "kgb.claims/1"
enum { WARPS_MAX = 64 };

static int by_digest(const void *a, const void *b)
{
	const struct kgb_triton_claim *left = a;
	const struct kgb_triton_claim *right = b;

	return strcmp(left->cubin_sha256, right->cubin_sha256);
}

static int parse_claim(const cJSON *node, struct kgb_triton_claim *out, struct kgb_err *err)
{
	static const char digits[] = "0123456789abcdef";
	struct kgb_triton_claim claim = {
		.name = kgb_json_str(node, "name", NULL),
		.cubin_sha256 = kgb_json_str(node, "cubin_sha256", NULL),
		.ttir = kgb_json_str(node, "ttir", NULL),
		.metadata = kgb_json_str(node, "metadata", NULL),
	};
	const int64_t num_warps = kgb_json_i64(node, "num_warps", -1);

	if (!claim.name || !claim.cubin_sha256 || !claim.ttir || !claim.metadata)
		return kgb_fail(err, KGB_ERR_INVALID,
				"name, cubin_sha256, ttir and metadata must be texts");
	if (strspn(claim.cubin_sha256, digits) != KGB_SHA256_HEX_LEN - 1 ||
	    strlen(claim.cubin_sha256) != KGB_SHA256_HEX_LEN - 1)
		return kgb_fail(err, KGB_ERR_INVALID, "cubin_sha256 is no digest");
	if (num_warps < 0 || num_warps > WARPS_MAX)
		return kgb_fail(err, KGB_ERR_INVALID, "num_warps is no number up to %d", WARPS_MAX);
	claim.num_warps = (unsigned)num_warps;
	claim.ttir_len = strlen(claim.ttir);
	claim.metadata_len = strlen(claim.metadata);
	if (claim.ttir_len > KGB_CLAIM_TTIR_MAX || claim.metadata_len > KGB_CLAIM_METADATA_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "%zu bytes of IR, %zu of metadata",
				claim.ttir_len, claim.metadata_len);
	*out = claim;
	return 0;
}

static int parse_list(const cJSON *list, struct kgb_triton_claims *claims, struct kgb_err *err)
{
	const cJSON *node;
	const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;

	if (n < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "no list of claims");
	if (n > KGB_CLAIMS_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "%d claims, more than %d", n, KGB_CLAIMS_MAX);
	claims->items = kgb_xcalloc((size_t)n + 1, sizeof(*claims->items));
	cJSON_ArrayForEach(node, list) {
		if (parse_claim(node, &claims->items[claims->n], err) < 0)
			return kgb_ctx(err, "claim %zu", claims->n);
		claims->n++;
	}
	if (claims->n > 1)
		qsort(claims->items, claims->n, sizeof(*claims->items), by_digest);
	return 0;
}

int kgb_triton_claims_parse(const void *bytes, size_t len, struct kgb_triton_claims *out,
			    struct kgb_err *err)
{
	struct kgb_triton_claims claims = KGB_CLAIMS_INIT;

	if (len > KGB_CLAIMS_BYTES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "claims: %zu bytes, more than %u", len,
				KGB_CLAIMS_BYTES_MAX);
	if (kgb_json_parse(bytes, len, &claims.document, err) < 0)
		return kgb_ctx(err, "claims");
	if (!kgb_str_eq(kgb_json_str(claims.document, "schema", NULL), SCHEMA)) {
		kgb_triton_claims_release(&claims);
		return kgb_fail(err, KGB_ERR_INVALID, "claims: schema is not " SCHEMA);
	}
	if (parse_list(kgb_json_get(claims.document, "claims"), &claims, err) < 0) {
		kgb_triton_claims_release(&claims);
		return kgb_ctx(err, "claims");
	}
	*out = claims;
	return 0;
}

const struct kgb_triton_claim *kgb_triton_claims_find(const struct kgb_triton_claims *claims,
						      const char *cubin_sha256, size_t *n)
{
	size_t first = 0;

	*n = 0;
	while (first < claims->n && strcmp(claims->items[first].cubin_sha256, cubin_sha256) < 0)
		first++;
	while (first + *n < claims->n &&
	       kgb_str_eq(claims->items[first + *n].cubin_sha256, cubin_sha256))
		++*n;
	return *n > 0 ? &claims->items[first] : NULL;
}

void kgb_triton_claims_release(struct kgb_triton_claims *claims)
{
	cJSON_Delete(claims->document);
	kgb_free(claims->items);
	*claims = (struct kgb_triton_claims)KGB_CLAIMS_INIT;
}
