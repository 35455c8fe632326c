/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "verify/protocol/cpu_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(const char *part, size_t len, const uint8_t *data, size_t size)
{
	const char *begin = (const char *)data;

	return part >= begin && len <= size && (size_t)(part - begin) <= size - len;
}

/* Whatever bytes a record has as an image: refused, torch's moves, or a line and a text that are
 * all of it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kgb_image image = {.id = 1, .bytes = data, .len = size};
	struct kgb_cpu_image out = {0};
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_cpu_image_split(&image, &out, &err) < 0)
		return 0;
	if (out.is_torch) {
		KGB_ASSERT(size == strlen(KGB_CPU_IMAGE_TORCH) && !out.claims && !out.module);
		KGB_ASSERT(memcmp(data, KGB_CPU_IMAGE_TORCH, size) == 0);
		return 0;
	}
	KGB_ASSERT(is_within(out.claims, out.claims_len, data, size));
	KGB_ASSERT(is_within(out.module, out.module_len, data, size));
	KGB_ASSERT(out.module_len > 0 && out.claims_len + 1 + out.module_len == size);
	KGB_ASSERT(out.claims_len >= strlen(KGB_CPU_IMAGE_TTIR) &&
		   memcmp(out.claims, KGB_CPU_IMAGE_TTIR, strlen(KGB_CPU_IMAGE_TTIR)) == 0);
	KGB_ASSERT(!memchr(out.claims, '\n', out.claims_len));
	KGB_ASSERT(out.claims[out.claims_len] == '\n' &&
		   out.module == out.claims + out.claims_len + 1);
	return 0;
}
