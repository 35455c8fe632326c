/* SPDX-License-Identifier: MIT */
/* page.c as a build makes it that has no Plot and no D3. */
#include "agent/page/page.h"
#include "tests/unit/base/support.h"

static void test_without_libraries_the_remedy_is_named(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	size_t bytes = 0;
	(void)state;
	assert_int_equal(kgb_page_size(&bytes, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_UNAVAILABLE);
	assert_contains(err.msg, "./bootstrap setup");
	assert_contains(err.msg, "--json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_libraries_the_remedy_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
