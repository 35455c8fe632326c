/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A spec, then after a line of "%%" the case set that all its interfaces find. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data,
		   *cut = size > 0 ? memmem(text, size, "\n%%\n", 4) : NULL;
	struct fuzz_texts texts = {.spec = text, .set = "", .spec_len = size};

	if (cut) {
		texts.spec_len = (size_t)(cut - text) + 1;
		texts.set = cut + 4;
		texts.set_len = size - texts.spec_len - 3;
	}
	load_and_expand(texts);
	return 0;
}
