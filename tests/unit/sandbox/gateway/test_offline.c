/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/meter/meter.h"

#define HONEST_DIR KGB_TEST_SOURCE_DIR "/tests/honest"

static const char sessions_yaml[] =
	"sessions:\n"
	"  verify:\n"
	"    - {say: 'I am a script. {{bug}}', write: buggy, describe: write it}\n"
	"    - {say: check, run: kgb-verify}\n"
	"    - {say: 'It says {{failing_case}}', write: fixed, expect: failed, otherwise: 'Odd: {{last_result}}'}\n"
	"    - {say: again, run: kgb-verify}\n"
	"    - {say: \"Done: {{passed_line}}\\n```python\\n{{kernel.fixed}}\\n```\\n\", expect: passed, otherwise: 'Not done: {{last_result}}'}\n"
	"  oneshot:\n"
	"    - say: \"Here.\\n```python\\n{{kernel.fixed}}\\n```\"\n";
static const char script_yaml[] = "operator: aten::add\n"
				  "bug: the tail is lost\n"
				  "fix: it is kept\n"
				  "kernels:\n"
				  "  buggy: |\n    a = '$HOME `x` \\\"'\n    b = \"{{no}}\"\n"
				  "  fixed: |\n    c = 1\n\n";
#define BUGGY "a = '$HOME `x` \\\"'\nb = \"{{no}}\""
#define BASH_TOOL \
	"[{\"name\":\"Read\",\"input_schema\":{}},{\"name\":\"Bash\",\"input_schema\":{\"properties\":{\"command\":{},\"description\":{}}}}]"

static int parse(struct kgb_offline_session **out, const char *sessions, const char *script,
		 enum kgb_offline_variant variant, struct kgb_err *err)
{
	return kgb_offline_parse(
		out, &(struct kgb_offline_source){"session.yaml", sessions, strlen(sessions)},
		&(struct kgb_offline_source){"op.yaml", script, strlen(script)}, variant, err);
}

static struct kgb_offline_session *session_new(enum kgb_offline_variant variant)
{
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(parse(&session, sessions_yaml, script_yaml, variant, &err), err);
	return session;
}

/* A conversation as a client keeps it: grows by each answer and what its tool returned. */
struct talk {
	const struct kgb_offline_session *session;
	const char *tools; /* JSON, NULL none */
	struct kgb_buf messages;
	cJSON *answer; /* the last */
};

static void talk_start(struct talk *t, const struct kgb_offline_session *session, const char *tools)
{
	*t = (struct talk){.session = session, .tools = tools, .messages = KGB_BUF_INIT(0)};
	kgb_buf_adds(&t->messages, "{\"role\":\"user\",\"content\":\"write a kernel\"}");
}

static void request_body(const struct talk *t, bool stream, struct kgb_buf *out)
{
	kgb_buf_addf(
		out,
		"{\"model\":\"m-x\",\"max_tokens\":10,\"system\":\"be good\",%s%s%s\"stream\":%s,\"messages\":[%s]}",
		t->tools ? "\"tools\":" : "", t->tools ? t->tools : "", t->tools ? "," : "",
		stream ? "true" : "false", t->messages.ptr);
}

static const cJSON *talk_ask(struct talk *t)
{
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);
	struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	request_body(t, false, &body);
	kgb_offline_answer(t->session, KGB_PROTOCOL_ANTHROPIC, body.ptr, body.len, &reply);
	assert_int_equal(reply.status, 200);
	cJSON_Delete(t->answer);
	t->answer = NULL;
	assert_ok(kgb_json_parse(reply.body.ptr, reply.body.len, &t->answer, &err), err);
	kgb_offline_reply_release(&reply);
	return t->answer;
}

static const char *text_of(const cJSON *answer)
{
	return kgb_json_str(cJSON_GetArrayItem(kgb_json_get(answer, "content"), 0), "text", "");
}

static const cJSON *tool_of(const cJSON *answer)
{
	return cJSON_GetArrayItem(kgb_json_get(answer, "content"), 1);
}

