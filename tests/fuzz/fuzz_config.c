/* SPDX-License-Identifier: MIT */
/** \file
 * The configuration file: whatever is accepted prints as a file that is accepted again and means
 * the same.
 */
#include <stdint.h>
#include <string.h>

#include "agent/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_config_parse(&config, "fuzz.yaml", (const char *)data, size, NULL, &err) < 0)
		return 0;
	KGB_AUTO(buf) struct kgb_buf first = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf second = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf json = KGB_BUF_INIT(0);
	KGB_AUTO(config) struct kgb_config again = KGB_CONFIG_INIT;
	kgb_config_print(&config, &first);
	kgb_config_json(&config, &json);
	int rc = kgb_config_parse(&again, "again.yaml", first.ptr, first.len, NULL, &err);
	KGB_ASSERT(rc == 0);
	for (size_t i = 0; i < again.origins.n; i++) {
		/* Lines differ; what is compared is the values. */
		kgb_free(again.origins.items[i]);
		again.origins.items[i] = kgb_xstrdup(config.origins.items[i]);
	}
	kgb_config_print(&again, &second);
	KGB_ASSERT(strcmp(first.ptr, second.ptr) == 0);
	return 0;
}
