/* SPDX-License-Identifier: MIT */
/** \file
 * An API that misbehaves: what is tried again, what is not, who waits, and what is counted.
 */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include <unistd.h>

#include "base/time.h"
#include "sandbox/gateway/repeat_guard.h"
#include "sandbox/provider/key_limiter.h"
#include "sandbox/provider/retry.h"
#include "tests/helpers/loopback.h"

/* ---- decisions ---- */

static const struct kgb_retry_policy policy = {
	.max_tries = 4, .base_ms = 1000, .cap_ms = 3000, .total_ms = 60000};

static struct kgb_err curl_error(int code)
{
	struct kgb_err err = KGB_ERR_INIT;
	(void)kgb_fail_code(&err, KGB_ERR_DOMAIN_CURL, KGB_ERR_FAILED, code, "x");
	return err;
}

static void test_each_fault_is_tried_again_or_not_and_when(void **state)
{
	(void)state;
	const struct kgb_err refused = curl_error(7), dns = curl_error(6), stalled = curl_error(28);
	const struct kgb_err tls = curl_error(35), certificate = curl_error(60),
			     url = curl_error(3);
	const struct {
		const char *name;
		struct kgb_retry_fault fault;
		int n_tries;
		int64_t since_ms;
		bool again;
		int64_t wait_ms, pause_ms; /* with dice at 0: half of the wait */
	} cases[] = {
		{"429", {.status = 429}, 1, 0, true, 500, 500},
		{"429, in 7 s", {.status = 429, .retry_after = "7"}, 1, 0, true, 7000, 7000},
		{"429, in 0.2 s", {.status = 429, .retry_after_ms = "200"}, 1, 0, true, 500, 500},
		{"429, too late", {.status = 429, .retry_after = "61"}, 1, 0, false, 61000, 61000},
		{"429, date",
		 {.status = 429, .retry_after = "Sun, 06 Nov 1994 08:49:37 GMT"},
		 1,
		 0,
		 true,
		 500,
		 500},
		{"429, nonsense", {.status = 429, .retry_after = "soon"}, 1, 0, true, 500, 500},
		{"429, do not", {.status = 429, .should_retry = "false"}, 1, 0, false, 0, 0},
		{"500", {.status = 500}, 1, 0, true, 500, 0},
		{"500, twice", {.status = 500}, 2, 0, true, 1000, 0},
		{"500, capped", {.status = 500}, 3, 0, true, 1500, 0},
		{"500, last", {.status = 500}, 4, 0, false, 1500, 0},
		{"500, late", {.status = 500}, 1, 59600, false, 500, 0},
		{"529", {.status = 529}, 1, 0, true, 500, 0},
		{"529, in 2 s", {.status = 529, .retry_after = "2"}, 1, 0, true, 2000, 2000},
		{"400", {.status = 400}, 1, 0, false, 0, 0},
		{"400, do", {.status = 400, .should_retry = "true"}, 1, 0, true, 500, 0},
		{"401", {.status = 401}, 1, 0, false, 0, 0},
		{"402", {.status = 402}, 1, 0, false, 0, 0},
		{"403", {.status = 403}, 1, 0, false, 0, 0},
		{"404", {.status = 404}, 1, 0, false, 0, 0},
		{"connection refused", {.err = &refused}, 1, 0, true, 500, 0},
		{"no such host", {.err = &dns}, 1, 0, true, 500, 0},
		{"stall", {.err = &stalled}, 1, 0, true, 500, 0},
		{"TLS", {.err = &tls}, 1, 0, true, 500, 0},
		{"certificate", {.err = &certificate}, 1, 0, false, 0, 0},
		{"bad URL", {.err = &url}, 1, 0, false, 0, 0},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_retry_decision got;
		print_message("# %s\n", cases[i].name);
		kgb_retry_decide(&policy, &cases[i].fault, cases[i].n_tries, cases[i].since_ms, 0,
				 &got);
		assert_int_equal(got.again, cases[i].again);
		assert_int_equal(got.wait_ms, cases[i].wait_ms);
		assert_int_equal(got.pause_ms, cases[i].pause_ms);
	}
}

static void test_waits_are_spread(void **state)
{
	(void)state;
	struct kgb_retry_decision early, late;
	kgb_retry_decide(&policy, &(struct kgb_retry_fault){.status = 500}, 1, 0, 0.0, &early);
	kgb_retry_decide(&policy, &(struct kgb_retry_fault){.status = 500}, 1, 0, 0.999, &late);
	assert_int_equal(early.wait_ms, 500);
	assert_in_range(late.wait_ms, 990, 1000);
}