/* The tool ran and returned `result`. */
static void talk_result(struct talk *t, const char *result)
{
	struct kgb_jsonw w;
	kgb_buf_adds(&t->messages, ",");
	kgb_jsonw_init(&w, &t->messages, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "role", "assistant");
	kgb_jsonw_key(&w, "content");
	kgb_jsonw_tree(&w, kgb_json_get(t->answer, "content"));
	kgb_jsonw_object_end(&w);
	kgb_buf_adds(&t->messages, ",");
	kgb_jsonw_init(&w, &t->messages, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "role", "user");
	kgb_jsonw_key(&w, "content");
	kgb_jsonw_array(&w);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "type", "tool_result");
	kgb_jsonw_kstr(&w, "tool_use_id", kgb_json_str(tool_of(t->answer), "id", "?"));
	kgb_jsonw_key(&w, "content");
	kgb_jsonw_array(&w);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "type", "text");
	kgb_jsonw_kstr(&w, "text", result);
	kgb_jsonw_object_end(&w);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_object_end(&w);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_object_end(&w);
}

static void talk_end(struct talk *t)
{
	cJSON_Delete(t->answer);
	kgb_buf_release(&t->messages);
}

#define REPORT \
	"Exit code 1\nFAIL verify.mismatch: 3 of 8\n  case: add/n=1000: [960] nan\ncase: second\n"

static void test_the_whole_session_writes_verifies_mends_and_finishes(void **state)
{
	(void)state;
	struct kgb_offline_session *session = session_new(KGB_OFFLINE_VERIFY);
	struct talk t;
	talk_start(&t, session, BASH_TOOL);
	const cJSON *answer = talk_ask(&t);
	assert_string_equal(text_of(answer), "I am a script. the tail is lost");
	assert_string_equal(kgb_json_str(answer, "model", ""), "m-x");
	assert_string_equal(kgb_json_str(answer, "stop_reason", ""), "tool_use");
	assert_string_equal(kgb_json_str(tool_of(answer), "name", ""), "Bash");
	assert_string_equal(kgb_json_str(tool_of(answer), "input.command", ""),
			    "cat > kernel.py <<'KGB_EOF'\n" BUGGY "\nKGB_EOF\n");
	assert_string_equal(kgb_json_str(tool_of(answer), "input.description", ""), "write it");
	talk_result(&t, "");
	answer = talk_ask(&t);
	assert_string_equal(kgb_json_str(tool_of(answer), "input.command", ""), "kgb-verify");
	talk_result(&t, REPORT);
	answer = talk_ask(&t);
	assert_string_equal(text_of(answer), "It says case: add/n=1000: [960] nan");
	assert_string_equal(kgb_json_str(tool_of(answer), "input.command", ""),
			    "cat > kernel.py <<'KGB_EOF'\nc = 1\nKGB_EOF\n");
	talk_result(&t, "");
	talk_ask(&t);
	talk_result(&t, "PASSED 8 of 8\nmore\n");
	answer = talk_ask(&t);
	assert_string_equal(text_of(answer), "Done: PASSED 8 of 8\n```python\nc = 1\n```");
	assert_string_equal(kgb_json_str(answer, "stop_reason", ""), "end_turn");
	assert_null(tool_of(answer));
	talk_end(&t);
	kgb_offline_free(session);
}

static void test_a_repeated_request_gets_the_same_turn(void **state)
{
	(void)state;
	struct kgb_offline_session *session = session_new(KGB_OFFLINE_VERIFY);
	struct talk t;
	talk_start(&t, session, BASH_TOOL);
	talk_ask(&t);
	talk_result(&t, "");
	KGB_AUTO(free) char *first = kgb_xstrdup(text_of(talk_ask(&t)));
	KGB_AUTO(free) char *id = kgb_xstrdup(kgb_json_str(t.answer, "id", ""));
	assert_string_equal(first, text_of(talk_ask(&t)));
	/* ... but it is another message: both would be charged. */
	assert_string_not_equal(id, kgb_json_str(t.answer, "id", ""));
	talk_end(&t);
	kgb_offline_free(session);
}

