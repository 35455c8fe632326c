/* SPDX-License-Identifier: MIT */
/* How cases come to lanes: their order, and the queue. */
#include <pthread.h>

#include "tests/unit/base/support.h"
#include "verify/stages/case_queue.h"

enum { N = 100, LANES = 4, FAILURES = 3 };

struct lane {
	struct kgb_case_queue *queue;
	unsigned char *seen; /* shared; how often each turn was taken */
	size_t n_breaks; /* turns that do not follow the one before */
	bool from_end, waits;
	pthread_t thread;
};

static void *run_lane(void *payload)
{
	struct lane *lane = payload;
	struct kgb_case_share share = {.from_end = lane->from_end};
	size_t before = SIZE_MAX, turn;

	/* As in a verification: the first lane takes the first case before the others start. */
	if (lane->waits && !kgb_case_queue_wait_for_go(lane->queue))
		return NULL;
	while ((turn = kgb_case_queue_take(lane->queue, &share)) < lane->queue->n) {
		(void)__atomic_fetch_add(&lane->seen[turn], 1, __ATOMIC_RELAXED);
		lane->n_breaks += turn != before + 1;
		before = turn;
		kgb_case_queue_note(lane->queue, false, true);
	}
	return NULL;
}

static void test_every_turn_is_taken_once_and_neighbours_by_one_lane(KGB_UNUSED void **state)
{
	struct kgb_case_queue queue;
	unsigned char seen[N] = {0};
	struct lane lanes[LANES];
	size_t n_breaks = 0;

	kgb_case_queue_init(&queue, N, FAILURES);
	queue.n_lanes = LANES;
	for (size_t i = 0; i < LANES; i++) {
		lanes[i] = (struct lane){
			.queue = &queue, .seen = seen, .from_end = i % 2 == 1, .waits = i > 0};
		assert_int_equal(pthread_create(&lanes[i].thread, NULL, run_lane, &lanes[i]), 0);
	}
	for (size_t i = 0; i < LANES; i++) {
		assert_int_equal(pthread_join(lanes[i].thread, NULL), 0);
		n_breaks += lanes[i].n_breaks;
	}
	for (size_t i = 0; i < N; i++)
		assert_int_equal(seen[i], 1);
	assert_true(n_breaks < N / 2);
	assert_false(kgb_case_queue_is_over(&queue));
	kgb_case_queue_release(&queue);
}

static void test_the_first_share_is_the_first_case_alone(KGB_UNUSED void **state)
{
	struct kgb_case_queue queue;
	struct kgb_case_share first = {0}, second = {0};

	kgb_case_queue_init(&queue, N, FAILURES);
	queue.n_lanes = LANES;
	assert_int_equal(kgb_case_queue_take(&queue, &first), 0);
	assert_int_equal(kgb_case_queue_take(&queue, &second), 1);
	assert_int_equal(kgb_case_queue_take(&queue, &second), 2);
	assert_true(kgb_case_queue_take(&queue, &first) > 3);
	kgb_case_queue_release(&queue);
}

static void test_enough_failures_end_it_and_so_does_one_that_ends_all(KGB_UNUSED void **state)
{
	struct kgb_case_queue queue;
	struct kgb_case_share share = {0};

	kgb_case_queue_init(&queue, N, FAILURES);
	for (int i = 0; i < FAILURES; i++) {
		assert_false(kgb_case_queue_is_over(&queue));
		assert_true(kgb_case_queue_take(&queue, &share) < N);
		kgb_case_queue_note(&queue, true, false);
	}
	assert_true(kgb_case_queue_is_over(&queue));
	assert_int_equal(kgb_case_queue_take(&queue, &share), N);
	kgb_case_queue_release(&queue);

	kgb_case_queue_init(&queue, N, FAILURES);
	kgb_case_queue_note(&queue, true, true);
	assert_true(kgb_case_queue_is_over(&queue));
	kgb_case_queue_release(&queue);
}

static void test_benchmarks_are_handed_out_until_a_case_fails_or_they_end(KGB_UNUSED void **state)
{
	static const struct {
		bool fails, ends;
		size_t second;
	} rows[] = {{false, false, 1}, {true, false, 3}, {false, true, 3}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_case_queue queue;
		kgb_case_queue_init(&queue, N, FAILURES);
		queue.n_benchmarks = 3;
		assert_int_equal(kgb_case_queue_take_benchmark(&queue), 0);
		kgb_case_queue_note(&queue, rows[i].fails, false);
		assert_true(kgb_case_queue_has_failed(&queue) == rows[i].fails);
		if (rows[i].ends)
			kgb_case_queue_end_benchmarks(&queue);
		for (size_t k = rows[i].second; k < 3; k++)
			assert_int_equal(kgb_case_queue_take_benchmark(&queue), k);
		assert_int_equal(kgb_case_queue_take_benchmark(&queue), 3);
		/* Benchmarks that end do not end the cases. */
		assert_false(kgb_case_queue_is_over(&queue));
		kgb_case_queue_release(&queue);
	}
}

