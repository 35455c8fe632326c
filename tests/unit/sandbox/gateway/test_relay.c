/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include <fcntl.h>

#include "base/formats/json.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"

static const struct fixture_spec live = {.mode = KGB_GATEWAY_LIVE};

static void test_a_stream_arrives_event_by_event_before_it_ends(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	client_open(&c, f);
	client_ask(&c, BODY);
	run_until(f, has_call, f, 2000);
	fake_llm_stream_head(f->call);
	run_for(f, 30);
	/* The head alone must pass, before any event. */
	client_wait(&c, "\r\n\r\n");
	fake_llm_chunk(f->call, FAKE_LLM_START("msg_1"), strlen(FAKE_LLM_START("msg_1")));
	client_wait(&c, "message_start");
	assert_null(strstr(c.in.ptr, "hello"));
	fake_llm_chunk(f->call, FAKE_LLM_TEXT, strlen(FAKE_LLM_TEXT));
	client_wait(&c, "hello");
	assert_null(strstr(c.in.ptr, "message_stop"));
	fake_llm_chunk(f->call, FAKE_LLM_DELTA FAKE_LLM_STOP, strlen(FAKE_LLM_DELTA FAKE_LLM_STOP));
	fake_llm_stream_end(f->call);
	client_wait(&c, "0\r\n\r\n");
	const struct summary *s = wait_summary(f);
	assert_int_equal(s->s.status, 200);
	assert_true(s->s.billed);
	assert_true(s->s.usage_complete);
	assert_string_equal(s->message_id, "msg_1");
	assert_string_equal(s->model, "m-1");
	assert_usage(&s->s.usage, 100, 50, 1000, 2000);
	bool complete;
	KGB_AUTO(free) char *body = client_body(&c, &complete);
	assert_true(complete);
	assert_string_equal(body, FAKE_LLM_MESSAGE("msg_1"));
	client_close(&c);
	fixture_free(f);
}

static void test_the_real_key_goes_up_and_the_token_does_not(void **state)
{
	(void)state;
	for (int bearer = 0; bearer < 2; bearer++) {
		struct fixture *f = fixture_new(&(struct fixture_spec){
			.mode = KGB_GATEWAY_LIVE, .key_is_bearer = bearer == 1});
		struct client c;
		client_open(&c, f);
		client_request(
			&c, "POST", "/run/7/v1/messages?beta=true&x=a%20b",
			AUTH
			"anthropic-version: 2023-06-01\r\nanthropic-beta: b1\r\nuser-agent: ua\r\n"
			"X-Stainless-Lang: js\r\naccept-encoding: gzip\r\ncookie: c=1\r\n",
			BODY, strlen(BODY));
		run_until(f, has_call, f, 2000);
		assert_string_equal(f->call->path, "/v1/messages?beta=true&x=a%20b");
		assert_int_equal(f->call->body_len, strlen(BODY));
		assert_memory_equal(f->call->body, BODY, strlen(BODY));
		assert_null(strstr(f->call->head, TEST_TOKEN));
		KGB_AUTO(free) char *key = fake_llm_header(f->call, "x-api-key");
		KGB_AUTO(free) char *authorization = fake_llm_header(f->call, "authorization");
		if (bearer) {
			assert_null(key);
			assert_string_equal(authorization, "Bearer " TEST_KEY);
		} else {
			assert_string_equal(key, TEST_KEY);
			assert_null(authorization);
		}
		static const char *const forwarded[][2] = {{"anthropic-version", "2023-06-01"},
							   {"anthropic-beta", "b1"},
							   {"user-agent", "ua"},
							   {"x-stainless-lang", "js"},
							   {"accept-encoding", "identity"},
							   {"cookie", NULL}};
		for (size_t i = 0; i < KGB_ARRAY_LEN(forwarded); i++) {
			KGB_AUTO(free) char *value = fake_llm_header(f->call, forwarded[i][0]);
			if (forwarded[i][1])
				assert_string_equal(value, forwarded[i][1]);
			else
				assert_null(value);
		}
		fake_llm_behave(f->call, "ok");
		client_wait(&c, "0\r\n\r\n");
		client_close(&c);
		fixture_free(f);
	}
}