static void test_the_script_says_so_when_things_are_not_as_it_expects(void **state)
{
	(void)state;
	static const struct {
		const char *first, *second; /* reports */
		const char *end;
	} cases[] = {
		{"PASSED at once\n", NULL, "Odd: PASSED at once"},
		{"bash: kgb-verify: command not found", NULL,
		 "Odd: bash: kgb-verify: command not found"},
		{"", NULL, "Odd: "},
		{"FAIL x: y\n", "FAIL x: again\n", "Not done: FAIL x: again"},
		{"FAIL x: y\n", "FAILED TO PASSED\n", "Not done: FAILED TO PASSED"},
	};
	struct kgb_offline_session *session = session_new(KGB_OFFLINE_VERIFY);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct talk t;
		talk_start(&t, session, BASH_TOOL);
		talk_ask(&t);
		talk_result(&t, "");
		talk_ask(&t);
		talk_result(&t, cases[i].first);
		const cJSON *answer = talk_ask(&t);
		if (cases[i].second) {
			assert_string_equal(text_of(answer), "It says FAIL x: y");
			talk_result(&t, "");
			talk_ask(&t);
			talk_result(&t, cases[i].second);
			answer = talk_ask(&t);
		}
		assert_string_equal(text_of(answer), cases[i].end);
		assert_null(tool_of(answer));
		assert_string_equal(kgb_json_str(answer, "stop_reason", ""), "end_turn");
		talk_end(&t);
	}
	kgb_offline_free(session);
}

static void test_other_shell_tools_are_called_their_way(void **state)
{
	(void)state;
	static const struct {
		const char *tools;
		const char *name, *key;
	} cases[] = {
		{"[{\"name\":\"bash\",\"input_schema\":{\"properties\":{\"command\":{}}}}]", "bash",
		 "command"},
		{"[{\"name\":\"edit\"},{\"name\":\"shell\"}]", "shell", "command"},
		{"[{\"name\":\"exec_command\",\"input_schema\":{\"properties\":{\"cmd\":{}}}}]",
		 "exec_command", "cmd"},
	};
	struct kgb_offline_session *session = session_new(KGB_OFFLINE_VERIFY);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct talk t;
		talk_start(&t, session, cases[i].tools);
		talk_ask(&t);
		talk_result(&t, "");
		const cJSON *answer = talk_ask(&t);
		const cJSON *input = kgb_json_get(tool_of(answer), "input");
		assert_string_equal(kgb_json_str(tool_of(answer), "name", ""), cases[i].name);
		assert_int_equal(cJSON_GetArraySize(input), 1);
		assert_string_equal(kgb_json_str(input, cases[i].key, ""), "kgb-verify");
		talk_end(&t);
	}
	kgb_offline_free(session);
}

