/* SPDX-License-Identifier: MIT */
/** \file
 * The first look at a kernel.py: what it lets through is not empty, small enough, valid UTF-8
 * without control characters.
 */
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"
#include "verify/static/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_finding finding = {0};
	const char *text = (const char *)data;
	int rc = kgb_scan_bytes(text, size, &finding);

	if (rc == 0) {
		KGB_ASSERT(size > 0 && size <= KGB_LIMIT_KERNEL &&
			   kgb_utf8_valid(text, size) == size);
		KGB_ASSERT(!memchr(text, '\0', size) && !memchr(text, '\x1b', size));
		return 0;
	}
	KGB_ASSERT(rc == 1 && kgb_str_starts(kgb_code_name(finding.code), "contract.") &&
		   kgb_code_status(finding.code) == KGB_STATUS_REFUSED);
	KGB_ASSERT(kgb_str_eq(finding.stage, "contract") && finding.line >= 0);
	KGB_ASSERT(memchr(finding.message, '\0', sizeof(finding.message)) && finding.message[0] &&
		   finding.hint[0]);
	return 0;
}
