/* SPDX-License-Identifier: MIT */
/* Clients that send much, read slowly, hang up or come by the dozen, and sessions that close under
 * them. */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include "sandbox/gateway/session.h"

static const struct fixture_spec live = {.mode = KGB_GATEWAY_LIVE};

static void test_a_request_of_12_mb_goes_through_whole(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE});
	struct client c;
	size_t size = (size_t)12 << 20;
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);
	kgb_buf_adds(&body, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"");
	while (body.len < size)
		kgb_buf_addf(&body, "%zu ", body.len);
	kgb_buf_adds(&body, "\"}]}");
	client_open(&c, f);
	client_request(&c, "POST", "/v1/messages", AUTH "expect: 100-continue\r\n", body.ptr,
		       body.len);
	run_until(f, has_call, f, 20000);
	assert_int_equal(f->call->body_len, body.len);
	assert_memory_equal(f->call->body, body.ptr, body.len);
	fake_llm_behave(f->call, "json");
	client_wait(&c, "msg_json");
	run_until(f, has_summary, f, 20000);
	assert_int_equal(f->summaries[0].s.request_bytes, body.len);
	KGB_AUTO(free) char *request = traffic_read(f, "0001.request.json");
	assert_non_null(strstr(request, body.ptr));
	client_close(&c);
	fixture_free(f);
}

static void test_a_request_over_the_cap_is_413_and_goes_nowhere(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "ok"});
	struct client c;
	size_t size = ((size_t)64 << 20) + 1;
	char *body = kgb_xcalloc(size, 1);
	memset(body, ' ', size);
	client_open(&c, f);
	client_request(&c, "POST", "/v1/messages", AUTH, body, size);
	kgb_free(body);
	client_wait(&c, "request_too_large");
	assert_int_equal(client_status(&c), 413);
	assert_int_equal(fake_llm_calls(f->llm), 0);
	client_close(&c);
	fixture_free(f);
}

static void test_bodies_of_many_requests_together_have_a_cap(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "json"});
	const size_t free_bytes = strlen(BODY);
	/* As if other requests held the rest. */
	f->session->body_bytes = KGB_SESSION_BODY_BYTES - free_bytes;
	struct client c;
	ask_once(f, &c);
	assert_int_equal(client_status(&c), 200);
	client_close(&c);
	run_until(f, has_summary, f, 2000);
	/* Given back when it was over. */
	assert_int_equal(f->session->body_bytes, KGB_SESSION_BODY_BYTES - free_bytes);
	f->session->body_bytes++;
	ask_once(f, &c);
	assert_int_equal(client_status(&c), 413);
	assert_int_equal(f->session->body_bytes, KGB_SESSION_BODY_BYTES - free_bytes + 1);
	client_close(&c);
	fixture_free(f);
}

static bool call_is_gone(const void *payload)
{
	return ((const struct fixture *)payload)->call->gone;
}

static void test_a_client_that_hangs_up_is_still_charged(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	client_open(&c, f);
	client_ask(&c, BODY);
	run_until(f, has_call, f, 2000);
	fake_llm_stream_head(f->call);
	fake_llm_chunk(f->call, FAKE_LLM_START("msg_1"), strlen(FAKE_LLM_START("msg_1")));
	client_wait(&c, "message_start");
	client_close(&c);
	run_for(f, 100);
	assert_int_equal(f->n_summaries, 0);
	assert_false(f->call->gone);
	fake_llm_chunk(f->call, FAKE_LLM_DELTA FAKE_LLM_STOP, strlen(FAKE_LLM_DELTA FAKE_LLM_STOP));
	fake_llm_stream_end(f->call);
	const struct summary *s = wait_summary(f);
	assert_true(s->s.aborted_by_client);
	assert_true(s->s.billed);
	assert_usage(&s->s.usage, 100, 50, 1000, 2000);
	fixture_free(f);
}

