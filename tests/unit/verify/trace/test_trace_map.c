/* SPDX-License-Identifier: MIT */
#include "tests/unit/base/support.h"
#include "verify/trace/map.h"
#include "verify/trace/ranges.h"

/* ---- kgb_id_map, against a plain array ---- */

#define KEYS 97

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static size_t visit_all(const struct kgb_id_map *map, const uint64_t *want, const bool *there,
			uint64_t scale)
{
	uint64_t key, value;
	size_t i = 0, n = 0;

	while (kgb_id_map_next(map, &i, &key, &value)) {
		assert_true(there[key / scale]);
		assert_int_equal(value, want[key / scale]);
		n++;
	}
	return n;
}

static void test_a_map_agrees_with_an_array_after_any_mix_of_changes(void **state)
{
	/* Scales that make keys collide: equal low bits, and what handles look like. */
	static const uint64_t scales[] = {1, 16, UINT64_C(1) << 32, UINT64_C(1) << 40, 0x1230};

	(void)state;
	for (size_t s = 0; s < KGB_ARRAY_LEN(scales); s++) {
		struct kgb_id_map map = {0};
		uint64_t want[KEYS] = {0}, random = s + 1, value = 0;
		bool there[KEYS] = {false};
		size_t n = 0;

		for (unsigned step = 0; step < 20000; step++) {
			const size_t k = next_random(&random) % KEYS;
			const uint64_t key = k * scales[s];

			if (next_random(&random) % 2) {
				n += !there[k];
				there[k] = true;
				want[k] = step;
				kgb_id_map_put(&map, key, step);
			} else {
				assert_int_equal(kgb_id_map_drop(&map, key), there[k]);
				n -= there[k];
				there[k] = false;
			}
			assert_int_equal(map.n, n);
			for (size_t other = 0; other < KEYS; other++) {
				assert_int_equal(kgb_id_map_get(&map, other * scales[s], &value),
						 there[other]);
				if (there[other])
					assert_int_equal(value, want[other]);
			}
		}
		assert_int_equal(visit_all(&map, want, there, scales[s]), n);
		kgb_id_map_release(&map);
	}
}

static void test_an_empty_map_has_nothing(void **state)
{
	struct kgb_id_map map = {0};
	uint64_t key, value;
	size_t i = 0;

	(void)state;
	assert_false(kgb_id_map_get(&map, 0, &value));
	assert_false(kgb_id_map_drop(&map, 0));
	assert_false(kgb_id_map_next(&map, &i, &key, &value));
	kgb_id_map_release(&map);
}

/* ---- kgb_ranges ---- */

static void test_ranges_stay_sorted_and_find_what_holds_an_address(void **state)
{
	struct kgb_ranges ranges = {0};

	(void)state;
	assert_null(kgb_ranges_find(&ranges, 100));
	assert_false(kgb_ranges_drop(&ranges, 100));
	kgb_ranges_put(&ranges, 300, 10);
	kgb_ranges_put(&ranges, 100, 50);
	kgb_ranges_put(&ranges, 200, 1);
	kgb_ranges_put(&ranges, 100, 60); /* replaces */
	assert_int_equal(ranges.n, 3);
	assert_int_equal(ranges.items[0].address, 100);
	assert_int_equal(ranges.items[1].address, 200);
	assert_int_equal(ranges.items[2].address, 300);

	static const struct {
		uint64_t address, holder;
	} cases[] = {{0, 0},   {99, 0},    {100, 100}, {159, 100}, {160, 0},       {200, 200},
		     {201, 0}, {300, 300}, {309, 300}, {310, 0},   {UINT64_MAX, 0}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_range *found = kgb_ranges_find(&ranges, cases[i].address);

		assert_int_equal(found ? found->address : 0, cases[i].holder);
	}
	assert_false(kgb_ranges_drop(&ranges, 101));
	assert_true(kgb_ranges_drop(&ranges, 200));
	assert_null(kgb_ranges_find(&ranges, 200));
	kgb_ranges_release(&ranges);
}

static void test_ranges_are_dropped_by_the_span_that_they_begin_in(void **state)
{
	struct kgb_ranges ranges = {0};

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		kgb_ranges_put(&ranges, 1000 - 10 * i, 10);
	kgb_ranges_drop_within(&ranges, 500, 100);
	assert_int_equal(ranges.n, 90);
	assert_null(kgb_ranges_find(&ranges, 500));
	assert_null(kgb_ranges_find(&ranges, 595));
	assert_non_null(kgb_ranges_find(&ranges, 490));
	assert_non_null(kgb_ranges_find(&ranges, 600));
	kgb_ranges_drop_within(&ranges, 2000, 100);
	kgb_ranges_drop_within(&ranges, 0, 10);
	assert_int_equal(ranges.n, 90);
	kgb_ranges_drop_within(&ranges, 0, UINT64_MAX);
	assert_int_equal(ranges.n, 0);
	kgb_ranges_release(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_map_agrees_with_an_array_after_any_mix_of_changes),
		cmocka_unit_test(test_an_empty_map_has_nothing),
		cmocka_unit_test(test_ranges_stay_sorted_and_find_what_holds_an_address),
		cmocka_unit_test(test_ranges_are_dropped_by_the_span_that_they_begin_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
