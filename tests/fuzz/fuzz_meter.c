/* SPDX-License-Identifier: MIT */
/* An API's answer in a protocol, streamed or in one piece (first byte), cut at sizes that the
 * second byte tells. However it is cut, the counts are the same, and none is below -1. */
#include <stdint.h>

#include "sandbox/meter/ledger.h"
#include "sandbox/meter/meter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct kgb_meter *meter, uint8_t kind, const char *bytes, size_t len, size_t piece)
{
	kgb_meter_init(meter, (enum kgb_protocol)(kind / 2 % KGB_N_PROTOCOLS),
		       kind % 2 ? "application/json" : "text/event-stream");
	for (size_t at = 0; at < len; at += piece)
		kgb_meter_feed(meter, bytes + at, len - at < piece ? len - at : piece);
	kgb_meter_finish(meter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const char *bytes = (const char *)data + 2;
	size_t len = size - 2;
	struct kgb_meter whole, cut;
	feed(&whole, data[0], bytes, len, len + 1);
	feed(&cut, data[0], bytes, len, (size_t)data[1] + 1);
	KGB_ASSERT(kgb_usage_equal(&whole.usage, &cut.usage) && whole.surcharged == cut.surcharged
			   ? KGB_TARIFF_UNKNOWN
			   : KGB_TARIFF_LIST);
	KGB_ASSERT(whole.stopped == cut.stopped && whole.errored == cut.errored &&
		   whole.n_bad == cut.n_bad);
	KGB_ASSERT(strcmp(whole.message_id, cut.message_id) == 0 &&
		   strcmp(whole.model, cut.model) == 0);
	KGB_ASSERT(whole.usage.input >= -1 && whole.usage.output >= -1);

	struct kgb_ledger ledger;
	kgb_ledger_init(&ledger, NULL);
	kgb_ledger_report(&ledger, 1, whole.message_id, whole.model, &whole.usage,
			  whole.surcharged ? KGB_TARIFF_UNKNOWN : KGB_TARIFF_LIST);
	kgb_ledger_report(&ledger, 2, cut.message_id, cut.model, &cut.usage,
			  cut.surcharged ? KGB_TARIFF_UNKNOWN : KGB_TARIFF_LIST);
	KGB_ASSERT(ledger.totals.usage.output >= 0);
	kgb_ledger_release(&ledger);
	kgb_meter_release(&whole);
	kgb_meter_release(&cut);
	return 0;
}