static void test_what_is_no_main_conversation_gets_its_own_answer(void **state)
{
	(void)state;
	static const struct {
		enum kgb_offline_variant variant;
		const char *tools;
		const char *prefix; /* put before the messages */
		const char *says;
	} cases[] = {
		{KGB_OFFLINE_VERIFY, NULL, "", "Offline script"},
		{KGB_OFFLINE_VERIFY, "[]", "", "Offline script"},
		{KGB_OFFLINE_VERIFY, "[{\"name\":\"Read\"}]", "", "Here.\n```python\nc = 1\n```"},
		{KGB_OFFLINE_ONESHOT, NULL, "", "Here.\n```python\nc = 1\n```"},
		{KGB_OFFLINE_ONESHOT, BASH_TOOL, "", "Here.\n```python\nc = 1\n```"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_offline_session *session = session_new(cases[i].variant);
		struct talk t;
		talk_start(&t, session, cases[i].tools);
		const cJSON *answer = talk_ask(&t);
		assert_string_equal(text_of(answer), cases[i].says);
		assert_null(tool_of(answer));
		talk_end(&t);
		kgb_offline_free(session);
	}
	struct kgb_offline_session *session = session_new(KGB_OFFLINE_ONESHOT);
	struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
	static const char title[] =
		"{\"model\":\"m\",\"system\":[{\"type\":\"text\",\"text\":\"Write a Title\"}],"
		"\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
	kgb_offline_answer(session, KGB_PROTOCOL_ANTHROPIC, title, strlen(title), &reply);
	assert_non_null(strstr(reply.body.ptr, "Offline script"));
	kgb_offline_reply_release(&reply);
	kgb_offline_free(session);
}

static void test_a_later_round_has_turns_of_its_own_or_those_of_the_first(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf yaml = KGB_BUF_INIT(0);
	kgb_buf_addf(&yaml, "%s  again: [{say: 'worse: {{bug}}', write: buggy}, {say: end}]\n",
		     sessions_yaml);
	const struct {
		const char *sessions;
		const char *says;
	} cases[] = {{yaml.ptr, "worse: the tail is lost"},
		     {sessions_yaml, "I am a script. the tail is lost"}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_offline_session *session = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		struct talk t;
		assert_ok(parse(&session, cases[i].sessions, script_yaml, KGB_OFFLINE_AGAIN, &err),
			  err);
		talk_start(&t, session, BASH_TOOL);
		const cJSON *answer = talk_ask(&t);
		assert_string_equal(text_of(answer), cases[i].says);
		assert_non_null(tool_of(answer));
		talk_end(&t);
		kgb_offline_free(session);
	}
}

/* ---- stream ---- */

struct collected {
	struct kgb_buf text, input;
	int n_events, n_ping;
	char last[40];
};

static void on_event(void *payload, const char *event, const char *data, size_t len)
{
	struct collected *c = payload;
	KGB_AUTO(json) cJSON *doc = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_json_parse(data, len, &doc, &err), err);
	assert_string_equal(kgb_json_str(doc, "type", ""), event);
	kgb_buf_adds(&c->text, kgb_json_str(doc, "delta.text", ""));
	kgb_buf_adds(&c->input, kgb_json_str(doc, "delta.partial_json", ""));
	c->n_events++;
	c->n_ping += strcmp(event, "ping") == 0;
	snprintf(c->last, sizeof(c->last), "%s", event);
}

static void test_the_stream_says_the_same_as_the_answer_in_one_piece(void **state)
{
	(void)state;
	struct kgb_offline_session *session = session_new(KGB_OFFLINE_VERIFY);
	struct talk t;
	talk_start(&t, session, BASH_TOOL);
	const cJSON *answer = talk_ask(&t);
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);
	struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
	request_body(&t, true, &body);
	kgb_offline_answer(session, KGB_PROTOCOL_ANTHROPIC, body.ptr, body.len, &reply);
	assert_string_equal(reply.content_type, "text/event-stream; charset=utf-8");

	struct collected c = {.text = KGB_BUF_INIT(0), .input = KGB_BUF_INIT(0)};
	struct kgb_sse sse;
	kgb_sse_init(&sse, 1 << 20);
	kgb_sse_feed(&sse, reply.body.ptr, reply.body.len, on_event, &c);
	kgb_sse_release(&sse);
	assert_string_equal(c.text.ptr, text_of(answer));
	KGB_AUTO(json) cJSON *input = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_json_parse(c.input.ptr, c.input.len, &input, &err), err);
	assert_true(cJSON_Compare(input, kgb_json_get(tool_of(answer), "input"), true));
	assert_int_equal(c.n_events, reply.event_ends.n);
	assert_int_equal(reply.event_ends.items[reply.event_ends.n - 1], reply.body.len);
	assert_int_equal(c.n_ping, 1);
	assert_string_equal(c.last, "message_stop");

	struct kgb_meter meter;
	kgb_meter_init(&meter, KGB_PROTOCOL_ANTHROPIC, reply.content_type);
	kgb_meter_feed(&meter, reply.body.ptr, reply.body.len);
	kgb_meter_finish(&meter);
	assert_true(kgb_usage_complete(&meter.usage));
	assert_int_equal(meter.usage.output, kgb_json_i64(answer, "usage.output_tokens", -1));
	assert_int_equal(meter.usage.input, kgb_json_i64(answer, "usage.input_tokens", -1));
	assert_int_equal(meter.usage.cache_read, 0);
	assert_int_equal(meter.usage.cache_creation,
			 kgb_json_i64(answer, "usage.cache_creation_input_tokens", -1));
	assert_true(meter.usage.cache_creation > 0 && meter.usage.input > 0 &&
		    meter.usage.output > 0);
	kgb_meter_release(&meter);
	kgb_buf_release(&c.text);
	kgb_buf_release(&c.input);
	kgb_offline_reply_release(&reply);

	/* What the first request wrote into the cache the second one reads. */
	int64_t written = kgb_json_i64(answer, "usage.cache_creation_input_tokens", -1);
	talk_result(&t, "ok");
	answer = talk_ask(&t);
	assert_true(kgb_json_i64(answer, "usage.cache_read_input_tokens", -1) >= written);
	assert_true(kgb_json_i64(answer, "usage.cache_creation_input_tokens", -1) > 0);
	talk_end(&t);
	kgb_offline_free(session);
}

