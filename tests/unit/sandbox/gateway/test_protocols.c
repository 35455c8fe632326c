/* SPDX-License-Identifier: MIT */
/* OpenAI's two protocols through the gateway: the same walls, counts and bad days as Anthropic's.
 */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/str.h"
#include "sandbox/meter/meter.h"

#define CHUNK(delta, finish)                                                                                      \
	"data: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0," \
	"\"delta\":" delta ",\"finish_reason\":" finish "}]}\n\n"
#define CHAT_TEXT                                                     \
	CHUNK("{\"role\":\"assistant\",\"content\":\"hel\"}", "null") \
	CHUNK("{\"content\":\"lo\"}", "null")
#define CHAT_FINISH CHUNK("{}", "\"stop\"")
/* 100 in, 2,000 of them from the cache, 50 out. */
#define CHAT_USAGE                                                                                           \
	"data: {\"id\":\"c-1\",\"model\":\"m-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":2100,"          \
	"\"completion_tokens\":50,\"total_tokens\":2150,\"prompt_tokens_details\":{\"cached_tokens\":2000}," \
	"\"completion_tokens_details\":{\"reasoning_tokens\":7}}}\n\n"
#define CHAT_DONE "data: [DONE]\n\n"
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define RESP_CREATED              \
	EVENT("response.created", \
	      ",\"response\":{\"id\":\"r-1\",\"model\":\"m-1\",\"status\":\"in_progress\"}")
#define RESP_TEXT EVENT("response.output_text.delta", ",\"delta\":\"hello\"")
#define RESP_END(type)                                                                            \
	EVENT(type,                                                                               \
	      ",\"response\":{\"id\":\"r-1\",\"model\":\"m-1\",\"usage\":{\"input_tokens\":2100," \
	      "\"input_tokens_details\":{\"cached_tokens\":2000},\"output_tokens\":50}}")

struct wire {
	const char *path, *body, *ok, *no_stop, *malformed, *error_event, *error_mark;
};
static const struct wire wires[] = {
	{"/v1/chat/completions",
	 "{\"model\":\"m-asked\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
	 CHAT_TEXT CHAT_FINISH CHAT_USAGE CHAT_DONE, CHAT_TEXT,
	 CHAT_TEXT "data: {\"id\":\n\n" CHAT_FINISH CHAT_USAGE CHAT_DONE,
	 CHAT_TEXT "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\"}}\n\n",
	 "[DONE]"},
	{"/v1/responses", "{\"model\":\"m-asked\",\"stream\":true,\"input\":\"hi\"}",
	 RESP_CREATED RESP_TEXT RESP_END("response.completed"), RESP_CREATED RESP_TEXT,
	 RESP_CREATED
	 "event: response.created\ndata: {\"type\":\n\n" RESP_END("response.completed"),
	 RESP_CREATED RESP_END("response.failed"), "response.completed"},
};

static const struct fixture_spec live = {.mode = KGB_GATEWAY_LIVE};

/* Asks and waits until the call is at the fake API. */
static void ask(struct fixture *f, struct client *c, const struct wire *wire)
{
	f->call = NULL;
	client_open(c, f);
	client_request(c, "POST", wire->path, "authorization: Bearer " TEST_TOKEN "\r\n",
		       wire->body, strlen(wire->body));
	run_until(f, has_call, f, 2000);
}

static void answer(struct fixture *f, const char *bytes, bool ends)
{
	fake_llm_stream_head(f->call);
	fake_llm_chunk(f->call, bytes, strlen(bytes));
	if (ends) {
		fake_llm_stream_end(f->call);
		return;
	}
	run_for(f, 50); /* a reset overtakes what was sent before it */
	fake_llm_cut(f->call, true);
}

static void test_a_stream_passes_unchanged_and_is_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(wires); i++) {
		struct fixture *f = fixture_new(&live);
		struct client c;
		bool complete = false;
		ask(f, &c, &wires[i]);
		assert_string_equal(f->call->path, wires[i].path);
		assert_memory_equal(f->call->body, wires[i].body, strlen(wires[i].body));
		KGB_AUTO(free) char *key = fake_llm_header(f->call, "authorization");
		assert_string_equal(key, "Bearer " TEST_OPENAI_KEY);
		KGB_AUTO(free) char *other = fake_llm_header(f->call, "x-api-key");
		assert_null(other);
		answer(f, wires[i].ok, true);
		client_wait(&c, "0\r\n\r\n");
		KGB_AUTO(free) char *body = client_body(&c, &complete);
		assert_true(complete);
		assert_string_equal(body, wires[i].ok);
		const struct summary *summary = wait_summary(f);
		assert_usage(&summary->s.usage, 100, 50, 0, 2000);
		assert_true(summary->s.billed && summary->s.usage_complete);
		assert_string_equal(summary->model, "m-1");
		assert_int_equal(traffic_holding(f, TEST_TOKEN), 0);
		assert_int_equal(traffic_holding(f, TEST_OPENAI_KEY), 0);
		client_close(&c);
		fixture_free(f);
	}
}