/* ---- turns ---- */

static void count(void *payload)
{
	++*(int *)payload;
}

static void on_closed(void *payload)
{
	*(bool *)payload = true;
}

static void test_places_are_halved_when_it_is_crowded_and_grow_one_by_one(void **state)
{
	(void)state;
	uv_loop_t loop;
	struct kgb_key_limiter c;
	struct kgb_turn turns[12] = {0};
	int n = 0;
	bool closed = false;
	assert_int_equal(uv_loop_init(&loop), 0);
	kgb_key_limiter_init(&c, &loop, 8);
	for (size_t i = 0; i < KGB_ARRAY_LEN(turns); i++)
		kgb_key_limiter_ask(&c, &turns[i], 0, count, &n);
	assert_int_equal(n, 8);
	kgb_key_limiter_leave(&c, &turns[0], KGB_TURN_CROWDED);
	assert_true(c.slots == 4);
	/* All of the same moment: halved once. */
	kgb_key_limiter_leave(&c, &turns[1], KGB_TURN_CROWDED);
	assert_true(c.slots == 4);
	assert_int_equal(n, 8); /* 6 run: nobody may come */
	for (size_t i = 2; i < 5; i++)
		kgb_key_limiter_leave(&c, &turns[i], KGB_TURN_SAID_NOTHING);
	assert_int_equal(n, 9);
	assert_int_equal(c.n_running, 4);
	kgb_key_limiter_leave(&c, &turns[5], KGB_TURN_WENT_WELL);
	assert_true(c.slots == 4.25);
	for (size_t i = 6; i < KGB_ARRAY_LEN(turns); i++)
		kgb_key_limiter_leave(&c, &turns[i], KGB_TURN_SAID_NOTHING);
	assert_int_equal(c.n_running, 0);
	/* Never beyond what is allowed. */
	c.max_slots = 4.3;
	for (size_t i = 0; i < 4; i++)
		kgb_key_limiter_ask(&c, &turns[i], 0, count, &n);
	kgb_key_limiter_leave(&c, &turns[0], KGB_TURN_WENT_WELL);
	assert_true(c.slots == 4.3);
	for (size_t i = 1; i < 4; i++)
		kgb_key_limiter_leave(&c, &turns[i], KGB_TURN_SAID_NOTHING);
	assert_int_equal(c.n_running, 0);
	assert_null(c.first);
	kgb_key_limiter_close(&c, on_closed, &closed);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_true(closed);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- at the gateway ---- */

enum { WHOLE = 1, BILLED = 2, CUT = 4, LAST_WORD = 8 /* x-should-retry: false */ };

struct trouble {
	const char *name;
	const char *behaviours[4]; /* of the calls, in order */
	int tries; /* allowed */
	bool tls, without_upstream;
	int status;
	int flags;
	int n_calls;
	int n_retries;
	int64_t output; /* counted; -1: unknown */
};

static const struct trouble troubles[] = {
	{"429 once", {"429_plain", "ok"}, 3, false, false, 200, WHOLE | BILLED, 2, 1, 50},
	{"529 twice", {"529", "529", "ok"}, 3, false, false, 200, WHOLE | BILLED, 3, 2, 50},
	{"500 once", {"500", "ok"}, 3, false, false, 200, WHOLE | BILLED, 2, 1, 50},
	{"reset once", {"refuse", "ok"}, 3, false, false, 200, WHOLE | BILLED, 2, 1, 50},
	{"stall once", {"silent", "ok"}, 2, false, false, 200, WHOLE | BILLED, 2, 1, 50},
	{"500 for good", {"500", "500", "500"}, 3, false, false, 500, WHOLE | LAST_WORD, 3, 2, -1},
	{"529 for good", {"529", "529"}, 2, false, false, 529, WHOLE | LAST_WORD, 2, 1, -1},
	{"429 for good",
	 {"429_plain", "429_plain"},
	 2,
	 false,
	 false,
	 429,
	 WHOLE | LAST_WORD,
	 2,
	 1,
	 -1},
	{"reset for good", {"refuse", "refuse"}, 2, false, false, 502, WHOLE | LAST_WORD, 2, 1, -1},
	{"nobody there", {NULL}, 3, false, true, 502, WHOLE | LAST_WORD, 0, 2, -1},
	{"no TLS there", {NULL}, 2, true, false, 502, WHOLE | LAST_WORD, 0, 1, -1},
	{"401", {"401"}, 3, false, false, 401, WHOLE | LAST_WORD, 1, 0, -1},
	{"402", {"402"}, 3, false, false, 402, WHOLE | LAST_WORD, 1, 0, -1},
	{"403", {"403"}, 3, false, false, 403, WHOLE | LAST_WORD, 1, 0, -1},
	{"404", {"404"}, 3, false, false, 404, WHOLE | LAST_WORD, 1, 0, -1},
	/* An answer has begun: it may be billed, and is not asked for twice. */
	{"cut", {"cut", "ok"}, 3, false, false, 200, BILLED | CUT, 1, 0, -1},
	{"stall later", {"stall", "ok"}, 3, false, false, 200, BILLED | CUT, 1, 0, -1},
	{"malformed", {"malformed", "ok"}, 3, false, false, 200, WHOLE | BILLED, 1, 0, -1},
	{"error event", {"error_event", "ok"}, 3, false, false, 200, WHOLE | BILLED, 1, 0, -1},
};

static void test_what_may_be_tried_again_is_and_nothing_is_billed_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(troubles); i++) {
		const struct trouble *t = &troubles[i];
		print_message("# %s\n", t->name);
		struct fixture *f = fixture_new(&(struct fixture_spec){
			.mode = KGB_GATEWAY_LIVE,
			.behaviours = t->behaviours,
			.behaviour = "ok",
			.tls = t->tls,
			.without_upstream = t->without_upstream,
			.idle_timeout_ms = strstr(t->name, "stall") ? 1000 : 0,
			.retry = {t->tries, 10, 40, 20000},
		});
		struct client c;
		ask_once(f, &c);
		assert_int_equal(client_status(&c), t->status);
		bool complete;
		KGB_AUTO(free) char *body = client_body(&c, &complete);
		assert_int_equal(complete, (t->flags & WHOLE) != 0);
		assert_int_equal(strcasestr(c.in.ptr, "x-should-retry: false") != NULL,
				 (t->flags & LAST_WORD) != 0);
		const struct summary *s = wait_summary(f);
		assert_int_equal(s->s.billed, (t->flags & BILLED) != 0);
		assert_int_equal(s->s.cut_upstream, (t->flags & CUT) != 0);
		assert_int_equal(s->s.usage.output, t->output);
		if (f->llm)
			assert_int_equal(fake_llm_calls(f->llm), t->n_calls);
		client_close(&c);
		KGB_AUTO(free) char *meta = traffic_read(f, "0001.meta.json");
		fixture_close_session(f);
		assert_int_equal(f->totals.n_exchanges, 1);
		assert_int_equal(f->totals.n_open, 0);
		assert_int_equal(f->totals.n_retries, t->n_retries);
		/* Each failed call is in the record. */
		if (t->n_retries > 0)
			assert_null(strstr(meta, "\"tries\": []"));
		assert_int_equal(f->totals.usage.output, t->output > 0 ? t->output : 0);
		fixture_free(f);
	}
}