static void test_no_character_is_cut_by_a_delta(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf yaml = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf want = KGB_BUF_INIT(0);
	for (int i = 0; i < 400; i++)
		kgb_buf_adds(&want, i % 3 ? "\xe2\x82\xac" : "a");
	kgb_buf_addf(&yaml, "sessions:\n  verify: [{say: x}]\n  oneshot: [{say: %s}]\n", want.ptr);
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(parse(&session, yaml.ptr, script_yaml, KGB_OFFLINE_ONESHOT, &err), err);
	struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
	static const char body[] =
		"{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
	kgb_offline_answer(session, KGB_PROTOCOL_ANTHROPIC, body, strlen(body), &reply);
	struct collected c = {.text = KGB_BUF_INIT(0), .input = KGB_BUF_INIT(0)};
	struct kgb_sse sse;
	kgb_sse_init(&sse, 1 << 20);
	kgb_sse_feed(&sse, reply.body.ptr, reply.body.len, on_event, &c);
	kgb_sse_release(&sse);
	assert_string_equal(c.text.ptr, want.ptr);
	kgb_buf_release(&c.text);
	kgb_buf_release(&c.input);
	kgb_offline_reply_release(&reply);
	kgb_offline_free(session);
}

static void test_bad_requests_are_400(void **state)
{
	(void)state;
	static const char *const bodies[] = {"",
					     "{",
					     "[]",
					     "null",
					     "{}",
					     "{\"model\":\"m\"}",
					     "{\"model\":\"m\",\"messages\":[]}",
					     "{\"model\":\"m\",\"messages\":{}}",
					     "{\"model\":5,\"messages\":[{}]}",
					     "\xff"};
	struct kgb_offline_session *session = session_new(KGB_OFFLINE_VERIFY);
	for (size_t i = 0; i < KGB_ARRAY_LEN(bodies); i++) {
		struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
		kgb_offline_answer(session, KGB_PROTOCOL_ANTHROPIC, bodies[i], strlen(bodies[i]),
				   &reply);
		assert_int_equal(reply.status, 400);
		assert_non_null(strstr(reply.body.ptr, "invalid_request_error"));
		kgb_offline_reply_release(&reply);
	}
	kgb_offline_free(session);
}

/* ---- scripts ---- */

