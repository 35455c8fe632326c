/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sandbox/gateway/exchange_state.h"

#define N_STATES KGB_N_EXCHANGE_STATES
#define N_EVENTS KGB_N_EXCHANGE_EVENTS

/* All pairs that are possible; every other one is an error of the gateway. */
static const struct {
	enum kgb_exchange_state from;
	enum kgb_exchange_event event;
	enum kgb_exchange_state to;
} possible[] = {
#define PAIR(from, event, to)                                                   \
	{                                                                       \
		KGB_EXCHANGE_##from, KGB_EXCHANGE_ON_##event, KGB_EXCHANGE_##to \
	}
	PAIR(READING, MODEL, PREPARING),
	PAIR(READING, VERIFY, JUDGING),
	PAIR(READING, SOURCE_END, REPLYING),
	PAIR(READING, CLIENT_END, ENDED),
	PAIR(READING, CLOSE, READING),
	PAIR(PREPARING, WAIT, WAITING),
	PAIR(PREPARING, START, ANSWERING),
	PAIR(PREPARING, SOURCE_END, REPLYING),
	PAIR(PREPARING, CLIENT_END, ABANDONED),
	PAIR(PREPARING, CLOSE, ABANDONED),
	PAIR(PREPARING, RECORDED, PREPARING),
	PAIR(WAITING, START, ANSWERING),
	PAIR(WAITING, SOURCE_END, REPLYING),
	PAIR(WAITING, CLOSE, REPLYING),
	PAIR(WAITING, RECORDED, WAITING),
	PAIR(ANSWERING, SOURCE_END, REPLYING),
	PAIR(ANSWERING, CLIENT_END, DRAINING),
	PAIR(ANSWERING, CLOSE, REPLYING),
	PAIR(ANSWERING, RECORDED, ANSWERING),
	PAIR(JUDGING, SOURCE_END, REPLYING),
	PAIR(JUDGING, CLIENT_END, ENDED),
	PAIR(JUDGING, CLOSE, REPLYING),
	PAIR(REPLYING, CLIENT_END, ENDED),
	PAIR(REPLYING, CLOSE, REPLYING),
	PAIR(REPLYING, RECORDED, REPLYING),
	PAIR(ABANDONED, SOURCE_END, ENDED),
	PAIR(ABANDONED, CLIENT_END, ABANDONED),
	PAIR(ABANDONED, CLOSE, ABANDONED),
	PAIR(ABANDONED, RECORDED, ABANDONED),
	PAIR(DRAINING, SOURCE_END, ENDED),
	PAIR(DRAINING, CLOSE, ENDED),
	PAIR(DRAINING, RECORDED, DRAINING),
	PAIR(ENDED, CLOSE, ENDED),
	PAIR(ENDED, RECORDED, SETTLING),
	PAIR(SETTLING, CLOSE, SETTLING),
	PAIR(SETTLING, RECORDED, OVER),
	PAIR(OVER, CLOSE, OVER),
#undef PAIR
};

static enum kgb_exchange_state next(int state, int event)
{
	return kgb_exchange_next((enum kgb_exchange_state)state, (enum kgb_exchange_event)event);
}

static void test_each_pair_leads_where_it_should(void **state)
{
	(void)state;
	enum kgb_exchange_state expected[N_STATES][N_EVENTS];
	for (int s = 0; s < N_STATES; s++)
		for (int e = 0; e < N_EVENTS; e++)
			expected[s][e] = N_STATES;
	for (size_t i = 0; i < sizeof(possible) / sizeof(*possible); i++)
		expected[possible[i].from][possible[i].event] = possible[i].to;
	for (int s = 0; s < N_STATES; s++)
		for (int e = 0; e < N_EVENTS; e++)
			if (next(s, e) != expected[s][e])
				fail_msg("state %d, event %d: %d, expected %d", s, e,
					 (int)next(s, e), (int)expected[s][e]);
}

/* Every change goes forward, and only the last state has no way out: so each exchange ends. */
static void test_each_state_reaches_the_end(void **state)
{
	(void)state;
	for (int s = 0; s < N_STATES; s++) {
		int n_ways_out = 0;
		for (int e = 0; e < N_EVENTS; e++) {
			int to = (int)next(s, e);
			assert_true(to >= s);
			n_ways_out += to != s && to != N_STATES;
		}
		assert_int_equal(n_ways_out > 0, s != KGB_EXCHANGE_OVER);
	}
}

/* Sessions close at any time, and clients leave at any time as long as they are there: after these
 * and the ends that they bring about, nothing is left. */
static void test_a_closed_session_leaves_no_exchange(void **state)
{
	(void)state;
	for (int s = 0; s < N_STATES; s++) {
		static const int events[] = {KGB_EXCHANGE_ON_CLIENT_END, KGB_EXCHANGE_ON_SOURCE_END,
					     KGB_EXCHANGE_ON_RECORDED, KGB_EXCHANGE_ON_RECORDED};
		int at = (int)next(s, KGB_EXCHANGE_ON_CLOSE);
		assert_int_not_equal(at, N_STATES);
		for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
			if (next(at, events[i]) != N_STATES)
				at = (int)next(at, events[i]);
		assert_int_equal(at, KGB_EXCHANGE_OVER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_pair_leads_where_it_should),
		cmocka_unit_test(test_each_state_reaches_the_end),
		cmocka_unit_test(test_a_closed_session_leaves_no_exchange),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