static void test_neither_key_nor_token_is_recorded(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	static const char body[] =
		"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"my token is " TEST_TOKEN
		" and bearer " TEST_KEY "\"}]}";
	client_open(&c, f);
	client_request(&c, "POST", "/v1/messages?t=" TEST_TOKEN,
		       "authorization: Bearer " TEST_TOKEN "\r\ncookie: t=" TEST_TOKEN "\r\n", body,
		       strlen(body));
	run_until(f, has_call, f, 2000);
	/* The upstream tells both secrets back, cut across chunks. */
	static const char *const pieces[] = {
		FAKE_LLM_START("msg_1"), "event: ping\ndata: {\"k\":\"sk-real-key-01",
		"23456789abcdef\",\"t\":\"tok-0123456789abc", "def0123456789abcdef\"}\n\n",
		FAKE_LLM_DELTA FAKE_LLM_STOP};
	fake_llm_stream_head(f->call);
	for (size_t i = 0; i < KGB_ARRAY_LEN(pieces); i++) {
		fake_llm_chunk(f->call, pieces[i], strlen(pieces[i]));
		run_for(f, 15);
	}
	fake_llm_stream_end(f->call);
	client_wait(&c, "0\r\n\r\n");
	wait_summary(f);
	bool complete;
	KGB_AUTO(free) char *got = client_body(&c, &complete);
	assert_null(strstr(got, TEST_KEY));
	assert_non_null(strstr(got, "\"k\":\"<removed>\",\"t\":\"" TEST_TOKEN "\""));
	assert_int_equal(traffic_files(f), 3);
	assert_int_equal(traffic_holding(f, TEST_KEY), 0);
	assert_int_equal(traffic_holding(f, TEST_TOKEN), 0);
	KGB_AUTO(free) char *request = traffic_read(f, "0001.request.json");
	assert_non_null(strstr(request, "my token is <removed> and bearer <removed>"));
	assert_non_null(strstr(request, "\"cookie\",\"<removed>\""));
	KGB_AUTO(free) char *response = traffic_read(f, "0001.response.sse");
	assert_non_null(strstr(response, "{\"k\":\"<removed>\",\"t\":\"<removed>\"}"));
	client_close(&c);
	fixture_free(f);
}

enum {
	WHOLE = 1, /* the client sees an HTTP answer that ends well */
	BILLED = 2,
	COUNTED = 4, /* all four counts are known */
	CUT = 8,
};
#define FULL                        \
	{                           \
		100, 50, 1000, 2000 \
	}
#define NO_OUTPUT                   \
	{                           \
		100, -1, 1000, 2000 \
	}

struct behaviour_case {
	const char *behaviour;
	int status;
	int flags;
	const char *holds; /* in the answer's body */
	struct kgb_usage usage;
	const char *error; /* part of the summary's; NULL none */
	int n_errors, n_incomplete;
};

static const struct behaviour_case behaviour_cases[] = {
	{"ok", 200, WHOLE | BILLED | COUNTED, "message_stop", FULL, NULL, 0, 0},
	{"early_hints", 200, WHOLE | BILLED | COUNTED, "message_stop", FULL, NULL, 0, 0},
	{"bytewise", 200, WHOLE | BILLED | COUNTED, "message_stop", FULL, NULL, 0, 0},
	{"json", 200, WHOLE | BILLED | COUNTED, "msg_json", {10, 20, 0, 30}, NULL, 0, 0},
	{"null_usage", 200, WHOLE | BILLED, "msg_null", {10, 20, -1, -1}, NULL, 0, 1},
	{"429", 429, WHOLE, "slow down", KGB_USAGE_UNKNOWN, NULL, 1, 0},
	{"500", 500, WHOLE, "oops", KGB_USAGE_UNKNOWN, NULL, 1, 0},
	{"malformed", 200, WHOLE | BILLED, ",,,", NO_OUTPUT, NULL, 0, 1},
	{"error_event", 200, WHOLE | BILLED, "Overloaded", NO_OUTPUT, NULL, 0, 1},
	{"cut", 200, BILLED | CUT, "hello", NO_OUTPUT, "upstream", 1, 0},
	{"no_stop", 200, BILLED | COUNTED | CUT, "hello", FULL, "without message_stop", 1, 0},
	{"gzip", 200, WHOLE | BILLED | COUNTED, "msg_gzip", FULL, NULL, 0, 0},
	{"refuse", 502, WHOLE, "api_error", KGB_USAGE_UNKNOWN, "upstream", 1, 0},
};

