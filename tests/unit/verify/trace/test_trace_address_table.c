/* SPDX-License-Identifier: MIT */
#include "tests/unit/base/support.h"
#include "verify/recorder/address_table.h"

/* ---- Keys, against a plain array ---- */

#define KEYS 97

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void test_a_table_agrees_with_an_array_after_any_mix_of_changes(void **state)
{
	/* The last one is that of handles. */
	static const uint64_t scales[] = {1, 16, UINT64_C(1) << 32, UINT64_C(1) << 40, 0x1230};

	(void)state;
	for (size_t s = 0; s < KGB_ARRAY_LEN(scales); s++) {
		struct kgb_address_table table = {0};
		uint64_t want[KEYS] = {0}, random = s + 1;
		bool there[KEYS] = {false};
		size_t n = 0;

		for (unsigned step = 0; step < 20000; step++) {
			const size_t k = next_random(&random) % KEYS;
			const uint64_t key = k * scales[s];

			if (next_random(&random) % 2) {
				n += !there[k];
				there[k] = true;
				want[k] = step;
				kgb_address_table_put(&table, key, step);
			} else {
				assert_int_equal(kgb_address_table_drop(&table, key), there[k]);
				n -= there[k];
				there[k] = false;
			}
			assert_int_equal(table.n, n);
			for (size_t other = 0; other < KEYS; other++) {
				const struct kgb_entry *found =
					kgb_address_table_find(&table, other * scales[s]);

				assert_int_equal(found != NULL, there[other]);
				if (found)
					assert_int_equal(found->value, want[other]);
			}
		}
		for (size_t i = 1; i < table.n; i++)
			assert_true(table.items[i - 1].key < table.items[i].key);
		kgb_address_table_release(&table);
	}
}

static void test_an_empty_table_has_nothing(void **state)
{
	struct kgb_address_table table = {0};

	(void)state;
	assert_null(kgb_address_table_find(&table, 0));
	assert_null(kgb_address_table_holder(&table, 0));
	assert_false(kgb_address_table_drop(&table, 0));
	kgb_address_table_release(&table);
}

/* ---- Ranges ---- */

static void test_ranges_stay_sorted_and_find_what_holds_an_address(void **state)
{
	struct kgb_address_table ranges = {0};

	(void)state;
	assert_null(kgb_address_table_holder(&ranges, 100));
	assert_false(kgb_address_table_drop(&ranges, 100));
	kgb_address_table_put(&ranges, 300, 10);
	kgb_address_table_put(&ranges, 100, 50);
	kgb_address_table_put(&ranges, 200, 1);
	kgb_address_table_put(&ranges, 100, 60); /* replaces */
	assert_int_equal(ranges.n, 3);
	assert_int_equal(ranges.items[0].key, 100);
	assert_int_equal(ranges.items[1].key, 200);
	assert_int_equal(ranges.items[2].key, 300);

	static const struct {
		uint64_t address, holder;
	} cases[] = {{0, 0},   {99, 0},    {100, 100}, {159, 100}, {160, 0},       {200, 200},
		     {201, 0}, {300, 300}, {309, 300}, {310, 0},   {UINT64_MAX, 0}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_entry *found = kgb_address_table_holder(&ranges, cases[i].address);

		assert_int_equal(found ? found->key : 0, cases[i].holder);
	}
	assert_false(kgb_address_table_drop(&ranges, 101));
	assert_true(kgb_address_table_drop(&ranges, 200));
	assert_null(kgb_address_table_holder(&ranges, 200));
	kgb_address_table_release(&ranges);
}

static void test_ranges_are_dropped_by_the_span_that_they_begin_in(void **state)
{
	struct kgb_address_table ranges = {0};

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		kgb_address_table_put(&ranges, 1000 - 10 * i, 10);
	kgb_address_table_drop_from(&ranges, 500, 100);
	assert_int_equal(ranges.n, 90);
	assert_null(kgb_address_table_holder(&ranges, 500));
	assert_null(kgb_address_table_holder(&ranges, 595));
	assert_non_null(kgb_address_table_holder(&ranges, 490));
	assert_non_null(kgb_address_table_holder(&ranges, 600));
	kgb_address_table_drop_from(&ranges, 2000, 100);
	kgb_address_table_drop_from(&ranges, 0, 10);
	assert_int_equal(ranges.n, 90);
	kgb_address_table_drop_from(&ranges, 0, UINT64_MAX);
	assert_int_equal(ranges.n, 0);
	kgb_address_table_release(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_table_agrees_with_an_array_after_any_mix_of_changes),
		cmocka_unit_test(test_an_empty_table_has_nothing),
		cmocka_unit_test(test_ranges_stay_sorted_and_find_what_holds_an_address),
		cmocka_unit_test(test_ranges_are_dropped_by_the_span_that_they_begin_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
