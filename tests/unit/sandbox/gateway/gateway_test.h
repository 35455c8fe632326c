/* SPDX-License-Identifier: MIT */
/** \file
 * What the gateway's tests share: a gateway with one session and a fake API on one loop, and a
 * client that keeps raw bytes.
 */
#ifndef KGB_TESTS_UNIT_SANDBOX_GATEWAY_TEST_H
#define KGB_TESTS_UNIT_SANDBOX_GATEWAY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <uv.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/gateway/gateway.h"
#include "sandbox/offline/offline.h"
#include "tests/helpers/fake_llm.h"

#define TEST_KEY "sk-real-key-0123456789abcdef"
#define TEST_OPENAI_KEY "sk-other-key-0123456789abcdef"
#define TEST_TOKEN "tok-0123456789abcdef0123456789abcdef"
#define MAX_SUMMARIES 128

#define assert_ok(call, err)                                  \
	do {                                                  \
		if ((call) < 0)                               \
			fail_msg("%s: %s", #call, (err).msg); \
	} while (0)

struct summary {
	struct kgb_exchange_summary s; /* its strings are not valid any more */
	char model[96];
	char message_id[128];
	char error[400];
};

struct fixture {
	uv_loop_t loop;
	uv_timer_t tick; /* keeps uv_run(ONCE) from sleeping through a deadline */
	struct fake_llm *llm; /* NULL: nobody listens upstream */
	const char *behaviour; /* NULL: calls are kept in `call` for the test to answer */
	const char *const *behaviours; /* for the next calls, before that */
	struct fake_llm_call *call; /* the last one */
	struct kgb_gateway *gw;
	struct kgb_session *session; /* NULL once closed */
	uint16_t port;
	char *traffic; /* directory */
	struct kgb_totals totals; /* final, after the close */
	bool session_closed;
	bool gateway_closed;

	int n_usage;
	int n_activity;
	int n_probes;
	char probe[200]; /* the last: "what method path" */
	int n_summaries;
	struct summary summaries[MAX_SUMMARIES];
	struct kgb_verify_request *verify; /* the last */
	char *kernel; /* it brought */
	int n_verify;
	int n_leaves; /* calls of on_leave */
	int64_t most_unsure; /* calls at a time, as it reported them */
	bool has_more_sessions; /* than `session`: the test's own */
	int n_model_calls; /* requests for an answer that the provider got */
	int n_refusals; /* for a budget */
	int n_hopeless;
	int n_misses;
	char why[600]; /* of the last refusal or miss */
};

struct fixture_spec {
	enum kgb_gateway_mode mode;
	const char *behaviour;
	const char *model;
	bool key_is_bearer;
	bool without_upstream; /* the fake is there but its port is closed */
	bool tls; /* the gateway speaks TLS, the fake does not */
	bool without_verify;
	bool without_openai_key;
	bool allow_provider_tools;
	unsigned protocols;
	const struct kgb_offline_session *offline;
	int64_t max_exchanges;
	int64_t idle_timeout_ms;
	int64_t max_answer_bytes;
	struct kgb_retry_policy retry; /* all 0: nothing is tried again */
	size_t max_concurrent;
	const struct kgb_prices *prices;
	struct kgb_budget *budget;
	const struct kgb_cassette *cassette;
	const char *const *behaviours; /* one for each call, NULL-terminated; then `behaviour` */
};

struct fixture *fixture_new(const struct fixture_spec *spec);
/** Close session, gateway and fake; the loop must close with nothing left, no descriptor either.
 * Frees the fixture. */
void fixture_free(struct fixture *f);
/** The session alone; totals are in f->totals afterwards. */
void fixture_close_session(struct fixture *f);
/** Run the loop until `done(payload)`; fails the test when that takes much longer than `ms`, which
 * a quiet machine needs at most. */
void run_until(struct fixture *f, bool (*done)(const void *payload), const void *payload, int ms);
void run_for(struct fixture *f, int ms);

struct client {
	uv_tcp_t tcp;
	uv_connect_t connect;
	struct fixture *f;
	struct kgb_buf in;
	bool eof; /* the server closed */
	int error; /* or cut: UV_ECONNRESET */
	bool closed;
};

void client_open(struct client *c, struct fixture *f);
void client_send(struct client *c, const char *bytes, size_t len);
void client_request(struct client *c, const char *method, const char *path, const char *headers,
		    const char *body, size_t len);
/** POST /v1/messages?beta=true with the right token. */
void client_ask(struct client *c, const char *body);
/** Stop and start taking bytes. */
void client_pause(struct client *c);
void client_resume(struct client *c);
/** Close from our side; waits until libuv is done with it. */
void client_close(struct client *c);
/** Wait until the bytes hold `text`, or the end of the connection. */
void client_wait(struct client *c, const char *text);
void client_wait_end(struct client *c);
/** Status of the first answer. */
int client_status(const struct client *c);
/** The chunked or plain body of the first answer; `*complete` says whether it ended as HTTP wants.
 * malloc'ed. */
char *client_body(const struct client *c, bool *complete);

/** Predicates for run_until with the fixture: an exchange was told of; the fake API has a call. */
bool has_summary(const void *payload);
bool has_call(const void *payload);
/** The last summary, when there is one. */
const struct summary *wait_summary(struct fixture *f);
/** One request over a connection of its own, until the answer is complete or the connection ends.
 */
void ask_once(struct fixture *f, struct client *c);
void assert_usage(const struct kgb_usage *usage, int64_t input, int64_t output, int64_t creation,
		  int64_t read);

/** Read a file of the record; malloc'ed; fails the test when absent. */
char *traffic_read(const struct fixture *f, const char *name);
/** Number of files below the record that hold `text`. */
int traffic_holding(const struct fixture *f, const char *text);
int traffic_files(const struct fixture *f);

#define AUTH "x-api-key: " TEST_TOKEN "\r\n"
#define BODY \
	"{\"model\":\"m-asked\",\"stream\":true,\"max_tokens\":100,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"

#endif