static void test_a_client_that_hangs_up_before_the_answer_starts_is_noticed(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	client_open(&c, f);
	client_ask(&c, BODY);
	run_until(f, has_call, f, 2000);
	client_close(&c);
	run_for(f, 50);
	fake_llm_behave(f->call, "ok");
	const struct summary *s = wait_summary(f);
	assert_true(s->s.aborted_by_client);
	assert_usage(&s->s.usage, 100, 50, 1000, 2000);
	fixture_free(f);
}

#define MUCH_BYTES ((size_t)32 << 20)

/* Much more than socket buffers hold is on its way to a client that does not read. */
static void start_flood(struct fixture *f, struct client *c)
{
	KGB_AUTO(buf) struct kgb_buf ping = KGB_BUF_INIT(0);
	client_open(c, f);
	client_ask(c, BODY);
	run_until(f, has_call, f, 2000);
	client_pause(c);
	while (ping.len < MUCH_BYTES / 32)
		kgb_buf_adds(&ping, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
	fake_llm_stream_head(f->call);
	fake_llm_chunk(f->call, FAKE_LLM_START("msg_1"), strlen(FAKE_LLM_START("msg_1")));
	for (int i = 0; i < 32; i++)
		fake_llm_chunk(f->call, ping.ptr, ping.len);
	fake_llm_chunk(f->call, FAKE_LLM_DELTA FAKE_LLM_STOP, strlen(FAKE_LLM_DELTA FAKE_LLM_STOP));
	fake_llm_sends(f->call, "0\r\n\r\n");
	run_for(f, 400);
	assert_true(uv_stream_get_write_queue_size((uv_stream_t *)&f->call->tcp) > MUCH_BYTES / 4);
	assert_int_equal(f->n_summaries, 0);
}

static void test_a_slow_client_holds_the_upstream_back_and_gets_everything(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	start_flood(f, &c);
	client_resume(&c);
	run_until(f, has_summary, f, 30000);
	client_wait(&c, "\r\n0\r\n\r\n");
	bool complete;
	KGB_AUTO(free) char *body = client_body(&c, &complete);
	assert_true(complete);
	assert_int_equal(strlen(body), f->summaries[0].s.response_bytes);
	assert_true(strlen(body) >= MUCH_BYTES);
	assert_usage(&f->summaries[0].s.usage, 100, 50, 1000, 2000);
	client_close(&c);
	fixture_free(f);
}

static void test_a_client_that_hangs_up_while_bytes_wait_for_it_is_still_charged(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	start_flood(f, &c);
	client_close(&c);
	run_until(f, has_summary, f, 30000);
	assert_true(f->summaries[0].s.aborted_by_client);
	assert_usage(&f->summaries[0].s.usage, 100, 50, 1000, 2000);
	fixture_free(f);
}

#define N_STREAMS 64

static bool all_calls(const void *payload)
{
	const struct fixture *f = payload;
	return fake_llm_calls(f->llm) == N_STREAMS;
}

static bool all_summaries(const void *payload)
{
	return ((const struct fixture *)payload)->n_summaries == N_STREAMS;
}

static void test_64_streams_run_at_once(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "stall"});
	static struct client clients[N_STREAMS];
	for (int i = 0; i < N_STREAMS; i++) {
		client_open(&clients[i], f);
		client_ask(&clients[i], BODY);
	}
	run_until(f, all_calls, f, 10000);
	for (int i = 0; i < N_STREAMS; i++)
		client_wait(&clients[i], "message_start");
	struct kgb_totals totals;
	kgb_session_totals(f->session, &totals);
	assert_int_equal(totals.n_open, N_STREAMS);
	/* All carry the same message id here: 64 reports of one message. */
	assert_usage(&totals.usage, 100, 0, 1000, 2000);
	int n = 0;
	for (struct fake_llm_call *call = f->call; call; call = call->next) {
		fake_llm_chunk(call, FAKE_LLM_DELTA FAKE_LLM_STOP,
			       strlen(FAKE_LLM_DELTA FAKE_LLM_STOP));
		fake_llm_stream_end(call);
		n++;
	}
	assert_true(n > 0);
	for (int i = 0; i < N_STREAMS; i++)
		client_wait(&clients[i], "0\r\n\r\n");
	run_until(f, all_summaries, f, 5000);
	for (int i = 0; i < N_STREAMS; i++)
		client_close(&clients[i]);
	fixture_close_session(f);
	assert_int_equal(f->totals.n_exchanges, N_STREAMS);
	assert_int_equal(f->totals.n_errors, 0);
	assert_usage(&f->totals.usage, 100, 50, 1000, 2000);
	fixture_free(f);
}

