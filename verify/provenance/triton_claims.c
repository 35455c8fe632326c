/* SPDX-License-Identifier: MIT */
#include "verify/provenance/triton_claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/str.h"

#define SCHEMA "kgb.claims/1"
enum { WARPS_MAX = 64 };

static int by_digest(const void *a, const void *b)
{
	const struct kgb_triton_claim *left = a;
	const struct kgb_triton_claim *right = b;

	return strcmp(left->cubin_sha256, right->cubin_sha256);
}

struct document {
	const char *schema;
	struct kgb_objects claims;
};

static const struct kgb_field claim_table[] = {
	KGB_FIELD_ROW(STR, kgb_triton_claim, name, "of the kernel", .required = true),
	KGB_FIELD_ROW(STR, kgb_triton_claim, cubin_sha256, "of the cubin", .required = true),
	KGB_FIELD_ROW(STR, kgb_triton_claim, ttir, "Triton IR", .required = true),
	KGB_FIELD_ROW(STR, kgb_triton_claim, metadata, "as Triton stored it", .required = true),
	KGB_FIELD_ROW(I64, kgb_triton_claim, num_warps, "before specialization", .required = true,
		      .max = WARPS_MAX),
	KGB_FIELD_END,
};
static const struct kgb_field document_table[] = {
	KGB_FIELD_ROW(STR, document, schema, SCHEMA, .required = true),
	KGB_FIELD_ROW(OBJECTS, document, claims, "one for each cubin", .required = true,
		      .sub = claim_table, .sub_size = sizeof(struct kgb_triton_claim)),
	KGB_FIELD_END,
};

static int check_claim(struct kgb_triton_claim *claim, struct kgb_err *err)
{
	static const char digits[] = "0123456789abcdef";

	if (strspn(claim->cubin_sha256, digits) != KGB_SHA256_HEX_LEN - 1 ||
	    strlen(claim->cubin_sha256) != KGB_SHA256_HEX_LEN - 1)
		return kgb_fail(err, KGB_ERR_INVALID, "cubin_sha256 is no digest");
	claim->ttir_len = strlen(claim->ttir);
	claim->metadata_len = strlen(claim->metadata);
	if (claim->ttir_len > KGB_CLAIM_TTIR_MAX || claim->metadata_len > KGB_CLAIM_METADATA_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "%zu bytes of IR, %zu of metadata",
				claim->ttir_len, claim->metadata_len);
	return 0;
}

static int parse(const void *bytes, size_t len, struct kgb_triton_claims *claims,
		 struct kgb_err *err)
{
	KGB_AUTO(json) cJSON *json = NULL;
	struct document document;

	if (len > KGB_CLAIMS_BYTES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "%zu bytes, more than %u", len,
				KGB_CLAIMS_BYTES_MAX);
	if (kgb_json_parse(bytes, len, &json, err) < 0)
		return -1;
	const int n = cJSON_GetArraySize(kgb_json_get(json, "claims"));
	if (n > KGB_CLAIMS_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "%d claims, more than %d", n, KGB_CLAIMS_MAX);
	if (kgb_decode(document_table, NULL, json, &document, &claims->arena, err) < 0)
		return -1;
	if (!kgb_str_eq(document.schema, SCHEMA))
		return kgb_fail(err, KGB_ERR_INVALID, "schema is not " SCHEMA);
	claims->items = document.claims.items;
	claims->n = document.claims.n;
	for (size_t i = 0; i < claims->n; i++)
		if (check_claim(&claims->items[i], err) < 0)
			return kgb_ctx(err, "claim %zu", i);
	if (claims->n > 1)
		qsort(claims->items, claims->n, sizeof(*claims->items), by_digest);
	return 0;
}

int kgb_triton_claims_parse(const void *bytes, size_t len, struct kgb_triton_claims *out,
			    struct kgb_err *err)
{
	struct kgb_triton_claims claims = KGB_CLAIMS_INIT;

	if (parse(bytes, len, &claims, err) < 0) {
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
	kgb_arena_release(&claims->arena);
	*claims = (struct kgb_triton_claims)KGB_CLAIMS_INIT;
}