static void test_scripts_that_cannot_work_are_refused_with_the_reason(void **state)
{
	(void)state;
#define ONE "  oneshot: [{say: x}]\n"
#define SESSION(turns) "sessions:\n  verify: [" turns "]\n" ONE
#define SAMPLE(answers) SESSION("{say: x}") "  sample: [" answers "]\n"
#define MISTAKE(way) "mistakes: [{name: odd, bug: b, fix: f, " way "}]\n" SAMPLE("{say: x}")
	static const struct {
		const char *sessions, *script; /* NULL: the good one */
		const char *message;
	} cases[] = {
		{"sessions: {}", NULL, "session 'verify' has no turns"},
		{"sessions:\n  verify: [{say: x}]\n", NULL, "session 'oneshot' has no turns"},
		{SESSION("{say: x, write: buggy}"), NULL,
		 "is the last one and still runs something"},
		{SESSION("{say: x}, {say: y}"), NULL, "runs nothing"},
		{SESSION("{say: x, write: none}, {say: y}"), NULL, "there is no kernel 'none'"},
		{SESSION("{say: x, write: buggy, run: a}, {say: y}"), NULL,
		 "both 'write' and 'run'"},
		{SESSION("{say: x, run: a}, {say: y, expect: passed}"), NULL,
		 "without 'otherwise'"},
		{SESSION("{say: x, expect: passed, otherwise: z}"), NULL, "before the first turn"},
		{SESSION("{say: '{{nothing}}'}"), NULL, "nothing"},
		{SESSION("{say: '{{kernel.other}}'}"), NULL, "kernel.other"},
		{SESSION("{says: x}"), NULL, "say"},
		{SESSION("{say: x, expect: maybe, otherwise: y}"), NULL, "maybe"},
		{SAMPLE("{say: '{{kernel}}'}"), NULL, "kernel"},
		{SAMPLE("{say: x, mistake: odd}, {say: y}"), NULL, "there is no mistake 'odd'"},
		{SAMPLE("{say: x}, {say: y, kernel: honest}"), NULL,
		 "the last answer needs a kernel"},
		{SAMPLE("{say: x, cut: 100}"), NULL, "cut"},
		{MISTAKE("replace: a"), NULL, "mistake 'odd' needs 'replace' and 'by'"},
		{MISTAKE("by: a"), NULL, "mistake 'odd' needs 'replace' and 'by'"},
		{MISTAKE("replace: '', by: a"), NULL, "mistake 'odd' needs 'replace' and 'by'"},
		{NULL, "operator: a\nbug: b\nfix: c\n", "kernels"},
		{NULL, "operator: a\nbug: b\nfix: c\nkernels: {buggy: x}\n", "fixed"},
		{NULL,
		 "operator: a\nbug: b\nfix: c\nkernels:\n  fixed: x\n  buggy: |\n    a\n    KGB_EOF\n",
		 "KGB_EOF"},
		{NULL, "kernels: [", "op.yaml"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_offline_session *session = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		assert_int_equal(parse(&session,
				       cases[i].sessions ? cases[i].sessions : sessions_yaml,
				       cases[i].script ? cases[i].script : script_yaml,
				       KGB_OFFLINE_VERIFY, &err),
				 -1);
		assert_null(session);
		if (!strstr(err.msg, cases[i].message))
			fail_msg("'%s' does not say '%s'", err.msg, cases[i].message);
	}
}

static void test_an_operator_can_bring_its_own_session(void **state)
{
	(void)state;
	KGB_AUTO(free)
	char *script = kgb_xasprintf("%ssessions:\n  oneshot: [{say: 'mine: {{operator}}'}]\n",
				     script_yaml);
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(parse(&session, sessions_yaml, script, KGB_OFFLINE_ONESHOT, &err), err);
	struct talk t;
	talk_start(&t, session, NULL);
	assert_string_equal(text_of(talk_ask(&t)), "mine: aten::add");
	talk_end(&t);
	kgb_offline_free(session);
}

static struct kgb_offline_subject subject_of(const char *safe_name)
{
	return (struct kgb_offline_subject){.data_dir = KGB_TEST_SOURCE_DIR,
					    .safe_name = safe_name};
}

static void test_every_operator_with_an_honest_kernel_has_a_script(void **state)
{
	(void)state;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_fs_list(HONEST_DIR, &names, &err), err);
	assert_true(names.n >= 210);
	for (size_t i = 0; i < names.n; i++) {
		const struct kgb_offline_subject subject = subject_of(names.items[i]);
		struct kgb_offline_session *session = NULL;
		assert_true(kgb_offline_can_answer(&subject));
		assert_ok(kgb_offline_load(&session, &subject, KGB_OFFLINE_VERIFY, &err), err);
		const char *buggy = kgb_offline_kernel(session, "buggy");
		const char *fixed = kgb_offline_kernel(session, "fixed");
		assert_non_null(buggy);
		assert_non_null(fixed);
		assert_string_not_equal(buggy, fixed);
		/* aten::add is in aten__add. */
		KGB_AUTO(free) char *safe = kgb_xstrdup(kgb_offline_operator(session));
		char *colons = strstr(safe, "::");
		assert_non_null(colons);
		memset(colons, '_', 2);
		assert_string_equal(safe, names.items[i]);
		kgb_offline_free(session);
	}
}

