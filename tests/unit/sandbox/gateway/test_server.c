/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/formats/json.h"
#include "base/limits.h"
#include "tests/helpers/loopback.h"

static const struct fixture_spec live = {.mode = KGB_GATEWAY_LIVE, .behaviour = "ok"};

static bool has_verify(const void *payload)
{
	return ((const struct fixture *)payload)->verify != NULL;
}

/* Status of one request over a connection of its own. */
static int status_of(struct fixture *f, const char *method, const char *path, const char *headers)
{
	struct client c;
	KGB_AUTO(free) char *lines = kgb_xasprintf("%sconnection: close\r\n", headers);
	client_open(&c, f);
	client_request(&c, method, path, lines, "{}", strcmp(method, "POST") == 0 ? 2 : 0);
	client_wait_end(&c);
	int status = client_status(&c);
	if (status == 401)
		assert_non_null(strcasestr(c.in.ptr, "x-should-retry: false\r\n"));
	client_close(&c);
	return status;
}

static void test_only_the_listed_endpoints_exist(void **state)
{
	(void)state;
	static const struct {
		const char *method, *path;
		int status;
	} cases[] = {
		{"HEAD", "/", 200},
		{"HEAD", "/api/hello", 200},
		{"POST", "/v1/messages", 200},
		{"POST", "/v1/messages?beta=true", 200},
		{"POST", "/any/prefix/v1/messages", 200},
		{"POST", "/v1/messages/count_tokens", 200},
		{"GET", "/v1/models", 200},
		{"GET", "/", 404},
		{"GET", "/v1/messages", 404},
		{"PUT", "/v1/messages", 404},
		{"DELETE", "/v1/models", 404},
		{"POST", "/v1/messagesx", 404},
		{"POST", "/v1/complete", 404},
		/* Nothing meters what a CLI would buy in a batch. */
		{"POST", "/v1/files", 404},
		{"GET", "/v1/files/f-1/content", 404},
		{"POST", "/v1/batches", 404},
		{"GET", "/v1/batches/b-1", 404},
		{"POST", "/v1/messages/batches", 404},
		{"GET", "/v1/messages/batches/b-1/results", 404},
		{"GET", "/v1/models/m-1", 404},
		{"GET", "/v1/organizations", 404},
		{"POST", "/x/kgb/v1/verify", 404},
		{"GET", "/kgb/v1/verify", 404},
		{"OPTIONS", "/v1/messages", 404},
	};
	struct fixture *f = fixture_new(&live);
	int probes = 0;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		print_message("# %s %s\n", cases[i].method, cases[i].path);
		assert_int_equal(status_of(f, cases[i].method, cases[i].path, AUTH),
				 cases[i].status);
		probes += cases[i].status == 404;
		assert_int_equal(f->n_probes, probes);
	}
	/* Five went up: count_tokens and models too. */
	assert_int_equal(fake_llm_calls(f->llm), 5);
	assert_string_equal(f->probe, "endpoint OPTIONS /v1/messages");
	fixture_close_session(f);
	assert_int_equal(f->totals.n_probes, probes);
	assert_int_equal(f->totals.n_exchanges, 3);
	fixture_free(f);
}

static void test_without_the_token_nothing_is_reached(void **state)
{
	(void)state;
	static const char *const headers[] = {
		"",
		"x-api-key: \r\n",
		"x-api-key: tok-0123456789abcdef0123456789abcdeX\r\n",
		"x-api-key: tok-0123456789abcdef\r\n",
		"x-api-key: " TEST_TOKEN "0\r\n",
		"authorization: " TEST_TOKEN "\r\n",
		"authorization: Basic " TEST_TOKEN "\r\n",
		"authorization: Bearer wrong\r\n",
	};
	static const char *const paths[] = {"/v1/messages", "/v1/messages/count_tokens",
					    "/kgb/v1/verify"};
	struct fixture *f = fixture_new(&live);
	int probes = 0;
	for (size_t i = 0; i < KGB_ARRAY_LEN(headers); i++) {
		for (size_t k = 0; k < KGB_ARRAY_LEN(paths); k++) {
			assert_int_equal(status_of(f, "POST", paths[k], headers[i]), 401);
			assert_int_equal(f->n_probes, ++probes);
		}
	}
	assert_string_equal(f->probe, "token POST /kgb/v1/verify");
	assert_int_equal(fake_llm_calls(f->llm), 0);
	assert_int_equal(f->n_verify, 0);
	assert_int_equal(traffic_files(f), 0);
	assert_int_equal(
		status_of(f, "POST", "/v1/messages", "authorization: bearer " TEST_TOKEN "\r\n"),
		200);
	fixture_free(f);
}

