/* SPDX-License-Identifier: MIT */
/* Names and folders of users' modules. */
#include "tests/unit/base/support.h"
#include "verify/process/user_module.h"

enum { N = 500 };

static bool is_word(const char *text, const char *also)
{
	for (; *text; text++)
		if (!(*text >= 'a' && *text <= 'z') && !(*text >= '0' && *text <= '9') &&
		    !strchr(also, *text))
			return false;
	return true;
}

static void test_a_number_gives_one_module_of_many(KGB_UNUSED void **state)
{
	struct kgb_user_module modules[N] = {0};
	size_t n_same = 0;

	for (uint64_t i = 0; i < N; i++) {
		struct kgb_user_module again = {0};
		kgb_user_module_draw(i, &modules[i]);
		kgb_user_module_draw(i, &again);
		assert_string_equal(modules[i].name, again.name);
		assert_string_equal(modules[i].folder, again.folder);
		assert_int_equal(modules[i].rank, again.rank);
		assert_in_range(modules[i].rank, 1, 7);
		assert_true(is_word(modules[i].name, "_") && is_word(modules[i].folder, "/"));
		assert_true(strspn(modules[i].name, "0123456789") == 0);
		assert_true(modules[i].folder[0] != '/');
		/* A module of Python would be imported in place of its library's. */
		const char last = modules[i].name[strlen(modules[i].name) - 1];
		assert_true(last >= '0' && last <= '9');
		for (uint64_t k = 0; k < i; k++)
			n_same += strcmp(modules[i].name, modules[k].name) == 0;
	}
	assert_in_range(n_same, 0, N / 10);
}

static void test_each_call_draws_another_folder(KGB_UNUSED void **state)
{
	char a[64], b[64];

	for (int i = 0; i < N; i++) {
		kgb_user_folder_draw(a, sizeof(a));
		kgb_user_folder_draw(b, sizeof(b));
		assert_true(a[0] == '/' && is_word(a, "/"));
		assert_string_not_equal(a, b);
		assert_true(strncmp(a, "/kgb", 4) != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_number_gives_one_module_of_many),
		cmocka_unit_test(test_each_call_draws_another_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
