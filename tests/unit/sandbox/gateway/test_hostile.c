/* SPDX-License-Identifier: MIT */
/** \file
 * The gateway between two that mean it ill: an agent that would speak past it to the API, and an
 * API that would give its key away or never end.
 */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include <malloc.h>
#include <strings.h>

#include "base/str.h"
#include "sandbox/request/http.h"

static const struct fixture_spec by_hand = {.mode = KGB_GATEWAY_LIVE, .model = "pinned"};

/* ---- agents ---- */

#define POST "POST /v1/messages HTTP/1.1\r\nhost: x\r\n"
#define INNER \
	"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: guessed\r\ncontent-length: 2\r\n\r\n{}"

/* Requests that two servers in a row might cut in different places. */
static void test_no_request_hides_in_another(void **state)
{
	(void)state;
	static const struct {
		const char *name, *bytes;
		int n_calls; /* upstream, at most: each is one that had the token */
	} cases[] = {
		{"two lengths",
		 POST AUTH "content-length: 2\r\ncontent-length: 140\r\n\r\n{}" INNER, 1},
		{"length and chunks",
		 POST AUTH
		 "content-length: 140\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" INNER,
		 1},
		{"chunks and length",
		 POST AUTH "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n" INNER,
		 1},
		{"strange chunks",
		 POST AUTH "transfer-encoding: xchunked\r\ncontent-length: 2\r\n\r\n{}" INNER, 1},
		{"signed length", POST AUTH "content-length: +2\r\n\r\n{}" INNER, 1},
		{"a length in a folded line",
		 POST AUTH "x-a: b\r\n content-length: 140\r\ncontent-length: 2\r\n\r\n{}" INNER,
		 1},
		{"a blank before the colon",
		 POST AUTH "content-length : 140\r\ncontent-length: 2\r\n\r\n{}" INNER, 1},
		{"pipelined, the second without a token",
		 POST AUTH "content-length: 2\r\n\r\n{}" INNER, 1},
		{"a token in the body", POST "content-length: 42\r\n\r\n" AUTH INNER, 0},
		{"a token in a trailer",
		 POST "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" AUTH "\r\n", 0},
		{"a token with more behind it",
		 POST "x-api-key: " TEST_TOKEN ",x\r\ncontent-length: 2\r\n\r\n{}", 0},
		{"two wrong tokens",
		 POST "x-api-key: a\r\nx-api-key: b\r\nauthorization: Basic " TEST_TOKEN
		      "\r\ncontent-length: 2\r\n\r\n{}",
		 0},
		{"a path that is decoded twice",
		 "POST /v1/%256dessages HTTP/1.1\r\nhost: x\r\n" AUTH "content-length: 2\r\n\r\n{}",
		 0},
		{"a path that climbs",
		 "POST /v1/messages/../files HTTP/1.1\r\nhost: x\r\n" AUTH
		 "content-length: 2\r\n\r\n{}",
		 0},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct fixture *f = fixture_new(
			&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "json"});
		struct client c;
		client_open(&c, f);
		client_send(&c, cases[i].bytes, strlen(cases[i].bytes));
		run_for(f, 60);
		client_close(&c);
		if (fake_llm_calls(f->llm) > cases[i].n_calls)
			fail_msg("%s: %d calls", cases[i].name, fake_llm_calls(f->llm));
		fixture_free(f);
	}
}

/* Whatever address it writes, the API's is asked at our own path, with our model and our key. */
static void test_what_leaves_is_ours(void **state)
{
	(void)state;
	static const char body[] =
		"{\"max_tokens\":1,\"model\":\"dear\",\"metadata\":{\"model\":\"dearer\"}}";
	static const char *const targets[] = {
		"/v1/messages", "http://elsewhere.example/v1/messages",
		"//elsewhere.example/v1/messages", "/../../v1/messages", "/%2e%2e/v1/messages"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(targets); i++) {
		struct fixture *f = fixture_new(&by_hand);
		struct client c;
		client_open(&c, f);
		client_request(&c, "POST", targets[i],
			       AUTH "authorization: Bearer other\r\nhost: elsewhere.example\r\n",
			       body, strlen(body));
		run_until(f, has_call, f, 2000);
		assert_string_equal(f->call->path, "/v1/messages");
		KGB_AUTO(free) char *key = fake_llm_header(f->call, "x-api-key");
		KGB_AUTO(free) char *bearer = fake_llm_header(f->call, "authorization");
		KGB_AUTO(free) char *host = fake_llm_header(f->call, "host");
		assert_string_equal(key, TEST_KEY);
		assert_null(bearer);
		assert_true(kgb_str_starts(host, "127.0.0.1:"));
		assert_non_null(strstr(f->call->body, "\"model\":\"pinned\""));
		assert_null(strstr(f->call->body, "dear\""));
		client_close(&c);
		fixture_free(f);
	}
}