static void test_a_verdict_comes_back_to_who_asked(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	client_open(&c, f);
	client_request(&c, "POST", "/kgb/v1/verify", AUTH, "import torch\n", 13);
	run_until(f, has_verify, f, 2000);
	assert_string_equal(f->kernel, "import torch\n");
	run_for(f, 50);
	assert_int_equal(c.in.len, 0);
	assert_false(kgb_verify_is_orphan(f->verify));
	kgb_verify_reply(f->verify, 200, "FAIL verify.mismatch: wrong\n");
	client_wait(&c, "wrong\n");
	assert_int_equal(client_status(&c), 200);
	bool complete;
	KGB_AUTO(free) char *body = client_body(&c, &complete);
	assert_true(complete);
	assert_string_equal(body, "FAIL verify.mismatch: wrong\n");
	client_close(&c);
	fixture_close_session(f);
	assert_int_equal(f->totals.n_verify, 1);
	assert_int_equal(f->totals.n_exchanges, 0);
	fixture_free(f);
}

static void test_a_kernel_over_the_cap_is_413(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	char *kernel = kgb_xmalloc(KGB_LIMIT_KERNEL + 1);
	memset(kernel, '#', KGB_LIMIT_KERNEL + 1);
	client_open(&c, f);
	client_request(&c, "POST", "/kgb/v1/verify", AUTH, kernel, KGB_LIMIT_KERNEL + 1);
	client_wait(&c, "too large");
	assert_int_equal(client_status(&c), 413);
	assert_int_equal(f->n_verify, 0);
	client_close(&c);
	client_open(&c, f);
	client_request(&c, "POST", "/kgb/v1/verify", AUTH, kernel, KGB_LIMIT_KERNEL);
	run_until(f, has_verify, f, 2000);
	kgb_verify_reply(f->verify, 200, "PASSED\n");
	client_wait(&c, "PASSED\n");
	kgb_free(kernel);
	client_close(&c);
	fixture_free(f);
}

static bool is_orphan(const void *payload)
{
	return kgb_verify_is_orphan(((const struct fixture *)payload)->verify);
}

static void test_a_client_that_leaves_while_a_verdict_is_pending_makes_an_orphan(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	client_open(&c, f);
	client_request(&c, "POST", "/kgb/v1/verify", AUTH, "x", 1);
	run_until(f, has_verify, f, 2000);
	client_close(&c);
	run_until(f, is_orphan, f, 2000);
	kgb_verify_reply(f->verify, 200, "PASSED\n");
	fixture_free(f);
}

static void test_a_verdict_after_the_session_closed_is_dropped(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	client_open(&c, f);
	client_request(&c, "POST", "/kgb/v1/verify", AUTH, "x", 1);
	run_until(f, has_verify, f, 2000);
	fixture_close_session(f);
	client_wait_end(&c);
	assert_int_equal(c.in.len, 0);
	assert_true(kgb_verify_is_orphan(f->verify));
	kgb_verify_reply(f->verify, 200, "PASSED\n");
	client_close(&c);
	fixture_free(f);
}

static void test_a_session_without_a_judge_has_no_verify_endpoint(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .without_verify = true});
	assert_int_equal(status_of(f, "POST", "/kgb/v1/verify", AUTH), 404);
	fixture_free(f);
}

static void test_garbage_instead_of_http_harms_nobody(void **state)
{
	(void)state;
	static const char *const garbage[] = {
		"\r\n\r\n\r\n",
		"GET\r\n\r\n",
		"POST /v1/messages HTTP/9.9\r\n\r\n",
		"\x16\x03\x01\x02",
		"POST /v1/messages HTTP/1.1\r\ncontent-length: -5\r\n\r\n",
		"POST /v1/messages HTTP/1.1\r\nhost: x\r\n" AUTH
		"content-length: 99999999999999999999999\r\n\r\n",
		"POST /v1/messages HTTP/1.1\r\nhost: x\r\n" AUTH
		"transfer-encoding: chunked\r\n\r\nzz\r\n",
	};
	struct fixture *f = fixture_new(&live);
	for (size_t i = 0; i < KGB_ARRAY_LEN(garbage); i++) {
		struct client c;
		client_open(&c, f);
		client_send(&c, garbage[i], strlen(garbage[i]));
		run_for(f, 30);
		client_close(&c);
	}
	assert_int_equal(fake_llm_calls(f->llm), 0);
	assert_int_equal(status_of(f, "POST", "/v1/messages", AUTH), 200);
	fixture_free(f);
}