static void test_every_behaviour_of_the_api_is_relayed_and_counted_as_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(behaviour_cases); i++) {
		const struct behaviour_case *want = &behaviour_cases[i];
		print_message("# %s\n", want->behaviour);
		struct fixture *f = fixture_new(&(struct fixture_spec){
			.mode = KGB_GATEWAY_LIVE, .behaviour = want->behaviour});
		struct client c;
		ask_once(f, &c);
		assert_int_equal(client_status(&c), want->status);
		bool complete;
		KGB_AUTO(free) char *body = client_body(&c, &complete);
		assert_int_equal(complete, (want->flags & WHOLE) != 0);
		assert_non_null(strstr(body, want->holds));
		const struct summary *s = wait_summary(f);
		assert_int_equal(s->s.status, want->status);
		assert_int_equal(s->s.billed, (want->flags & BILLED) != 0);
		assert_int_equal(s->s.usage_complete, (want->flags & COUNTED) != 0);
		assert_int_equal(s->s.cut_upstream, (want->flags & CUT) != 0);
		assert_false(s->s.aborted_by_client);
		assert_usage(&s->s.usage, want->usage.input, want->usage.output,
			     want->usage.cache_creation, want->usage.cache_read);
		if (want->error)
			assert_non_null(strstr(s->error, want->error));
		else
			assert_string_equal(s->error, "");
		client_close(&c);
		fixture_close_session(f);
		assert_int_equal(f->totals.n_exchanges, 1);
		assert_int_equal(f->totals.n_open, 0);
		assert_int_equal(f->totals.n_errors, want->n_errors);
		assert_int_equal(f->totals.n_incomplete, want->n_incomplete);
		fixture_free(f);
	}
}

static void test_headers_of_an_error_that_clients_act_on_are_kept(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "429"});
	struct client c;
	ask_once(f, &c);
	assert_non_null(strcasestr(c.in.ptr, "retry-after: 7\r\n"));
	assert_non_null(strcasestr(c.in.ptr, "x-should-retry: true\r\n"));
	assert_non_null(strcasestr(c.in.ptr, "anthropic-ratelimit-requests-remaining: 0\r\n"));
	assert_non_null(strcasestr(c.in.ptr, "content-type: application/json\r\n"));
	client_close(&c);
	fixture_free(f);
}

static void test_headers_of_a_stream_are_kept_but_only_the_listed_ones(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "ok"});
	struct client c;
	ask_once(f, &c);
	assert_non_null(strcasestr(c.in.ptr, "content-type: text/event-stream; charset=utf-8\r\n"));
	assert_non_null(strcasestr(c.in.ptr, "request-id: req_1\r\n"));
	assert_null(strcasestr(c.in.ptr, "x-internal"));
	client_close(&c);
	fixture_free(f);
}

static void test_an_upstream_that_nobody_listens_on_is_a_502(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .without_upstream = true});
	struct client c;
	ask_once(f, &c);
	assert_int_equal(client_status(&c), 502);
	bool complete;
	KGB_AUTO(free) char *body = client_body(&c, &complete);
	KGB_AUTO(json) cJSON *doc = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_json_parse(body, strlen(body), &doc, &err), err);
	assert_string_equal(kgb_json_str(doc, "error.type", ""), "api_error");
	assert_non_null(strstr(wait_summary(f)->error, "upstream"));
	client_close(&c);
	fixture_free(f);
}

static void test_a_message_id_counts_once_however_often_it_comes(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "ok"});
	for (int i = 0; i < 3; i++) {
		struct client c;
		ask_once(f, &c);
		client_close(&c);
	}
	f->behaviour = "json";
	struct client c;
	ask_once(f, &c);
	client_close(&c);
	fixture_close_session(f);
	assert_int_equal(f->totals.n_exchanges, 4);
	assert_int_equal(f->totals.n_repeated, 2);
	assert_usage(&f->totals.usage, 110, 70, 1000, 2030);
	assert_int_equal(f->totals.n_models, 1);
	assert_string_equal(f->totals.models[0].name, "m-1");
	assert_int_equal(f->totals.models[0].n_messages, 2);
	assert_usage(&f->totals.models[0].usage, 110, 70, 1000, 2030);
	assert_int_equal(f->n_summaries, 4);
	for (int i = 0; i < f->n_summaries; i++) { /* told in any order */
		const struct kgb_exchange_summary *s = &f->summaries[i].s;
		assert_int_equal(s->billed, s->number == 1 || s->number == 4);
		assert_int_equal(s->repeated, s->number == 2 || s->number == 3);
	}
	fixture_free(f);
}

static void test_many_requests_share_one_connection(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "json"});
	struct client c;
	client_open(&c, f);
	for (int i = 0; i < 5; i++) {
		kgb_buf_clear(&c.in);
		client_ask(&c, BODY);
		client_wait(&c, "msg_json");
		assert_int_equal(client_status(&c), 200);
		run_for(f, 20);
	}
	client_close(&c);
	fixture_close_session(f);
	assert_int_equal(f->totals.n_exchanges, 5);
	assert_int_equal(f->totals.n_repeated, 4);
	fixture_free(f);
}

