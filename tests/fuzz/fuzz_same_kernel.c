/* SPDX-License-Identifier: MIT */
/* Kernels of a model, to be compared. */
#include <stdint.h>
#include <string.h>

#include "agent/llm/same_kernel.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(free) char *text = kgb_xstrndup((const char *)data, size);
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_buf_adds(&out, "before");
	const bool good = kgb_python_normalize(text, &out);
	KGB_ASSERT(strncmp(out.ptr, "before", 6) == 0 && strlen(out.ptr) == out.len);
	KGB_ASSERT(good ? out.len <= 6 + strlen(text) + 1 : out.len == 6);
	return 0;
}
