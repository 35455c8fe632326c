/* SPDX-License-Identifier: MIT */
/** \file
 * A coding CLI's stdout: any bytes, in any pieces, through the adapter that the first byte chooses,
 * the classification and the search for code. However the bytes are cut, the account is the same.
 */
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "methods/code_blocks.h"
#include "methods/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct kgb_events *events, const char *adapter, const char *bytes, size_t size,
		 size_t piece)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_ASSERT(kgb_events_init(events, adapter, &err) == 0);
	for (size_t i = 0; i < size; i += piece)
		kgb_events_feed(events, bytes + i, size - i < piece ? size - i : piece);
	kgb_events_finish(events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const adapters[KGB_N_ADAPTERS] = {"claude", "opencode", "codex", "exit"};
	struct kgb_events whole, cut;
	if (size < 2)
		return 0;
	const char *adapter = adapters[data[0] % KGB_N_ADAPTERS];
	const char *bytes = (const char *)data + 2;
	feed(&whole, adapter, bytes, size - 2, size);
	feed(&cut, adapter, bytes, size - 2, (size_t)data[1] + 1);
	const struct kgb_report *a = &whole.report, *b = &cut.report;
	struct kgb_agent_exit ended = {.started = true, .status = data[0]};
	enum kgb_agent_end end = kgb_agent_classify(a, &ended);
	KGB_ASSERT(end < KGB_N_AGENT_ENDS && end == kgb_agent_classify(b, &ended));
	KGB_ASSERT(a->n_bad_lines >= 0 && a->n_bad_lines == b->n_bad_lines);
	KGB_ASSERT(a->n_events >= 0 && a->n_events == b->n_events);
	KGB_ASSERT(kgb_usage_equal(&a->usage, &b->usage));
	if (a->final_text)
		kgb_free(kgb_last_python_block(a->final_text));
	kgb_events_release(&whole);
	kgb_events_release(&cut);
	return 0;
}