static void test_what_follows_goes_to_the_same_lane(KGB_UNUSED void **state)
{
	static const bool follows[N] = {[1] = true, [3] = true, [4] = true};
	struct kgb_case_queue queue;
	struct kgb_case_share first = {0}, second = {0};

	kgb_case_queue_init(&queue, N, FAILURES);
	queue.n_lanes = N;
	queue.follows = follows;
	assert_int_equal(kgb_case_queue_take(&queue, &first), 0);
	assert_int_equal(kgb_case_queue_take(&queue, &second), 2);
	assert_int_equal(kgb_case_queue_take(&queue, &first), 1);
	assert_int_equal(kgb_case_queue_take(&queue, &first), 5);
	assert_int_equal(kgb_case_queue_take(&queue, &second), 3);
	assert_int_equal(kgb_case_queue_take(&queue, &second), 4);
	assert_int_equal(kgb_case_queue_take(&queue, &second), 6);
	kgb_case_queue_release(&queue);
}

static void test_lanes_with_other_runners_meet_at_the_border(KGB_UNUSED void **state)
{
	static const bool follows[8] = {[1] = true, [5] = true, [6] = true};
	static const size_t turns[][2] = {{0, 7}, {1, 4}, {2, 5}, {8, 6}, {8, 3}, {8, 8}};
	struct kgb_case_queue queue;
	struct kgb_case_share first = {0}, last = {.from_end = true};

	kgb_case_queue_init(&queue, 8, FAILURES);
	queue.n_lanes = 4;
	queue.border = 3;
	queue.follows = follows;
	for (size_t i = 0; i < KGB_ARRAY_LEN(turns); i++) {
		assert_int_equal(kgb_case_queue_take(&queue, &first), turns[i][0]);
		assert_int_equal(kgb_case_queue_take(&queue, &last), turns[i][1]);
	}
	kgb_case_queue_release(&queue);
}

/* The turns that lanes get which begin at the front: the first that needs another runner, and their
 * number. */
static void test_a_lane_changes_its_runner_for_many_turns_or_alone(KGB_UNUSED void **state)
{
	static const struct {
		size_t n, border, n_lanes, n_turns;
	} rows[] = {
		{20, 10, 1, 20}, /* alone */
		{20, 10, 2, 10}, /* ten are left to another lane */
		{40, 10, 2, 40}, /* thirty are worth a runner */
		{20, 20, 2, 20}, /* one runner for all */
		{20, 0, 1, 20},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_case_queue queue;
		struct kgb_case_share share = {0};
		bool seen[40] = {false};
		size_t turn, n_turns = 0;
		kgb_case_queue_init(&queue, rows[i].n, FAILURES);
		queue.n_lanes = rows[i].n_lanes;
		queue.border = rows[i].border;
		while ((turn = kgb_case_queue_take(&queue, &share)) < rows[i].n) {
			assert_false(seen[turn]);
			assert_true(share.from_end == (turn >= rows[i].border));
			seen[turn] = true;
			n_turns++;
		}
		if (n_turns != rows[i].n_turns)
			fail_msg("row %zu: %zu turns", i, n_turns);
		kgb_case_queue_release(&queue);
	}
}

static void *wait_for_go(void *payload)
{
	return kgb_case_queue_wait_for_go(payload) ? payload : NULL;
}

static void
test_the_others_begin_when_they_are_let_go_and_never_when_it_is_over(KGB_UNUSED void **state)
{
	static void (*const ways[])(struct kgb_case_queue *) = {kgb_case_queue_let_go,
								kgb_case_queue_stop};

	for (size_t i = 0; i < KGB_ARRAY_LEN(ways); i++) {
		struct kgb_case_queue queue;
		pthread_t thread;
		void *went;
		kgb_case_queue_init(&queue, N, FAILURES);
		assert_int_equal(pthread_create(&thread, NULL, wait_for_go, &queue), 0);
		ways[i](&queue);
		assert_int_equal(pthread_join(thread, &went), 0);
		assert_ptr_equal(went, i == 0 ? &queue : NULL);
		kgb_case_queue_release(&queue);
	}
}

/* ---- the order ---- */

static const struct kgb_param tensor = {.name = "self", .kind = KGB_PARAM_TENSOR};