static void test_the_model_is_pinned_when_asked(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .model = "m-\"pinned\""});
	struct client c;
	client_open(&c, f);
	client_ask(&c, BODY);
	run_until(f, has_call, f, 2000);
	static const char start[] = "{\"model\":\"m-\\\"pinned\\\"\",\"stream\":true";
	assert_memory_equal(f->call->body, start, strlen(start));
	fake_llm_behave(f->call, "ok");
	client_wait(&c, "0\r\n\r\n");
	wait_summary(f);
	KGB_AUTO(free) char *request = traffic_read(f, "0001.request.json");
	assert_non_null(strstr(request, "m-asked"));
	client_close(&c);
	fixture_free(f);
}

static void test_requests_beyond_the_cap_are_402_without_going_upstream(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&(struct fixture_spec){
		.mode = KGB_GATEWAY_LIVE, .behaviour = "json", .max_exchanges = 2});
	for (int i = 0; i < 3; i++) {
		struct client c;
		ask_once(f, &c);
		assert_int_equal(client_status(&c), i < 2 ? 200 : 402);
		client_close(&c);
	}
	assert_int_equal(fake_llm_calls(f->llm), 2);
	fixture_free(f);
}

/* Numbers are given by each session anew: in a directory that has some, nothing is written over. */
static void test_a_number_that_was_used_is_not_used_again(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "unique"});
	static const char *const names[] = {"0001.request.json", "0001.response.json"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		KGB_AUTO(free) char *path = kgb_path_join(f->traffic, names[i]);
		struct kgb_err err = KGB_ERR_INIT;
		assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, "older", 5, 0644, false, &err), err);
	}
	struct client c;
	ask_once(f, &c);
	assert_int_equal(client_status(&c), 200);
	client_close(&c);
	assert_non_null(wait_summary(f)->s.record_error);
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		KGB_AUTO(free) char *text = traffic_read(f, names[i]);
		assert_string_equal(text, "older");
	}
	fixture_free(f);
}

static void test_a_meta_file_tells_what_happened(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "ok"});
	struct client c;
	ask_once(f, &c);
	wait_summary(f);
	KGB_AUTO(free) char *meta = traffic_read(f, "0001.meta.json");
	KGB_AUTO(json) cJSON *doc = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_json_parse(meta, strlen(meta), &doc, &err), err);
	assert_string_equal(kgb_json_str(doc, "schema", ""), "kgb.exchange/1");
	assert_string_equal(kgb_json_str(doc, "source", ""), "live");
	assert_int_equal(kgb_json_i64(doc, "status", 0), 200);
	assert_int_equal(kgb_json_i64(doc, "usage.output_tokens", 0), 50);
	assert_int_equal(kgb_json_i64(doc, "response_bytes", 0),
			 strlen(FAKE_LLM_MESSAGE("msg_ok")));
	assert_true(kgb_json_i64(doc, "ttfb_ms", -1) >= 0);
	int64_t started;
	assert_ok(kgb_time_parse(kgb_json_str(doc, "started", ""), &started, &err), err);
	assert_true(kgb_wall_ms() - started < 100000);
	KGB_AUTO(free) char *response = traffic_read(f, "0001.response.sse");
	assert_string_equal(response, FAKE_LLM_MESSAGE("msg_ok"));
	client_close(&c);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stream_arrives_event_by_event_before_it_ends),
		cmocka_unit_test(test_the_real_key_goes_up_and_the_token_does_not),
		cmocka_unit_test(test_neither_key_nor_token_is_recorded),
		cmocka_unit_test(test_every_behaviour_of_the_api_is_relayed_and_counted_as_it_is),
		cmocka_unit_test(test_headers_of_an_error_that_clients_act_on_are_kept),
		cmocka_unit_test(test_headers_of_a_stream_are_kept_but_only_the_listed_ones),
		cmocka_unit_test(test_an_upstream_that_nobody_listens_on_is_a_502),
		cmocka_unit_test(test_a_message_id_counts_once_however_often_it_comes),
		cmocka_unit_test(test_many_requests_share_one_connection),
		cmocka_unit_test(test_the_model_is_pinned_when_asked),
		cmocka_unit_test(test_requests_beyond_the_cap_are_402_without_going_upstream),
		cmocka_unit_test(test_a_number_that_was_used_is_not_used_again),
		cmocka_unit_test(test_a_meta_file_tells_what_happened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