static void test_closing_a_session_cuts_what_is_open_and_leaves_nothing(void **state)
{
	(void)state;
	static const char *const behaviours[] = {"stall", "silent"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(behaviours); i++) {
		struct fixture *f = fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
								       .behaviour = behaviours[i]});
		struct client waiting, idle, half;
		client_open(&waiting, f);
		client_ask(&waiting, BODY);
		run_until(f, has_call, f, 2000);
		run_for(f, 30);
		client_open(&idle, f);
		client_open(&half, f);
		client_send(&half,
			    "POST /v1/messages HTTP/1.1\r\nhost: x\r\n" AUTH
			    "content-length: 1000\r\n\r\n{",
			    105);
		run_for(f, 30);
		fixture_close_session(f);
		client_wait_end(&waiting);
		client_wait_end(&idle);
		client_wait_end(&half);
		assert_null(strstr(waiting.in.ptr, "0\r\n\r\n"));
		run_until(f, call_is_gone, f, 2000);
		assert_int_equal(f->totals.n_exchanges, 1);
		assert_int_equal(f->totals.n_open, 0);
		client_close(&waiting);
		client_close(&idle);
		client_close(&half);
		fixture_free(f);
	}
}

static void test_a_gateway_closes_its_sessions(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "stall"});
	struct client c;
	client_open(&c, f);
	client_ask(&c, BODY);
	client_wait(&c, "message_start");
	f->session = NULL; /* the gateway's business from here */
	kgb_gateway_close(KGB_TAKE(f->gw), NULL, NULL);
	client_wait_end(&c);
	client_close(&c);
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_gateway_new(&f->gw, &f->loop,
				  &(struct kgb_gateway_spec){.mode = KGB_GATEWAY_OFFLINE}, &err),
		  err);
	fixture_free(f);
}

static void close_gateway_too(void *payload, const struct kgb_totals *totals)
{
	struct fixture *f = payload;
	f->totals = *totals;
	kgb_gateway_close(KGB_TAKE(f->gw), NULL, NULL);
}

static bool gateway_is_gone(const void *payload)
{
	return ((const struct fixture *)payload)->gw == NULL;
}

static void test_a_gateway_can_be_closed_when_its_last_session_is_done(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "ok"});
	struct client c;
	ask_once(f, &c);
	kgb_session_close(KGB_TAKE(f->session), close_gateway_too, f);
	run_until(f, gateway_is_gone, f, 2000);
	run_for(f, 100);
	assert_int_equal(f->totals.n_exchanges, 1);
	client_close(&c);
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_gateway_spec offline = {.mode = KGB_GATEWAY_OFFLINE};
	assert_ok(kgb_gateway_new(&f->gw, &f->loop, &offline, &err), err);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_of_12_mb_goes_through_whole),
		cmocka_unit_test(test_a_request_over_the_cap_is_413_and_goes_nowhere),
		cmocka_unit_test(test_bodies_of_many_requests_together_have_a_cap),
		cmocka_unit_test(test_a_client_that_hangs_up_is_still_charged),
		cmocka_unit_test(test_a_client_that_hangs_up_before_the_answer_starts_is_noticed),
		cmocka_unit_test(test_a_slow_client_holds_the_upstream_back_and_gets_everything),
		cmocka_unit_test(
			test_a_client_that_hangs_up_while_bytes_wait_for_it_is_still_charged),
		cmocka_unit_test(test_64_streams_run_at_once),
		cmocka_unit_test(test_closing_a_session_cuts_what_is_open_and_leaves_nothing),
		cmocka_unit_test(test_a_gateway_closes_its_sessions),
		cmocka_unit_test(test_a_gateway_can_be_closed_when_its_last_session_is_done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