static void test_a_loop_that_was_held_up_does_not_blame_the_api(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .idle_timeout_ms = 1000});
	struct client c;
	client_open(&c, f);
	client_request(&c, "POST", "/v1/messages", AUTH "connection: close\r\n", BODY,
		       strlen(BODY));
	run_until(f, has_call, f, 2000);
	run_for(f, 300); /* until the gateway knows that all has been sent */
	(void)usleep(1300 * 1000);
	assert_true(fake_llm_behave(f->call, "ok"));
	client_wait_end(&c);
	assert_int_equal(client_status(&c), 200);
	client_close(&c);
	fixture_free(f);
}

#define OTHER_BODY "{\"model\":\"m-asked\",\"max_tokens\":100,\"messages\":[]}"

/* What a client that does not give up asks for, and what it gets. */
static void test_a_request_whose_answers_break_off_is_answered_only_so_often(void **state)
{
	(void)state;
	static const struct {
		const char *behaviours[7];
		int tries; /* allowed to us */
		int other; /* this request is another one; -1: none */
		int statuses[7];
	} cases[] = {
		{{"cut", "cut", "cut", "ok"}, 1, -1, {200, 200, 200, 402, 402}},
		{{"malformed", "error_event", "no_stop", "ok"}, 1, -1, {200, 200, 200, 402}},
		{{"500", "529", "429_plain", "ok"}, 1, -1, {500, 529, 429, 402}},
		/* A good answer ends the matter; another request has nothing to do with it. */
		{{"cut", "cut", "ok", "cut", "cut", "ok"}, 1, -1, {200, 200, 200, 200, 200, 200}},
		{{"cut", "cut", "cut", "ok"}, 1, 3, {200, 200, 200, 200, 402}},
		/* We have asked again already. */
		{{"529", "529", "ok"}, 2, -1, {529, 402}},
		{{"529", "529", "ok"}, 2, 1, {529, 200, 402}},
		/* The request's own fault is told as often as it is made. */
		{{"404", "404", "404", "404", "ok"}, 1, -1, {404, 404, 404, 404, 200}},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		print_message("# case %zu\n", i);
		struct fixture *f = fixture_new(
			&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
					       .behaviours = cases[i].behaviours,
					       .behaviour = "ok",
					       .retry = {cases[i].tries, 10, 40, 20000}});
		int n_hopeless = 0;
		for (int n = 0; n < 7 && cases[i].statuses[n]; n++) {
			struct client c;
			client_open(&c, f);
			const char *body = n == cases[i].other ? OTHER_BODY : BODY;
			client_request(&c, "POST", "/v1/messages", AUTH "connection: close\r\n",
				       body, strlen(body));
			client_wait_end(&c);
			assert_int_equal(client_status(&c), cases[i].statuses[n]);
			if (cases[i].statuses[n] == 402) {
				n_hopeless++;
				assert_non_null(strstr(c.in.ptr, KGB_BROKEN_TEXT));
			}
			client_close(&c);
		}
		assert_int_equal(f->n_hopeless, n_hopeless);
		fixture_free(f);
	}
}