static void test_headers_cannot_be_smuggled_and_dear_ones_stay_here(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&by_hand);
	struct client c;
	client_open(&c, f);
	client_request(
		&c, "POST", "/v1/messages",
		AUTH
		"anthropic-beta: a-1, context-1m-2025-08-07,b-2\r\nanthropic-x: 1\rx-evil: 2\r\nanthropic-y: 1\x01\r\nx-stainless-z: fine\r\n",
		"{}", 2);
	run_until(f, has_call, f, 2000);
	KGB_AUTO(free) char *betas = fake_llm_header(f->call, "anthropic-beta");
	KGB_AUTO(free) char *fine = fake_llm_header(f->call, "x-stainless-z");
	assert_string_equal(betas, "a-1,b-2");
	assert_string_equal(fine, "fine");
	assert_null(strstr(f->call->head, "x-evil"));
	assert_null(strstr(f->call->head, "anthropic-y"));
	client_close(&c);
	fixture_free(f);
}

static void test_a_head_without_end_is_cut(void **state)
{
	(void)state;
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .behaviour = "json"});
	struct client c;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_buf_adds(&text, POST AUTH);
	while (text.len < 300000)
		kgb_buf_addf(&text, "x-%zu: 0123456789012345678901234567890123456789\r\n",
			     text.len);
	client_open(&c, f);
	client_send(&c, text.ptr, text.len);
	client_wait_end(&c);
	assert_true(c.eof || c.error);
	client_close(&c);
	assert_int_equal(fake_llm_calls(f->llm), 0);
	fixture_free(f);
}

/* ---- APIs ---- */

static void ask(struct fixture *f, struct client *c)
{
	client_open(c, f);
	client_request(c, "POST", "/v1/messages", AUTH "connection: close\r\n", BODY, strlen(BODY));
	run_until(f, has_call, f, 2000);
}

static void test_a_key_that_is_sent_back_does_not_reach_the_agent(void **state)
{
	(void)state;
	static const char *const headers[] = {"request-id",   "x-request-id",
					      "retry-after",  "anthropic-ratelimit-x",
					      "content-type", "x-should-retry"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(headers); i++) {
		struct fixture *f = fixture_new(&by_hand);
		struct client c;
		ask(f, &c);
		KGB_AUTO(free) char *line = kgb_xasprintf("%s: a" TEST_KEY "b\r\n", headers[i]);
		fake_llm_reply(f->call, 400, line, "{\"error\":\"" TEST_KEY " is wrong\"}");
		client_wait_end(&c);
		assert_int_equal(client_status(&c), 400);
		assert_non_null(strstr(c.in.ptr, "<removed> is wrong"));
		assert_null(strstr(c.in.ptr, TEST_KEY));
		client_close(&c);
		wait_summary(f);
		assert_int_equal(traffic_holding(f, TEST_KEY), 0);
		fixture_free(f);
	}
}

static void send_lines(struct fixture *f, const char *line, size_t bytes)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	while (text.len < bytes)
		kgb_buf_adds(&text, line);
	fake_llm_send(f->call, text.ptr, text.len);
}

static void test_an_answer_whose_head_does_not_end_is_given_up(void **state)
{
	(void)state;
	static const struct {
		const char *first, *line;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\n",
		 "x-a: 01234567890123456789012345678901234567890123456789\r\n"},
		{"",
		 "HTTP/1.1 103 Early Hints\r\nlink: 0123456789012345678901234567890123456789\r\n\r\n"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct fixture *f = fixture_new(&by_hand);
		struct client c;
		ask(f, &c);
		fake_llm_sends(f->call, cases[i].first);
		send_lines(f, cases[i].line, 400000);
		client_wait_end(&c);
		assert_int_equal(client_status(&c), 502);
		assert_non_null(strstr(c.in.ptr, "head does not end"));
		client_close(&c);
		fixture_free(f);
	}
}

static bool has_two_calls(const void *payload)
{
	return fake_llm_calls(((const struct fixture *)payload)->llm) == 2;
}