static void test_events_arrive_before_the_stream_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(wires); i++) {
		struct fixture *f = fixture_new(&live);
		struct client c;
		ask(f, &c, &wires[i]);
		fake_llm_stream_head(f->call);
		fake_llm_chunk(f->call, wires[i].no_stop, strlen(wires[i].no_stop));
		client_wait(&c, i == 0 ? "\"lo\"" : "hello");
		assert_null(strstr(c.in.ptr, wires[i].error_mark));
		fake_llm_stream_end(f->call);
		client_wait_end(&c);
		client_close(&c);
		fixture_free(f);
	}
}

static void test_bad_days_end_as_what_they_are(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		bool ends, cut, complete, billed;
		int n_incomplete;
	} days[] = {
		/* A clean end without a closing event must not look like one to the client. */
		{"no_stop", true, true, false, false, 0},
		{"cut", false, true, false, false, 0},
		{"malformed", true, false, true, true, 0},
		{"error_event", true, false, true, false, 1},
	};
	for (size_t w = 0; w < KGB_ARRAY_LEN(wires); w++) {
		const char *const bytes[] = {wires[w].no_stop, wires[w].no_stop, wires[w].malformed,
					     wires[w].error_event};
		for (size_t i = 0; i < KGB_ARRAY_LEN(days); i++) {
			struct fixture *f = fixture_new(&live);
			struct client c;
			bool complete = false;
			ask(f, &c, &wires[w]);
			answer(f, bytes[i], days[i].ends);
			if (days[i].cut)
				client_wait_end(&c);
			else
				client_wait(&c, "0\r\n\r\n");
			const struct summary *summary = wait_summary(f);
			KGB_AUTO(free) char *body = client_body(&c, &complete);
			if (summary->s.cut_upstream != days[i].cut || complete != days[i].complete)
				fail_msg("%s %s: cut %d, complete %d, %s", wires[w].path,
					 days[i].name, summary->s.cut_upstream, complete,
					 summary->error);
			if (days[i].cut && days[i].ends)
				assert_non_null(strstr(summary->error, wires[w].error_mark));
			/* A failed response still tells what it took. */
			bool billed = days[i].billed || (w == 1 && i == 3);
			assert_int_equal(summary->s.billed, billed);
			client_close(&c);
			fixture_close_session(f);
			assert_int_equal(f->totals.n_errors, days[i].cut ? 1 : 0);
			fixture_free(f);
		}
	}
}

static void test_counts_seen_before_a_cut_are_kept(void **state)
{
	(void)state;
	struct fixture *f = fixture_new(&live);
	struct client c;
	ask(f, &c, &wires[0]);
	answer(f, CHAT_TEXT CHAT_USAGE, false);
	const struct summary *summary = wait_summary(f);
	assert_true(summary->s.cut_upstream);
	assert_usage(&summary->s.usage, 100, 50, 0, 2000);
	client_close(&c);
	fixture_free(f);
}

static void test_errors_of_the_api_reach_the_client(void **state)
{
	(void)state;
	static const struct {
		const char *behaviour;
		int status;
	} cases[] = {{"401", 401}, {"404", 404}, {"429", 429}, {"529", 529}, {"500", 500}};
	for (size_t w = 0; w < KGB_ARRAY_LEN(wires); w++) {
		for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
			const struct fixture_spec spec = {.mode = KGB_GATEWAY_LIVE,
							  .behaviour = cases[i].behaviour};
			struct fixture *f = fixture_new(&spec);
			struct client c;
			ask(f, &c, &wires[w]);
			client_wait(&c, "\r\n\r\n");
			const struct summary *summary = wait_summary(f);
			assert_int_equal(summary->s.status, cases[i].status);
			assert_int_equal(client_status(&c), cases[i].status);
			assert_false(summary->s.billed);
			client_close(&c);
			fixture_free(f);
		}
	}
}

