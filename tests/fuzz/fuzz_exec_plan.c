/* SPDX-License-Identifier: MIT */
/* A hostile plan, and the same bytes as an image and as a request: what passes the checks stays
 * within its limits. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/plan_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_plan(const uint8_t *data, size_t size)
{
	struct kgb_record record = {0};
	KGB_AUTO(spans) struct kgb_spans blocks = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans pages = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans slack = KGB_SPANS_INIT;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_record_parse(data, size, &record, &err) < 0)
		return;
	if (kgb_exec_check_plan(&record, kgb_exec_check_image, &err) == 0) {
		kgb_exec_blocks(&record.windows[0], &blocks);
		kgb_spans_put_all(&pages, &blocks);
		kgb_spans_round(&pages, KGB_GPU_PAGE);
		kgb_spans_subtract(&pages, &blocks, &slack);
		KGB_ASSERT(kgb_spans_total(&slack) + kgb_spans_total(&blocks) ==
			   kgb_spans_total(&pages));
		for (size_t i = 0; i < blocks.n; i++)
			KGB_ASSERT(blocks.items[i].start + blocks.items[i].bytes <=
				   KGB_GPU_ADDRESS_END);
		(void)!kgb_exec_check_memory(&record.windows[0], &pages, &err);
	}
	kgb_record_release(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kgb_image image = {.bytes = data, .len = size};
	struct kgb_exec_request request = {0};
	struct kgb_exec_layout layout;
	struct kgb_err err = KGB_ERR_INIT;

	check_plan(data, size);
	(void)!kgb_exec_check_image(&image, &err);
	memcpy(&request, data, size < sizeof(request) ? size : sizeof(request));
	if (kgb_exec_request_check(&request, size, size > 0 ? data[0] % 3 : 0, &err) == 0 &&
	    kgb_exec_layout(&request, KGB_ARENA_BYTES_MAX, &layout, &err) == 0)
		KGB_ASSERT(layout.bytes <= KGB_EXEC_OUTPUT_MAX);
	return 0;
}