/* An error that is tried again after is not waited for. */
static void test_an_error_whose_text_does_not_end_is_given_up(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .retry = {2, 10, 20, 20000}});
	struct client c;
	ask(f, &c);
	fake_llm_sends(f->call, "HTTP/1.1 500 X\r\ncontent-length: 1000000000000\r\n\r\n");
	send_lines(f, "and so on ", 200000);
	run_until(f, has_two_calls, f, 5000);
	fake_llm_behave(f->call, "json");
	client_wait_end(&c);
	assert_int_equal(client_status(&c), 200);
	client_close(&c);
	fixture_free(f);
}

/* A line of a stream that is longer than we keep passes; what follows is counted. */
static void test_a_line_of_a_stream_that_hardly_ends_costs_no_memory(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&by_hand);
	struct client c;
	ask(f, &c);
	fake_llm_stream_head(f->call);
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	kgb_buf_adds(&line, "data: ");
	while (line.len < ((size_t)9 << 20))
		kgb_buf_adds(&line,
			     "0123456789012345678901234567890123456789012345678901234567890123");
	kgb_buf_adds(&line, "\n\n");
	fake_llm_chunk(f->call, line.ptr, line.len);
	fake_llm_chunk(f->call, FAKE_LLM_MESSAGE("msg"), strlen(FAKE_LLM_MESSAGE("msg")));
	fake_llm_stream_end(f->call);
	client_wait_end(&c);
	bool complete;
	KGB_AUTO(free) char *body = client_body(&c, &complete);
	assert_true(complete);
	assert_int_equal(strlen(body), line.len + strlen(FAKE_LLM_MESSAGE("msg")));
	assert_int_equal(wait_summary(f)->s.usage.output, 50);
	client_close(&c);
	fixture_free(f);
}

/* It is cut and recorded as far as it came, its counts are kept, and nobody buys it again. */
static void test_an_answer_without_end_is_cut_and_bought_once(void **state)
{
	(void)state;
	static const char delta[] = FAKE_LLM_TEXT;
	enum { LIMIT = 300000 };
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .max_answer_bytes = LIMIT});
	struct client c;
	ask(f, &c);
	fake_llm_stream_head(f->call);
	fake_llm_chunk(f->call, FAKE_LLM_START("msg"), strlen(FAKE_LLM_START("msg")));
	for (size_t sent = 0; sent < 3 * (size_t)LIMIT; sent += sizeof(delta))
		fake_llm_chunk(f->call, delta, sizeof(delta) - 1);
	fake_llm_stream_end(f->call); /* for who reads on */
	f->behaviour = "unique";
	client_wait_end(&c);
	bool complete;
	kgb_free(client_body(&c, &complete));
	assert_false(complete);
	client_close(&c);
	const struct summary *s = wait_summary(f);
	assert_true(s->s.cut_upstream && s->s.billed);
	assert_true(s->s.response_bytes > LIMIT / 2 && s->s.response_bytes <= LIMIT);
	assert_non_null(strstr(s->error, "longer than the limit"));
	assert_true(s->s.usage.input > 0);
	KGB_AUTO(free) char *record = traffic_read(f, "0001.response.sse");
	assert_int_equal(strlen(record), s->s.response_bytes);
	struct client again;
	client_open(&again, f);
	client_request(&again, "POST", "/v1/messages", AUTH "connection: close\r\n", BODY,
		       strlen(BODY));
	client_wait_end(&again);
	assert_int_equal(client_status(&again), 402);
	assert_non_null(strstr(again.in.ptr, "break off"));
	client_close(&again);
	assert_int_equal(fake_llm_calls(f->llm), 1);
	fixture_free(f);
}

/* ---- compressed answers, which we did not ask for ---- */

static void add_u32(struct kgb_buf *out, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		kgb_buf_addc(out, (char)(value >> 8 * i));
}