static void test_an_answer_in_one_piece_is_counted(void **state)
{
	(void)state;
	static const char *const bodies[] = {
		"{\"id\":\"c-1\",\"model\":\"m-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":2100,\"completion_tokens\":50,\"prompt_tokens_details\":{\"cached_tokens\":2000}}}",
		"{\"id\":\"r-1\",\"model\":\"m-1\",\"usage\":{\"input_tokens\":2100,\"input_tokens_details\":{\"cached_tokens\":2000},\"output_tokens\":50}}"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(wires); i++) {
		struct fixture *f = fixture_new(&live);
		struct client c;
		ask(f, &c, &wires[i]);
		fake_llm_reply(f->call, 200, "content-type: application/json\r\n", bodies[i]);
		assert_usage(&wait_summary(f)->s.usage, 100, 50, 0, 2000);
		client_close(&c);
		fixture_free(f);
	}
}

static void test_what_servers_tell_of_usage_is_read_as_it_is_meant(void **state)
{
	(void)state;
	static const struct {
		enum kgb_protocol protocol;
		const char *bytes;
		struct kgb_usage usage;
	} cases[] = {
		/* A running total with each chunk: the last counts. */
		{KGB_PROTOCOL_CHAT,
		 "data: {\"id\":\"a\",\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n"
		 "data: {\"id\":\"a\",\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n" CHAT_DONE,
		 {9, 4, 0, 0}},
		{KGB_PROTOCOL_CHAT,
		 "data: {\"id\":\"a\",\"usage\":null}\n\n" CHAT_DONE,
		 {-1, -1, -1, -1}},
		{KGB_PROTOCOL_CHAT,
		 "data: {\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":\"x\"}}\n\n",
		 {9, -1, 0, 0}},
		/* More from the cache than there was. */
		{KGB_PROTOCOL_CHAT,
		 "data: {\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":20}}}\n\n",
		 {0, 1, 0, 9}},
		{KGB_PROTOCOL_RESPONSES,
		 EVENT("response.completed",
		       ",\"response\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1,\"input_tokens_details\":{\"cached_tokens\":2,\"cache_write_tokens\":3}}}"),
		 {4, 1, 3, 2}},
		/* Usage inside text is text. */
		{KGB_PROTOCOL_RESPONSES,
		 EVENT("response.output_text.delta",
		       ",\"delta\":\"\",\"response\":{\"usage\":{\"input_tokens\":9}}"),
		 {-1, -1, -1, -1}},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		for (size_t piece = 1; piece < 1000; piece = piece * 5 + 2) {
			struct kgb_meter meter;
			size_t len = strlen(cases[i].bytes);
			kgb_meter_init(&meter, cases[i].protocol, "text/event-stream");
			for (size_t at = 0; at < len; at += piece)
				kgb_meter_feed(&meter, cases[i].bytes + at,
					       len - at < piece ? len - at : piece);
			kgb_meter_finish(&meter);
			if (!kgb_usage_equal(&meter.usage, &cases[i].usage))
				fail_msg("case %zu: %lld %lld %lld %lld", i,
					 (long long)meter.usage.input,
					 (long long)meter.usage.output,
					 (long long)meter.usage.cache_creation,
					 (long long)meter.usage.cache_read);
			kgb_meter_release(&meter);
		}
	}
}

static void test_the_model_is_pinned_and_tools_of_the_provider_go(void **state)
{
	(void)state;
	const struct fixture_spec spec = {.mode = KGB_GATEWAY_LIVE, .model = "pinned"};
	struct fixture *f = fixture_new(&spec);
	struct wire wire = wires[1];
	struct client c;
	wire.body = "{\"model\":\"dear\",\"tools\":[{\"type\":\"web_search\"}],\"input\":\"hi\"}";
	ask(f, &c, &wire);
	assert_string_equal(f->call->body, "{\"model\":\"pinned\",\"input\":\"hi\"}");
	fake_llm_reply(f->call, 500, "", "{}");
	const struct summary *summary = wait_summary(f);
	assert_string_equal(summary->model, "pinned");
	assert_int_equal(summary->s.n_tools_removed, 1);
	/* The record holds what the client sent. */
	KGB_AUTO(free) char *request = traffic_read(f, "0001.request.json");
	assert_non_null(strstr(request, "\"model\":\"dear\""));
	client_close(&c);
	fixture_free(f);
}

static int status_of(struct fixture *f, const char *method, const char *path, const char *headers)
{
	struct client c;
	KGB_AUTO(free) char *lines = kgb_xasprintf("%sconnection: close\r\n", headers);
	bool post = strcmp(method, "POST") == 0;
	client_open(&c, f);
	client_request(&c, method, path, lines, "{}", post ? 2 : 0);
	client_wait_end(&c);
	int status = client_status(&c);
	client_close(&c);
	return status;
}