static void test_a_request_does_not_inherit_the_count_of_another(void **state)
{
	(void)state;
	struct kgb_repeat_guard guard = {0};
	char sha256[KGB_SHA256_HEX_LEN];
	for (int i = 0; i < KGB_BROKEN_REQUESTS; i++) {
		snprintf(sha256, sizeof(sha256), "request %d", i);
		kgb_repeat_guard_note(&guard, sha256, KGB_BROKEN_LIMIT);
	}
	kgb_repeat_guard_note(&guard, "a new one", 1); /* takes the place of the first */
	assert_false(kgb_repeat_guard_is_hopeless(&guard, "a new one"));
	assert_false(kgb_repeat_guard_is_hopeless(&guard, "request 0"));
	assert_true(kgb_repeat_guard_is_hopeless(&guard, "request 1"));
	assert_true(kgb_repeat_guard_is_hopeless(&guard, sha256));
}

static int open_second(struct fixture *f, struct kgb_session **out, uint16_t *port)
{
	struct kgb_err err = KGB_ERR_INIT;
	int fd;
	assert_ok(listen_loopback(0, &fd, port, &err), err);
	struct kgb_session_spec spec = {.take_listen_fd = fd, .token = TEST_TOKEN};
	return kgb_session_open(out, f->gw, &spec, &err);
}

static void test_a_pause_holds_back_every_attempt_of_the_account(void **state)
{
	(void)state;
	static const char *const behaviours[] = {"429_soon", NULL};
	struct fixture *f = fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
							       .behaviours = behaviours,
							       .behaviour = "unique",
							       .retry = {3, 10, 40, 20000}});
	struct kgb_session *second;
	uint16_t port, own = f->port;
	assert_int_equal(open_second(f, &second, &port), 0);
	struct client a, b;
	int64_t start = kgb_mono_ms();
	client_open(&a, f);
	client_ask(&a, BODY);
	run_until(f, has_call, f, 2000);
	run_for(f, 50);
	f->port = port;
	client_open(&b, f);
	f->port = own;
	client_ask(&b, BODY);
	run_for(f, 300);
	/* The other attempt did nothing wrong, and yet it waits (a busy machine may come too late
	 * to see it). */
	if (kgb_mono_ms() - start < 900) {
		assert_int_equal(fake_llm_calls(f->llm), 1);
		assert_true(kgb_gateway_paused_ms(f->gw) > 0);
	}
	client_wait(&a, "}}");
	client_wait(&b, "}}");
	assert_in_range(kgb_mono_ms() - start, 1000, 20000);
	assert_int_equal(fake_llm_calls(f->llm), 3);
	assert_int_equal(client_status(&a), 200);
	assert_int_equal(client_status(&b), 200);
	client_close(&a);
	client_close(&b);
	fixture_close_session(f);
	assert_in_range(f->totals.wait_ms, 100, 20000);
	fixture_free(f);
}

