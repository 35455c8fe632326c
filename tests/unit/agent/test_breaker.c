/* SPDX-License-Identifier: MIT */
#include "agent/sched/breaker.h"
#include "tests/unit/agent/agent_test.h"

static void test_a_run_halts_when_no_attempt_can_reach_a_model(void **state)
{
	static const struct {
		struct {
			enum kgb_agent_end end;
			bool answered;
		} attempts[4];
		size_t n;
		size_t halts_at; /* number of the attempt, from 1; 0: never */
	} cases[] = {
		{{{KGB_AGENT_AUTH, false}}, 1, 1},
		{{{KGB_AGENT_OK, true}, {KGB_AGENT_AUTH, false}}, 2, 2}, /* the key was revoked */
		{{{KGB_AGENT_OK, true}, {KGB_AGENT_CREDIT, true}}, 2, 2},
		{{{KGB_AGENT_MODEL, false}}, 1, 1},
		{{{KGB_AGENT_OK, true}, {KGB_AGENT_MODEL, false}}, 2, 0},
		{{{KGB_AGENT_TRANSIENT, false}, {KGB_AGENT_NETWORK, false}}, 2, 2},
		{{{KGB_AGENT_NO_REQUEST, false}, {KGB_AGENT_NO_REQUEST, false}}, 2, 2},
		{{{KGB_AGENT_NO_REQUEST, false}, {KGB_AGENT_NETWORK, false}}, 2, 2},
		{{{KGB_AGENT_OK, true},
		  {KGB_AGENT_NO_REQUEST, false},
		  {KGB_AGENT_NO_REQUEST, false}},
		 3,
		 0},
		{{{KGB_AGENT_TRANSIENT, true}, {KGB_AGENT_TRANSIENT, false}}, 2, 0},
		{{{KGB_AGENT_TRANSIENT, false}, {KGB_AGENT_OK, true}, {KGB_AGENT_NETWORK, false}},
		 3,
		 0},
		{{{KGB_AGENT_TRANSIENT, false},
		  {KGB_AGENT_CRASHED, false},
		  {KGB_AGENT_NETWORK, false}},
		 3,
		 0},
		{{{KGB_AGENT_TIMEOUT, false},
		  {KGB_AGENT_REQUEST, false},
		  {KGB_AGENT_KILLED, false}},
		 3,
		 0},
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_breaker breaker = {0};
		for (size_t k = 0; k < cases[i].n; k++) {
			const char *remedy = kgb_breaker_note(&breaker, cases[i].attempts[k].end,
							      cases[i].attempts[k].answered);
			assert_int_equal(remedy != NULL, k + 1 == cases[i].halts_at);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_run_halts_when_no_attempt_can_reach_a_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