/* ---- settings ---- */

static void test_a_gateway_refuses_settings_that_cannot_work(void **state)
{
	(void)state;
	static const struct {
		struct kgb_gateway_spec spec;
		const char *message;
	} cases[] = {
		{{.mode = KGB_GATEWAY_LIVE}, "ANTHROPIC_API_KEY or OPENAI_API_KEY"},
		{{.mode = KGB_GATEWAY_LIVE, .accounts.by_provider = {{.api_key = ""}}},
		 "ANTHROPIC_API_KEY"},
		{{.mode = KGB_GATEWAY_LIVE, .accounts.by_provider = {{.api_key = "a\r\nx: y"}}},
		 "control characters: check ANTHROPIC_API_KEY"},
		{{.mode = KGB_GATEWAY_LIVE, .accounts.by_provider = {{0}, {.api_key = "a b"}}},
		 "control characters: check OPENAI_API_KEY"},
		{{.mode = KGB_GATEWAY_LIVE,
		  .accounts.by_provider = {{.api_key = "k", .url = "api.anthropic.com"}}},
		 "http://"},
		{{.mode = KGB_GATEWAY_LIVE,
		  .accounts.by_provider = {{.api_key = "k", .url = "file:///etc/passwd"}}},
		 "http://"},
		{{.mode = KGB_GATEWAY_LIVE,
		  .accounts.by_provider = {{.api_key = "k", .url = "https://"}}},
		 "https://"},
		{{.mode = KGB_GATEWAY_LIVE,
		  .accounts.by_provider = {{.api_key = "k", .url = "https://a/?b=c"}}},
		 "query"},
	};
	uv_loop_t loop;
	uv_loop_init(&loop);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_gateway *gw = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		assert_int_equal(kgb_gateway_new(&gw, &loop, &cases[i].spec, &err), -1);
		assert_null(gw);
		assert_non_null(strstr(err.msg, cases[i].message));
		assert_int_equal(err.kind, KGB_ERR_INVALID);
	}
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void test_a_session_that_cannot_open_leaves_nothing_behind(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	static const struct {
		const char *token, *traffic_dir;
		bool bad_fd;
		const char *message;
	} cases[] = {
		{NULL, NULL, false, "token"},
		{"", NULL, false, "token"},
		{"t", "/nonexistent/traffic", false, "/nonexistent/traffic"},
		{"t", NULL, true, "socket"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_session *session = NULL;
		int fd = -1;
		uint16_t port;
		if (!cases[i].bad_fd)
			assert_ok(listen_loopback(0, &fd, &port, &err), err);
		struct kgb_session_spec spec = {.take_listen_fd = fd,
						.token = cases[i].token,
						.traffic_dir = cases[i].traffic_dir};
		assert_int_equal(kgb_session_open(&session, f->gw, &spec, &err), -1);
		assert_null(session);
		assert_non_null(strstr(err.msg, cases[i].message));
		if (fd >= 0)
			assert_int_equal(fcntl(fd, F_GETFD), -1);
	}
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_listed_endpoints_exist),
		cmocka_unit_test(test_without_the_token_nothing_is_reached),
		cmocka_unit_test(test_a_verdict_comes_back_to_who_asked),
		cmocka_unit_test(test_a_kernel_over_the_cap_is_413),
		cmocka_unit_test(
			test_a_client_that_leaves_while_a_verdict_is_pending_makes_an_orphan),
		cmocka_unit_test(test_a_verdict_after_the_session_closed_is_dropped),
		cmocka_unit_test(test_a_session_without_a_judge_has_no_verify_endpoint),
		cmocka_unit_test(test_garbage_instead_of_http_harms_nobody),
		cmocka_unit_test(test_a_gateway_refuses_settings_that_cannot_work),
		cmocka_unit_test(test_a_session_that_cannot_open_leaves_nothing_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
