/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

#include "tests/unit/base/support.h"

struct point {
	int x, y;
};

static void test_elements_stay_in_order_while_it_grows(void **state)
{
	KGB_VEC(struct point) points = {0};
	int i = 0;

	(void)state;
	for (int x = 0; x < 1000; x++)
		KGB_VEC_ADD(&points, (struct point){x, -x});
	assert_int_equal(points.n, 1000);
	assert_true(points.cap >= points.n);
	KGB_VEC_FOREACH(point, &points) {
		assert_int_equal(point->x, i);
		assert_int_equal(point->y, -i);
		i++;
	}
	assert_int_equal(i, 1000);
	KGB_VEC_RELEASE(&points);
	assert_null(points.items);
	assert_int_equal(points.n, 0);
	assert_int_equal(points.cap, 0);
}

static void test_a_constant_one_is_visited_too(void **state)
{
	int numbers[] = {1, 2, 4};
	const KGB_VEC(int) fixed = {.items = numbers, .n = 3, .cap = 3};
	int sum = 0;

	(void)state;
	KGB_VEC_FOREACH(number, &fixed)
		sum += *number;
	assert_int_equal(sum, 7);
}

static void test_an_empty_one_has_nothing_to_visit_or_free(void **state)
{
	KGB_VEC(int) numbers = {0};

	(void)state;
	KGB_VEC_FOREACH(number, &numbers)
		fail_msg("visited %d", *number);
	KGB_VEC_RELEASE(&numbers);
	KGB_VEC_RELEASE(&numbers);
}

static void test_room_is_made_without_adding(void **state)
{
	KGB_VEC(char) bytes = {0};

	(void)state;
	KGB_VEC_GROW(&bytes, 0);
	assert_null(bytes.items);
	KGB_VEC_GROW(&bytes, 100);
	assert_int_equal(bytes.n, 0);
	assert_int_equal(bytes.cap, 100);
	const char *at = bytes.items;
	for (int i = 0; i < 100; i++)
		KGB_VEC_ADD(&bytes, 'x');
	assert_ptr_equal(bytes.items, at);
	KGB_VEC_ADD(&bytes, 'y');
	assert_int_equal(bytes.cap, 200);
	KGB_VEC_RELEASE(&bytes);
}

static void overflow_count(void *payload)
{
	KGB_VEC(char) bytes = {.n = 2, .cap = 2};

	(void)payload;
	KGB_VEC_GROW(&bytes, SIZE_MAX - 1);
}

static void overflow_capacity(void *payload)
{
	KGB_VEC(char) bytes = {.n = SIZE_MAX / 2 + 1, .cap = SIZE_MAX / 2 + 1};

	(void)payload;
	KGB_VEC_GROW(&bytes, 1);
}

static void overflow_bytes(void *payload)
{
	KGB_VEC(struct point) points = {0};

	(void)payload;
	KGB_VEC_GROW(&points, SIZE_MAX / 4);
}

static void test_sizes_that_overflow_abort(void **state)
{
	(void)state;
	assert_aborts(overflow_count, NULL);
	assert_aborts(overflow_capacity, NULL);
	assert_aborts(overflow_bytes, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements_stay_in_order_while_it_grows),
		cmocka_unit_test(test_a_constant_one_is_visited_too),
		cmocka_unit_test(test_an_empty_one_has_nothing_to_visit_or_free),
		cmocka_unit_test(test_room_is_made_without_adding),
		cmocka_unit_test(test_sizes_that_overflow_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