/* RFC 1952 around one stored block of RFC 1951. */
static void add_gzip(struct kgb_buf *out, const char *bytes, size_t len)
{
	static const char head[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff\x01";
	uint32_t crc = UINT32_MAX, size = (uint32_t)len;
	kgb_buf_add(out, head, sizeof(head) - 1);
	add_u32(out, size | ~size << 16);
	kgb_buf_add(out, bytes, len);
	for (size_t i = 0; i < len; i++) {
		crc ^= (unsigned char)bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	add_u32(out, ~crc);
	add_u32(out, size);
}

static void send_encoded(struct fake_llm_call *call, const char *encoding, const char *bytes,
			 size_t len)
{
	KGB_AUTO(free)
	char *head = kgb_xasprintf("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
				   "content-encoding: %s\r\nconnection: close\r\n\r\n",
				   encoding);
	fake_llm_sends(call, head);
	fake_llm_send(call, bytes, len);
}

static void test_a_compressed_answer_that_is_damaged_ends_as_one_that_was_cut(void **state)
{
	(void)state;
	static const struct {
		const char *name, *encoding;
		int times; /* compressed */
		size_t missing; /* bytes at the end */
		size_t wrong; /* the byte so far from the end; 0: none */
		bool whole;
		int64_t output; /* counted; -1: unknown */
	} cases[] = {
		{"whole", "gzip", 1, 0, 0, true, 50},
		{"twice", "gzip, gzip", 2, 0, 0, true, 50},
		{"cut off", "gzip", 1, 40, 0, false, 50},
		{"cut off early", "gzip", 1, 300, 0, false, -1},
		{"another sum", "gzip", 1, 0, 8, false, 50},
		{"another length", "gzip", 1, 0, 1, false, 50},
		{"not compressed", "gzip", 0, 0, 0, false, -1},
		{"once, not twice", "gzip, gzip", 1, 0, 0, false, -1},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		print_message("# %s\n", cases[i].name);
		KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
		kgb_buf_adds(&bytes, FAKE_LLM_MESSAGE("msg"));
		for (int n = 0; n < cases[i].times; n++) {
			KGB_AUTO(buf) struct kgb_buf plain = bytes;
			bytes = (struct kgb_buf)KGB_BUF_INIT(0);
			add_gzip(&bytes, plain.ptr, plain.len);
		}
		if (cases[i].wrong)
			bytes.ptr[bytes.len - cases[i].wrong] ^= 1;
		struct fixture *f = fixture_new(&by_hand);
		struct client c;
		ask(f, &c);
		send_encoded(f->call, cases[i].encoding, bytes.ptr, bytes.len - cases[i].missing);
		fake_llm_cut(f->call, false);
		client_wait_end(&c);
		bool complete;
		KGB_AUTO(free) char *body = client_body(&c, &complete);
		assert_int_equal(complete, cases[i].whole);
		if (complete)
			assert_string_equal(body, FAKE_LLM_MESSAGE("msg"));
		client_close(&c);
		const struct summary *s = wait_summary(f);
		assert_int_equal(s->s.cut_upstream, !cases[i].whole);
		assert_int_equal(s->s.usage.output, cases[i].output);
		assert_int_equal(s->s.billed, cases[i].output >= 0 || cases[i].missing > 0);
		fixture_free(f);
	}
}

#define MB ((size_t)1 << 20)

/* 64 KB of it are 64 MB of zeros, and there is no end. */
static void test_an_answer_that_grows_when_it_is_read_costs_little_memory(void **state)
{
	(void)state;
	/* Of RFC 1951: a code in which a match of 258 bytes takes two bits, both 0. */
	static const unsigned char head[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
					     0x02, 0x03, 0xec, 0xc1, 0x01, 0x01, 0x00, 0x00,
					     0x00, 0x80, 0x90, 0xfe, 0xaf, 0xee, 0x08, 0x0a};
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	kgb_buf_add(&bytes, (const char *)head, sizeof(head));
	while (bytes.len < 256 << 10)
		kgb_buf_addc(&bytes, '\0');
	struct fixture *f = fixture_new(&by_hand);
	struct client c;
	ask(f, &c);
	client_pause(&c);
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	send_encoded(f->call, "gzip", bytes.ptr, bytes.len);
	run_for(f, 300);
	/* What one piece from the network grows to, one event, and what waits for the client. */
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before + 40 * MB);
	fixture_close_session(f);
	assert_int_equal(f->totals.n_exchanges, 1);
	client_close(&c);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_request_hides_in_another),
		cmocka_unit_test(test_what_leaves_is_ours),
		cmocka_unit_test(test_headers_cannot_be_smuggled_and_dear_ones_stay_here),
		cmocka_unit_test(test_a_head_without_end_is_cut),
		cmocka_unit_test(test_a_key_that_is_sent_back_does_not_reach_the_agent),
		cmocka_unit_test(test_an_answer_whose_head_does_not_end_is_given_up),
		cmocka_unit_test(test_an_error_whose_text_does_not_end_is_given_up),
		cmocka_unit_test(test_a_line_of_a_stream_that_hardly_ends_costs_no_memory),
		cmocka_unit_test(test_an_answer_without_end_is_cut_and_bought_once),
		cmocka_unit_test(test_a_compressed_answer_that_is_damaged_ends_as_one_that_was_cut),
		cmocka_unit_test(test_an_answer_that_grows_when_it_is_read_costs_little_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
