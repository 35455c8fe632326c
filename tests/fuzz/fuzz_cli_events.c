/* SPDX-License-Identifier: MIT */
/** \file
 * A coding CLI's stdout: any bytes, in any pieces, through the adapters, the classification and the
 * search for code.
 */
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "methods/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	if (size == 0 || kgb_events_init(&events, "claude", &err) < 0)
		return 0;
	size_t piece = (size_t)data[0] + 1;
	const char *bytes = (const char *)data;
	for (size_t i = 0; i < size; i += piece)
		kgb_events_feed(&events, bytes + i, size - i < piece ? size - i : piece);
	kgb_events_finish(&events);
	struct kgb_agent_exit ended = {.started = true, .status = data[0]};
	enum kgb_agent_end end = kgb_agent_classify(&events.report, &ended);
	KGB_ASSERT(end < KGB_N_AGENT_ENDS);
	KGB_ASSERT(events.report.n_bad_lines >= 0 && events.report.n_events >= 0);
	if (events.report.final_text)
		kgb_free(kgb_last_python_block(events.report.final_text));
	kgb_events_release(&events);
	return 0;
}