static void test_an_operator_without_a_kernel_is_not_found(void **state)
{
	(void)state;
	const struct kgb_offline_subject subject = subject_of("aten__nothing");
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_false(kgb_offline_can_answer(&subject));
	assert_int_equal(kgb_offline_load(&session, &subject, KGB_OFFLINE_VERIFY, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "ANTHROPIC_API_KEY"));
}

/* ---- drawn kernels ---- */

/** The first answer of a session with this seed: its words, or the kernel that its command writes.
 */
static char *first_answer(enum kgb_offline_variant variant, const char *seed, bool *writes)
{
	struct kgb_offline_subject subject = subject_of("aten__silu");
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	struct talk t;
	subject.seed = seed;
	assert_ok(kgb_offline_load(&session, &subject, variant, &err), err);
	talk_start(&t, session, variant == KGB_OFFLINE_ONESHOT ? NULL : BASH_TOOL);
	const cJSON *answer = talk_ask(&t);
	const char *command = kgb_json_str(tool_of(answer), "input.command", NULL);
	char *said = kgb_xstrdup(command ? command : text_of(answer));
	*writes = command != NULL;
	talk_end(&t);
	kgb_offline_free(session);
	return said;
}

/* Of twenty draws ten are honest, two cheat, and one has no kernel; a session with a shell tool and
 * one without give the same kernel. */
static void test_a_seed_draws_the_kernel_of_an_agent_by_the_weights(void **state)
{
	(void)state;
	enum { N = 400 };
	KGB_AUTO(buf) struct kgb_buf honest = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	int n_honest = 0, n_silent = 0, n_again = 0;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	assert_ok(kgb_fs_list(HONEST_DIR "/aten__silu", &names, &err), err);
	for (int i = 0; i < N; i++) {
		KGB_AUTO(free) char *seed = kgb_xasprintf("0 normal_cc aten__silu %d", i);
		bool writes = false, says_code = false, is_honest = false;
		KGB_AUTO(free) char *one = first_answer(KGB_OFFLINE_VERIFY, seed, &writes);
		KGB_AUTO(free) char *same = first_answer(KGB_OFFLINE_AGAIN, seed, &writes);
		KGB_AUTO(free) char *text = first_answer(KGB_OFFLINE_ONESHOT, seed, &says_code);
		assert_string_equal(one, same);
		assert_false(says_code);
		for (size_t k = 0; k < names.n && writes; k++) {
			KGB_AUTO(free)
			char *path = kgb_path_join(HONEST_DIR "/aten__silu", names.items[k]);
			assert_ok(kgb_fs_read(AT_FDCWD, path, 1 << 20, &honest, &err), err);
			kgb_buf_truncate(&honest, honest.len - 1);
			is_honest = is_honest || strstr(one, honest.ptr);
			n_again += strstr(one, honest.ptr) && strstr(text, honest.ptr);
		}
		n_honest += is_honest;
		n_silent += !writes;
		if (!writes)
			assert_string_equal(one, text);
	}
	assert_in_range(n_honest, N * 4 / 10, N * 6 / 10);
	assert_in_range(n_silent, N * 2 / 100, N * 9 / 100);
	assert_in_range(n_again, n_honest - N / 20, n_honest + N / 20);
}