static void test_a_pause_longer_than_anyone_waits_is_told_at_once(void **state)
{
	(void)state;
	static const char *const behaviours[] = {"429", NULL}; /* retry-after: 7 */
	struct fixture *f = fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
							       .behaviours = behaviours,
							       .behaviour = "unique",
							       .retry = {3, 10, 40, 2000}});
	static const char *const bodies[] = {BODY, OTHER_BODY};
	for (size_t i = 0; i < KGB_ARRAY_LEN(bodies); i++) {
		struct client c;
		client_open(&c, f);
		client_request(&c, "POST", "/v1/messages", AUTH "connection: close\r\n", bodies[i],
			       strlen(bodies[i]));
		client_wait_end(&c);
		assert_int_equal(client_status(&c), 429);
		/* Not for how long: some clients would sleep until then. */
		assert_null(strcasestr(c.in.ptr, "retry-after"));
		assert_non_null(strcasestr(c.in.ptr, "x-should-retry: false"));
		client_close(&c);
	}
	assert_int_equal(fake_llm_calls(f->llm), 1);
	fixture_close_session(f);
	assert_true(f->totals.wait_ms < 6000); /* of the 7 s */
	fixture_free(f);
}

static void test_a_client_that_leaves_between_tries_ends_them(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&(struct fixture_spec){
		.mode = KGB_GATEWAY_LIVE, .behaviour = "500", .retry = {9, 400, 400, 20000}});
	struct client c;
	client_open(&c, f);
	client_ask(&c, BODY);
	run_until(f, has_call, f, 2000);
	run_for(f, 50);
	client_close(&c);
	const struct summary *s = wait_summary(f);
	assert_true(s->s.aborted_by_client);
	assert_non_null(strstr(s->error, "hung up"));
	run_for(f, 600);
	assert_int_equal(fake_llm_calls(f->llm), 1);
	fixture_free(f);
}

static void test_a_session_can_close_while_its_requests_wait(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
							       .behaviour = "429",
							       .retry = {9, 400, 400, 20000},
							       .max_concurrent = 1});
	struct client a, b;
	client_open(&a, f);
	client_open(&b, f);
	client_ask(&a, BODY);
	client_ask(&b, BODY);
	run_until(f, has_call, f, 2000);
	run_for(f, 50);
	assert_int_equal(fake_llm_calls(f->llm), 1);
	fixture_close_session(f);
	assert_int_equal(f->totals.n_open, 0);
	client_close(&a);
	client_close(&b);
	fixture_free(f);
}

static bool has_two_calls(const void *payload)
{
	return fake_llm_calls(((const struct fixture *)payload)->llm) >= 2;
}

static bool has_four_calls(const void *payload)
{
	return fake_llm_calls(((const struct fixture *)payload)->llm) >= 4;
}

static void test_no_more_calls_run_than_may(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .max_concurrent = 2});
	struct client c[4];
	for (size_t i = 0; i < KGB_ARRAY_LEN(c); i++) {
		client_open(&c[i], f);
		client_ask(&c[i], BODY);
	}
	run_until(f, has_two_calls, f, 2000);
	run_for(f, 100);
	assert_int_equal(fake_llm_calls(f->llm), 2);
	f->behaviour = "unique"; /* for those to come */
	fake_llm_behave(f->call, "unique");
	run_until(f, has_four_calls, f, 2000);
	for (size_t i = 0; i < KGB_ARRAY_LEN(c); i++)
		client_close(&c[i]);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_fault_is_tried_again_or_not_and_when),
		cmocka_unit_test(test_waits_are_spread),
		cmocka_unit_test(test_places_are_halved_when_it_is_crowded_and_grow_one_by_one),
		cmocka_unit_test(test_what_may_be_tried_again_is_and_nothing_is_billed_twice),
		cmocka_unit_test(test_a_loop_that_was_held_up_does_not_blame_the_api),
		cmocka_unit_test(test_a_request_whose_answers_break_off_is_answered_only_so_often),
		cmocka_unit_test(test_a_request_does_not_inherit_the_count_of_another),
		cmocka_unit_test(test_a_pause_holds_back_every_attempt_of_the_account),
		cmocka_unit_test(test_a_pause_longer_than_anyone_waits_is_told_at_once),
		cmocka_unit_test(test_a_client_that_leaves_between_tries_ends_them),
		cmocka_unit_test(test_a_session_can_close_while_its_requests_wait),
		cmocka_unit_test(test_no_more_calls_run_than_may),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
