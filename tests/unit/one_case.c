/* SPDX-License-Identifier: MIT */
/** \file
 * Linked into every unit test: KGB_TEST_CASE names the cases to run, as a pattern of cmocka
 * ("test_a_duration*"; * and ? are wildcards). Without it all cases run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void __attribute__((constructor)) filter_cases(void)
{
	const char *pattern = getenv("KGB_TEST_CASE");

	if (pattern && pattern[0])
		cmocka_set_test_filter(pattern);
}