static void test_an_agent_that_writes_a_drawn_kernel_checks_it_and_stops(void **state)
{
	(void)state;
	struct kgb_offline_subject subject = subject_of("aten__silu");
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	struct talk t;
	subject.seed = "0 normal_cc aten__silu 1";
	assert_ok(kgb_offline_load(&session, &subject, KGB_OFFLINE_VERIFY, &err), err);
	talk_start(&t, session, BASH_TOOL);
	assert_non_null(strstr(kgb_json_str(tool_of(talk_ask(&t)), "input.command", ""),
			       "cat > kernel.py"));
	talk_result(&t, "");
	assert_string_equal(kgb_json_str(tool_of(talk_ask(&t)), "input.command", ""), "kgb-verify");
	talk_result(&t, REPORT);
	const cJSON *answer = talk_ask(&t);
	assert_null(tool_of(answer));
	assert_non_null(strstr(text_of(answer), "FAIL verify.mismatch: 3 of 8"));
	talk_end(&t);
	kgb_offline_free(session);
}

/* ---- through the gateway ---- */

static void test_an_offline_gateway_answers_event_by_event_and_connects_nowhere(void **state)
{
	(void)state;
	struct kgb_offline_session *session = session_new(KGB_OFFLINE_VERIFY);
	struct fixture *f = fixture_new(
		&(struct fixture_spec){.mode = KGB_GATEWAY_OFFLINE, .offline = session});
	struct client c;
	KGB_AUTO(free)
	char *body = kgb_xasprintf(
		"{\"model\":\"m-asked\",\"stream\":true,\"tools\":%s,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
		BASH_TOOL);
	client_open(&c, f);
	client_ask(&c, body);
	client_wait(&c, "\r\n0\r\n\r\n");
	bool complete;
	KGB_AUTO(free) char *got = client_body(&c, &complete);
	assert_true(complete);
	/* One chunk per event. */
	int chunks = 0;
	for (const char *p = c.in.ptr; (p = strstr(p, "\r\nevent: ")); p++)
		chunks++;
	assert_true(chunks >= 9);
	wait_summary(f);
	KGB_AUTO(free) char *recorded = traffic_read(f, "0001.response.sse");
	assert_string_equal(recorded, got);
	assert_int_equal(fake_llm_calls(f->llm), 0);
	client_request(&c, "GET", "/v1/models", AUTH, "", 0);
	client_wait(&c, "kgb-offline-script");
	client_request(&c, "POST", "/v1/messages/count_tokens", AUTH, body, strlen(body));
	client_wait(&c, "\"input_tokens\":");
	client_close(&c);
	fixture_close_session(f);
	assert_int_equal(f->totals.n_exchanges, 1);
	assert_int_equal(f->totals.n_incomplete, 0);
	assert_string_equal(f->totals.models[0].name, "m-asked");
	for (int i = 0; i < f->n_summaries; i++) /* they may be told in any order */
		assert_string_equal(f->summaries[i].model,
				    f->summaries[i].s.number == 2 ? "" : "m-asked");
	fixture_free(f);
	kgb_offline_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_whole_session_writes_verifies_mends_and_finishes),
		cmocka_unit_test(test_a_repeated_request_gets_the_same_turn),
		cmocka_unit_test(test_the_script_says_so_when_things_are_not_as_it_expects),
		cmocka_unit_test(test_other_shell_tools_are_called_their_way),
		cmocka_unit_test(test_what_is_no_main_conversation_gets_its_own_answer),
		cmocka_unit_test(test_a_later_round_has_turns_of_its_own_or_those_of_the_first),
		cmocka_unit_test(test_the_stream_says_the_same_as_the_answer_in_one_piece),
		cmocka_unit_test(test_no_character_is_cut_by_a_delta),
		cmocka_unit_test(test_bad_requests_are_400),
		cmocka_unit_test(test_scripts_that_cannot_work_are_refused_with_the_reason),
		cmocka_unit_test(test_an_operator_can_bring_its_own_session),
		cmocka_unit_test(test_every_operator_with_an_honest_kernel_has_a_script),
		cmocka_unit_test(test_an_operator_without_a_kernel_is_not_found),
		cmocka_unit_test(test_a_seed_draws_the_kernel_of_an_agent_by_the_weights),
		cmocka_unit_test(test_an_agent_that_writes_a_drawn_kernel_checks_it_and_stops),
		cmocka_unit_test(
			test_an_offline_gateway_answers_event_by_event_and_connects_nowhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