static void add_case(struct kgb_case *out, enum kgb_mode mode, enum kgb_dtype dtype, int64_t n)
{
	*out = (struct kgb_case){.mode = mode, .n_args = 1};
	out->args[0] = (struct kgb_arg){.param = &tensor,
					.view = {.dtype = dtype, .ndim = 1, .sizes = {n}}};
}

static void test_the_cheapest_ordinary_case_comes_first_then_types_together(KGB_UNUSED void **state)
{
	static const size_t expected[] = {4, 1, 3, 0, 2, 5};
	static const size_t unless_empty[] = {1, 0, 2};
	KGB_AUTO(free) struct kgb_case *items = kgb_xcalloc(6, sizeof(*items));
	const struct kgb_cases cases = {.items = items, .n = 6};
	size_t order[6];
	bool follows[6];

	add_case(&items[0], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT32, 0); /* tells nothing */
	add_case(&items[1], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT16, 100);
	add_case(&items[2], KGB_MODE_SPECIAL, KGB_DTYPE_FLOAT32, 4); /* no ordinary one */
	add_case(&items[3], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT16, 50);
	add_case(&items[4], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT16, 8);
	add_case(&items[5], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT32, 9);
	kgb_case_order(&cases, order, follows);
	assert_memory_equal(order, expected, sizeof(order));

	/* Also where the empty one is listed behind the others. */
	const struct kgb_cases few = {.items = items, .n = 3};
	add_case(&items[0], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT32, 9);
	add_case(&items[1], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT32, 8);
	add_case(&items[2], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT32, 0);
	kgb_case_order(&few, order, follows);
	assert_memory_equal(order, unless_empty, sizeof(unless_empty));
}

static void test_cases_for_the_runner_of_the_first_case_come_first(KGB_UNUSED void **state)
{
	static const size_t expected[2][5] = {{2, 3, 0, 1, 4}, {0, 3, 1, 2, 4}};
	KGB_AUTO(free) struct kgb_case *items = kgb_xcalloc(5, sizeof(*items));
	const struct kgb_cases cases = {.items = items, .n = 5};
	size_t order[5];
	bool follows[5];

	for (size_t i = 0; i < 5; i++) {
		add_case(&items[i], KGB_MODE_STANDARD,
			 i == 0 ? KGB_DTYPE_FLOAT32 : KGB_DTYPE_FLOAT16, i == 2 ? 5 : 9);
		items[i].style.without_asserts = i == 1 || i == 4;
	}
	for (size_t i = 0; i < 2; i++) {
		items[2].style.without_asserts = i == 1;
		kgb_case_order(&cases, order, follows);
		assert_memory_equal(order, expected[i], sizeof(order));
	}
}

/* Also where the twin is the cheapest case. */
static void test_a_twin_comes_right_after_its_model(KGB_UNUSED void **state)
{
	static const size_t expected[] = {0, 3, 1, 2};
	static const bool follow[] = {false, true, false, false};
	static const struct kgb_case_vars lines[4];
	KGB_AUTO(free) struct kgb_case *items = kgb_xcalloc(4, sizeof(*items));
	const struct kgb_cases cases = {.items = items, .n = 4};
	size_t order[4];
	bool follows[4];

	for (size_t i = 0; i < 4; i++) {
		add_case(&items[i], KGB_MODE_STANDARD, KGB_DTYPE_FLOAT32, i == 3 ? 5 : 9);
		items[i].line = &lines[i];
	}
	items[3].model = &lines[0];
	kgb_case_order(&cases, order, follows);
	assert_memory_equal(order, expected, sizeof(order));
	assert_memory_equal(follows, follow, sizeof(follows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_turn_is_taken_once_and_neighbours_by_one_lane),
		cmocka_unit_test(test_the_first_share_is_the_first_case_alone),
		cmocka_unit_test(test_enough_failures_end_it_and_so_does_one_that_ends_all),
		cmocka_unit_test(test_benchmarks_are_handed_out_until_a_case_fails_or_they_end),
		cmocka_unit_test(test_what_follows_goes_to_the_same_lane),
		cmocka_unit_test(test_lanes_with_other_runners_meet_at_the_border),
		cmocka_unit_test(test_a_lane_changes_its_runner_for_many_turns_or_alone),
		cmocka_unit_test(
			test_the_others_begin_when_they_are_let_go_and_never_when_it_is_over),
		cmocka_unit_test(test_the_cheapest_ordinary_case_comes_first_then_types_together),
		cmocka_unit_test(test_cases_for_the_runner_of_the_first_case_come_first),
		cmocka_unit_test(test_a_twin_comes_right_after_its_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
