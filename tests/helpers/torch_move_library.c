/* SPDX-License-Identifier: MIT */
/** \file
 * A fill or copy of torch on one piece of memory, for the test in Python that compares with torch.
 */
#include "base/mem.h"
#include "verify/exec/cpu/move.h"

int torch_move(const char *kernel, const uint64_t *words, size_t n_words, char *memory,
	       size_t bytes, char message[400]);

/* The memory lies at KGB_POOL_ADDRESS. */
int torch_move(const char *kernel, const uint64_t *words, size_t n_words, char *memory,
	       size_t bytes, char message[400])
{
	const struct kgb_launch launch = {.kernel = kernel,
					  .grid = {1, 1, 1},
					  .block = {1, 1, 1},
					  .params = (const unsigned char *)words,
					  .params_bytes = (uint32_t)(n_words * sizeof(*words))};
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;
	struct kgb_cpu_memory laid;
	struct kgb_torch_move move;
	struct kgb_err err = KGB_ERR_INIT;

	kgb_spans_put(&spans, KGB_POOL_ADDRESS, bytes);
	kgb_cpu_memory_init(&laid);
	int rc = kgb_torch_move_parse(&launch, &move, &err);
	if (rc == 0)
		rc = kgb_cpu_memory_lay(&laid, &spans, &err);
	if (rc == 0) {
		char *place = kgb_cpu_memory_at(&laid, KGB_POOL_ADDRESS, bytes);
		memcpy(place, memory, bytes);
		rc = kgb_cpu_torch_move(&laid, &move, &err);
		memcpy(memory, place, bytes);
	}
	kgb_cpu_memory_release(&laid);
	(void)snprintf(message, sizeof(err.msg), "%s", err.msg);
	return rc;
}