static void test_a_session_speaks_only_its_own_protocols(void **state)
{
	(void)state;
	static const struct {
		unsigned protocols;
		int messages, count, chat, responses;
	} cases[] = {
		{KGB_PROTOCOL_BIT(KGB_PROTOCOL_ANTHROPIC), 200, 200, 404, 404},
		{KGB_PROTOCOL_BIT(KGB_PROTOCOL_CHAT), 404, 404, 200, 404},
		{KGB_PROTOCOL_BIT(KGB_PROTOCOL_RESPONSES), 404, 404, 404, 200},
		{0, 200, 200, 200, 200},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct fixture_spec spec = {.mode = KGB_GATEWAY_LIVE,
						  .behaviour = "ok",
						  .protocols = cases[i].protocols};
		struct fixture *f = fixture_new(&spec);
		assert_int_equal(status_of(f, "POST", "/v1/messages", AUTH), cases[i].messages);
		assert_int_equal(status_of(f, "POST", "/v1/messages/count_tokens", AUTH),
				 cases[i].count);
		assert_int_equal(status_of(f, "POST", "/v1/chat/completions", AUTH), cases[i].chat);
		assert_int_equal(status_of(f, "POST", "/v1/responses", AUTH), cases[i].responses);
		assert_int_equal(status_of(f, "GET", "/v1/models", AUTH), 200);
		/* The right account is asked for the list. */
		KGB_AUTO(free) char *key = fake_llm_header(f->call, "x-api-key");
		bool anthropic = cases[i].messages == 200;
		assert_true(anthropic == (key != NULL));
		assert_int_equal(status_of(f, "GET", "/v1/responses/r-1", AUTH), 404);
		fixture_free(f);
	}
}

static void test_what_cannot_be_read_does_not_leave(void **state)
{
	(void)state;
	const struct fixture_spec spec = {.mode = KGB_GATEWAY_LIVE, .behaviour = "ok"};
	struct fixture *f = fixture_new(&spec);
	assert_int_equal(status_of(f, "POST", "/v1/responses", AUTH "content-encoding: zstd\r\n"),
			 415);
	struct client c;
	client_open(&c, f);
	client_request(&c, "POST", "/v1/responses", AUTH, "{\"a\":1,\"a\":2}", 13);
	client_wait(&c, "key twice");
	assert_int_equal(client_status(&c), 400);
	client_close(&c);
	assert_int_equal(fake_llm_calls(f->llm), 0);
	fixture_free(f);
}

static void test_without_a_key_for_an_api_it_is_not_asked(void **state)
{
	(void)state;
	const struct fixture_spec spec = {
		.mode = KGB_GATEWAY_LIVE, .behaviour = "ok", .without_openai_key = true};
	struct fixture *f = fixture_new(&spec);
	assert_int_equal(status_of(f, "POST", "/v1/responses", AUTH), 401);
	assert_int_equal(fake_llm_calls(f->llm), 0);
	assert_int_equal(status_of(f, "POST", "/v1/messages", AUTH), 200);
	fixture_free(f);
}

/* ---- the offline model ---- */

static const char sessions[] =
	"sessions:\n"
	"  verify:\n"
	"    - {say: one, write: buggy}\n"
	"    - {say: two, run: kgb-verify}\n"
	"    - {say: 'It says {{failing_case}}', write: fixed, expect: failed, otherwise: '{{last_result}}'}\n"
	"    - {say: 'Done: {{passed_line}}', expect: passed, otherwise: '{{last_result}}'}\n"
	"  oneshot: [{say: '{{kernel.fixed}}'}]\n";
static const char script[] = "{operator: 'a::b', bug: b, fix: c, kernels: {buggy: x, fixed: y}}";

#define CHAT_TOOLS                                                                                          \
	"\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"bash\",\"parameters\":{\"properties\":" \
	"{\"command\":{},\"description\":{}}}}}]"
#define CODEX_TOOLS                                                                                               \
	"\"tools\":[{\"type\":\"function\",\"name\":\"exec_command\",\"parameters\":{\"properties\":{\"cmd\":{}," \
	"\"yield_time_ms\":{}}}},{\"type\":\"function\",\"name\":\"write_stdin\",\"parameters\":{}}]"
