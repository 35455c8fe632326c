/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

#include "verify/provenance/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outer {
	const unsigned char *from, *to;
	size_t total;
};

/* Every container and every entry lies within what holds it, and entries make progress. */
static int on_fatbin(const void *bytes, size_t len, void *payload, struct kgb_err *err)
{
	struct outer *outer = payload;
	const unsigned char *from = bytes;
	struct kgb_fatbin_entry entry;
	bool broken;
	size_t before = 0;

	(void)err;
	KGB_ASSERT(from >= outer->from && len <= (size_t)(outer->to - from));
	KGB_ASSERT(kgb_fatbin_size(bytes, len) == len);
	outer->total += len;
	for (size_t at = 0; kgb_fatbin_next(bytes, len, &at, &entry, &broken); before = at) {
		KGB_ASSERT(at > before && at <= len);
		KGB_ASSERT(entry.data >= from &&
			   entry.n_bytes <= (size_t)(from + len - entry.data));
	}
	return 0;
}

/* The bytes as a container, and as a library that holds some. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outer outer = {.from = data, .to = data + size};
	struct kgb_err err = KGB_ERR_INIT;
	size_t len = kgb_fatbin_size(data, size);

	KGB_ASSERT(len <= size);
	if (len > 0)
		(void)on_fatbin(data, len, &outer, &err);
	outer.total = 0;
	if (kgb_fatbin_each(data, size, on_fatbin, &outer, &err) < 0)
		KGB_ASSERT(err.msg[0] != '\0');
	KGB_ASSERT(outer.total <= size);
	return 0;
}
