/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

#include "base/formats/json.h"
#include "base/mem.h"
#include "verify/lane/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any JSON document makes a report without control characters that starts with one of four words.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(json) cJSON *json = NULL;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_json_parse((const char *)data, size, &json, &err) < 0)
		return 0;
	kgb_verdict_report(json, &text);
	KGB_ASSERT(text.len > 0 && text.ptr[text.len - 1] == '\n');
	KGB_ASSERT(strchr("PFCE", text.ptr[0]) != NULL);
	for (size_t i = 0; i < text.len; i++)
		KGB_ASSERT((unsigned char)text.ptr[i] >= 0x20 || text.ptr[i] == '\n');
	return 0;
}
