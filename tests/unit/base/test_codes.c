/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/codes.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/unit/base/support.h"

/* What the first word of a code promises. */
static const struct {
	const char *word;
	enum kgb_status statuses[4]; /* that such codes lead to */
	enum kgb_blame blamed[2];
} words[] = {
	{"agent.",
	 {KGB_STATUS_FAILED, KGB_STATUS_TIMEOUT, KGB_STATUS_BUDGET, KGB_STATUS_CANCELLED},
	 {KGB_BLAME_AGENT, KGB_BLAME_USER}},
	{"provider.", {KGB_STATUS_INFRA_ERROR}, {KGB_BLAME_PROVIDER}},
	{"budget.", {KGB_STATUS_BUDGET}, {KGB_BLAME_USER}},
	{"contract.", {KGB_STATUS_REFUSED}, {KGB_BLAME_KERNEL}},
	{"l1.", {KGB_STATUS_REFUSED}, {KGB_BLAME_KERNEL}},
	{"verify.", {KGB_STATUS_FAILED}, {KGB_BLAME_KERNEL}},
	{"coverage.", {KGB_STATUS_REFUSED}, {KGB_BLAME_KERNEL}},
	{"cheat.", {KGB_STATUS_CHEATED}, {KGB_BLAME_KERNEL}},
	{"infra.", {KGB_STATUS_INFRA_ERROR}, {KGB_BLAME_MACHINE}},
};
static const enum kgb_code exceptions[] = {KGB_CODE_AGENT_OK, KGB_CODE_CHEAT_PROBE,
					   KGB_CODE_INFRA_CANCELLED};

/* What L1 only notes decides nothing. */
static bool is_note(const struct kgb_code_row *row)
{
	return kgb_str_starts(row->name, "l1.");
}

static bool keeps_promise(const struct kgb_code_row *row)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++) {
		bool status = false;
		if (!kgb_str_starts(row->name, words[i].word))
			continue;
		for (size_t k = 0; k < KGB_ARRAY_LEN(words[i].statuses); k++)
			status = status || (row->status == words[i].statuses[k] &&
					    (row->status != KGB_STATUS_NONE || is_note(row)));
		return status &&
		       (row->blame == words[i].blamed[0] ||
			(row->blame != KGB_BLAME_NOBODY && row->blame == words[i].blamed[1]));
	}
	return false;
}

static void test_each_code_leads_where_its_first_word_promises(KGB_UNUSED void **state)
{
	for (int i = KGB_CODE_NONE + 1; i < KGB_N_CODES; i++) {
		const enum kgb_code code = (enum kgb_code)i;
		const struct kgb_code_row *row = kgb_code_row(code);
		const bool excepted =
			kgb_code_is_among(code, exceptions, KGB_ARRAY_LEN(exceptions));
		if (keeps_promise(row) == excepted)
			fail_msg("%s: %s, %s", row->name, kgb_status_name(row->status),
				 kgb_blame_name(row->blame));
		assert_true(row->status != KGB_STATUS_PASSED);
		/* Only trouble of a machine or of a provider may end better the next time. */
		if (row->is_tried_again)
			assert_int_equal(row->status, KGB_STATUS_INFRA_ERROR);
	}
}

static void test_each_code_has_a_name_of_its_own_and_a_sentence(KGB_UNUSED void **state)
{
	for (int i = KGB_CODE_NONE + 1; i < KGB_N_CODES; i++) {
		const struct kgb_code_row *row = kgb_code_row((enum kgb_code)i);
		assert_int_equal(kgb_code_find(row->name), i);
		assert_true(strlen(row->sentence) > 10);
		assert_int_equal(row->sentence[strlen(row->sentence) - 1], '.');
	}
}

static void test_an_unknown_name_is_no_code(KGB_UNUSED void **state)
{
	static const char *const names[] = {
		NULL, "", "verify", "verify.", "verify.mismatchx", "VERIFY.MISMATCH"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		assert_int_equal(kgb_code_find(names[i]), KGB_CODE_NONE);
	assert_null(kgb_code_name(KGB_CODE_NONE));
	assert_int_equal(kgb_code_status(KGB_CODE_NONE), KGB_STATUS_NONE);
}

static void test_verdicts_are_decided_or_no_fault_of_the_kernel(KGB_UNUSED void **state)
{
	for (int i = KGB_STATUS_NONE + 1; i < KGB_N_STATUSES; i++)
		assert_int_equal(kgb_status_find(kgb_status_name((enum kgb_status)i)), i);
	assert_int_equal(kgb_status_find(NULL), KGB_STATUS_NONE);
	assert_int_equal(kgb_status_find("pass"), KGB_STATUS_NONE);
	assert_true(kgb_status_is_decided(KGB_STATUS_PASSED));
	assert_true(kgb_status_is_decided(KGB_STATUS_CHEATED));
	assert_false(kgb_status_is_decided(KGB_STATUS_NONE));
	assert_false(kgb_status_is_decided(KGB_STATUS_INFRA_ERROR));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_code_leads_where_its_first_word_promises),
		cmocka_unit_test(test_each_code_has_a_name_of_its_own_and_a_sentence),
		cmocka_unit_test(test_an_unknown_name_is_no_code),
		cmocka_unit_test(test_verdicts_are_decided_or_no_fault_of_the_kernel),
	};
	return cmocka_run_group_tests_name("codes", tests, NULL, NULL);
}