#define CHAT_HISTORY(result)                                                                       \
	"{\"model\":\"m\"," CHAT_TOOLS ",\"messages\":[{\"role\":\"user\",\"content\":\"go\"},"    \
	"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"toolu_offline_01\",\"function\":{}}]}," \
	"{\"role\":\"tool\",\"tool_call_id\":\"toolu_offline_01\",\"content\":\"" result "\"}]}"
#define CODEX_HISTORY(result)                                                                      \
	"{\"model\":\"m\"," CODEX_TOOLS ",\"input\":[{\"role\":\"user\",\"content\":\"go\"},"      \
	"{\"type\":\"function_call\",\"call_id\":\"toolu_offline_01\"},"                           \
	"{\"type\":\"function_call_output\",\"call_id\":\"toolu_offline_01\",\"output\":\"" result \
	"\"}]}"

static void test_the_offline_model_holds_the_same_talk_in_each_protocol(void **state)
{
	(void)state;
	static const struct {
		enum kgb_protocol protocol;
		const char *body;
		const char *holds[3]; /* in the answer */
	} cases[] = {
		{KGB_PROTOCOL_CHAT,
		 "{\"model\":\"m\"," CHAT_TOOLS
		 ",\"messages\":[{\"role\":\"user\",\"content\":\"go\"}]}",
		 {"toolu_offline_00", "cat > kernel.py", "\"finish_reason\":\"tool_calls\""}},
		{KGB_PROTOCOL_CHAT,
		 CHAT_HISTORY("FAIL\\ncase: the tail"),
		 {"toolu_offline_02", "It says case: the tail", "cat > kernel.py"}},
		{KGB_PROTOCOL_CHAT,
		 "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"Make a title\"},{\"role\":\"user\",\"content\":\"go\"}]}",
		 {"Offline script", "\"finish_reason\":\"stop\"", NULL}},
		{KGB_PROTOCOL_RESPONSES,
		 "{\"model\":\"m\"," CODEX_TOOLS ",\"input\":\"go\"}",
		 {"toolu_offline_00", "cat > kernel.py", "exec_command"}},
		{KGB_PROTOCOL_RESPONSES,
		 CODEX_HISTORY("Output:\\nFAIL\\ncase: the tail"),
		 {"toolu_offline_02", "It says case: the tail", "exec_command"}},
		/* The command still runs: it is waited for, and the turn stays. */
		{KGB_PROTOCOL_RESPONSES,
		 CODEX_HISTORY("Process running with session ID 4711"),
		 {"toolu_offline_01_", "\"name\":\"write_stdin\"", "4711"}},
		{KGB_PROTOCOL_RESPONSES,
		 "{\"input\":\"go\"}",
		 {"model: field required", NULL, NULL}},
		{KGB_PROTOCOL_CHAT,
		 "{\"model\":\"m\",\"messages\":[]}",
		 {"at least one message", NULL, NULL}},
	};
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_offline_parse(&session,
				    &(struct kgb_offline_source){"s", sessions, strlen(sessions)},
				    &(struct kgb_offline_source){"o", script, strlen(script)},
				    KGB_OFFLINE_VERIFY, &err),
		  err);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
		kgb_offline_answer(session, cases[i].protocol, cases[i].body, strlen(cases[i].body),
				   &reply);
		for (size_t k = 0; k < KGB_ARRAY_LEN(cases[i].holds) && cases[i].holds[k]; k++)
			if (!strstr(reply.body.ptr, cases[i].holds[k]))
				fail_msg("case %zu: no '%s' in %s", i, cases[i].holds[k],
					 reply.body.ptr);
		kgb_offline_reply_release(&reply);
	}
	kgb_offline_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stream_passes_unchanged_and_is_counted),
		cmocka_unit_test(test_events_arrive_before_the_stream_ends),
		cmocka_unit_test(test_bad_days_end_as_what_they_are),
		cmocka_unit_test(test_counts_seen_before_a_cut_are_kept),
		cmocka_unit_test(test_errors_of_the_api_reach_the_client),
		cmocka_unit_test(test_an_answer_in_one_piece_is_counted),
		cmocka_unit_test(test_what_servers_tell_of_usage_is_read_as_it_is_meant),
		cmocka_unit_test(test_the_model_is_pinned_and_tools_of_the_provider_go),
		cmocka_unit_test(test_a_session_speaks_only_its_own_protocols),
		cmocka_unit_test(test_what_cannot_be_read_does_not_leave),
		cmocka_unit_test(test_without_a_key_for_an_api_it_is_not_asked),
		cmocka_unit_test(test_the_offline_model_holds_the_same_talk_in_each_protocol),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
