/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

#include "sandbox/isolation/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is understood must not depend on how the bytes were cut, and never leave the allowed ranges.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_sandbox_status whole;
	struct kgb_sandbox_status cut;
	size_t step = size > 0 ? 1 + data[0] % 7u : 1;

	kgb_sandbox_status_init(&whole);
	kgb_sandbox_status_init(&cut);
	kgb_sandbox_status_feed(&whole, (const char *)data, size);
	for (size_t at = 0; at < size; at += step)
		kgb_sandbox_status_feed(&cut, (const char *)data + at,
					size - at < step ? size - at : step);
	KGB_ASSERT(whole.init_pid == cut.init_pid && whole.exit_code == cut.exit_code);
	KGB_ASSERT(whole.pidns_inode == cut.pidns_inode && whole.n_bad_lines == cut.n_bad_lines);
	KGB_ASSERT(whole.init_pid >= 0 && whole.exit_code >= -1 && whole.exit_code <= 255);
	KGB_ASSERT(whole.user_ms >= -1 && whole.sys_ms >= -1 && whole.max_rss_bytes >= -1);
	KGB_ASSERT(strlen(whole.error) < sizeof(whole.error));
	kgb_sandbox_status_release(&whole);
	kgb_sandbox_status_release(&cut);
	return 0;
}
