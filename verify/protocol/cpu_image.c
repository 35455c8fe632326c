/* SPDX-License-Identifier: MIT */
#include "verify/protocol/cpu_image.h"

#include <string.h>

static bool begins_with(const struct kgb_image *image, const char *text, size_t len)
{
	return image->len >= len && memcmp(image->bytes, text, len) == 0;
}

int kgb_cpu_image_split(const struct kgb_image *image, struct kgb_cpu_image *out,
			struct kgb_err *err)
{
	const size_t torch_len = sizeof(KGB_CPU_IMAGE_TORCH) - 1;
	const char *text = (const char *)image->bytes;

	if (begins_with(image, KGB_CPU_IMAGE_TORCH, torch_len) && image->len == torch_len) {
		*out = (struct kgb_cpu_image){.is_torch = true};
		return 0;
	}
	const char *end = begins_with(image, KGB_CPU_IMAGE_TTIR, sizeof(KGB_CPU_IMAGE_TTIR) - 1)
				  ? memchr(text, '\n', image->len)
				  : NULL;
	const size_t line = end ? (size_t)(end - text) : image->len;
	if (line + 1 >= image->len)
		return kgb_fail(err, KGB_ERR_INVALID,
				"image %u: neither Triton's IR behind its claims nor torch's moves",
				image->id);
	*out = (struct kgb_cpu_image){.claims = text,
				      .claims_len = line,
				      .module = end + 1,
				      .module_len = image->len - line - 1};
	return 0;
}
