/* SPDX-License-Identifier: MIT */
#include "sandbox/client/answer.h"

#include "base/str.h"
#include "tests/unit/base/support.h"

#define MESSAGES KGB_PROTOCOL_ANTHROPIC
#define CHAT KGB_PROTOCOL_CHAT
#define RESPONSES KGB_PROTOCOL_RESPONSES
#define SSE "text/event-stream"
#define JSON "application/json"
#define EVENT(json) "data: " json "\n\n"
#define NAMED(name, members) "event: " name "\ndata: {\"type\":\"" name "\"," members "}\n\n"

#define BEGIN                                                                                    \
	NAMED("message_start", "\"message\":{\"id\":\"i\",\"content\":[],\"stop_reason\":null}") \
	NAMED("content_block_start",                                                             \
	      "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}")
#define TEXT(text)                   \
	NAMED("content_block_delta", \
	      "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define END(reason)                                                          \
	NAMED("message_delta", "\"delta\":{\"stop_reason\":\"" reason "\"}") \
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

#define DELTA(delta) \
	EVENT("{\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":null}]}")
#define FINISH(reason)                                                                       \
	EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}") \
	EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}")
#define DONE "data: [DONE]\n\n"
#define MESSAGE(message, reason) \
	"{\"choices\":[{\"index\":0,\"message\":{" message "},\"finish_reason\":\"" reason "\"}]}"

#define OUTPUT_TEXT(text) \
	"{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}"
#define RESPONSE(status, output) \
	"{\"object\":\"response\",\"status\":\"" status "\",\"error\":null,\"output\":[" output "]}"
#define RESPONSE_DELTA(text) NAMED("response.output_text.delta", "\"delta\":\"" text "\"")

struct answer_case {
	const char *name;
	enum kgb_protocol protocol;
	int status;
	const char *content_type, *bytes;
	enum kgb_answer_finish finish;
	const char *text, *thinking, *error;
};

static const struct answer_case cases[] = {
	/* Messages */
	{"messages", MESSAGES, 200, SSE, BEGIN TEXT("a\\n") TEXT("\xc3\xa9") END("end_turn"),
	 KGB_ANSWER_STOPPED, "a\n\xc3\xa9", "", ""},
	{"messages in one piece", MESSAGES, 200, JSON,
	 "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"},"
	 "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}],\"stop_reason\":\"end_turn\"}",
	 KGB_ANSWER_STOPPED, "ab", "hm", ""},
	{"thinking of messages", MESSAGES, 200, SSE,
	 NAMED("content_block_start", "\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}")
		 NAMED("content_block_delta",
		       "\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}")
			 NAMED("content_block_delta",
			       "\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s\"}")
				 TEXT("a") END("stop_sequence"),
	 KGB_ANSWER_STOPPED, "a", "hm", ""},
	{"text at the start of a block", MESSAGES, 200, SSE,
	 NAMED("content_block_start", "\"content_block\":{\"type\":\"text\",\"text\":\"a\"}")
		 TEXT("b") END("end_turn"),
	 KGB_ANSWER_STOPPED, "ab", "", ""},
	{"messages truncated", MESSAGES, 200, SSE, BEGIN TEXT("a") END("max_tokens"),
	 KGB_ANSWER_TRUNCATED, "a", "", ""},
	{"messages at the end of the context", MESSAGES, 200, SSE,
	 BEGIN TEXT("a") END("model_context_window_exceeded"), KGB_ANSWER_TRUNCATED, "a", "", ""},
	{"messages refused", MESSAGES, 200, SSE, BEGIN TEXT("a") END("refusal"), KGB_ANSWER_REFUSED,
	 "a", "", ""},
	{"messages with pings and unknown events", MESSAGES, 200, SSE,
	 BEGIN ": comment\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" TEXT("a")
		 NAMED("new_event", "\"x\":[1,{\"text\":\"no\"}]") END("end_turn"),
	 KGB_ANSWER_STOPPED, "a", "", ""},
	{"messages with an error event", MESSAGES, 200, SSE,
	 BEGIN TEXT("a") NAMED(
		 "error", "\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"),
	 KGB_ANSWER_BROKEN, "a", "", "Overloaded"},
	{"messages cut before the end", MESSAGES, 200, SSE, BEGIN TEXT("a"), KGB_ANSWER_BROKEN, "a",
	 "", "the answer ends before the model's end"},
	{"messages cut within an event", MESSAGES, 200, SSE,
	 BEGIN TEXT("a") "event: message_delta\ndata: {\"type\":\"message_delta\"",
	 KGB_ANSWER_BROKEN, "a", "", "the answer ends before the model's end"},
	/* Chat Completions */
	{"chat", CHAT, 200, SSE,
	 DELTA("\"role\":\"assistant\",\"content\":\"\"") DELTA("\"content\":\"a\"")
		 DELTA("\"content\":\"b\"") FINISH("stop") DONE,
	 KGB_ANSWER_STOPPED, "ab", "", ""},
	{"chat in one piece", CHAT, 200, JSON,
	 MESSAGE("\"role\":\"assistant\",\"content\":\"a\",\"refusal\":null", "stop"),
	 KGB_ANSWER_STOPPED, "a", "", ""},
	{"chat without content", CHAT, 200, JSON, MESSAGE("\"content\":null", "stop"),
	 KGB_ANSWER_STOPPED, "", "", ""},
	{"chat without usage and [DONE]", CHAT, 200, SSE,
	 DELTA("\"content\":\"a\"") EVENT(
		 "{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"eos\"}],\"usage\":null}"),
	 KGB_ANSWER_STOPPED, "ab", "", ""},
	{"choices in another order", CHAT, 200, JSON,
	 "{\"choices\":[{\"index\":2,\"message\":{\"content\":\"c\"},\"finish_reason\":\"stop\"},"
	 "{\"index\":0,\"message\":{\"content\":\"a\"},\"finish_reason\":\"length\"},"
	 "{\"index\":1,\"message\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}",
	 KGB_ANSWER_TRUNCATED, "a", "", ""},
	{"events of choices in another order", CHAT, 200, SSE,
	 EVENT("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0,\"delta\":{\"content\":\"a\"}}]}")
		 EVENT("{\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}")
			 DELTA("\"content\":\"b\"") FINISH("stop") DONE,
	 KGB_ANSWER_STOPPED, "ab", "", ""},
	{"chat truncated", CHAT, 200, SSE, DELTA("\"content\":\"a\"") FINISH("length") DONE,
	 KGB_ANSWER_TRUNCATED, "a", "", ""},
	{"chat refused by the filter", CHAT, 200, SSE, FINISH("content_filter") DONE,
	 KGB_ANSWER_REFUSED, "", "", ""},
	{"chat refused by the model", CHAT, 200, SSE,
	 DELTA("\"refusal\":\"I \"") DELTA("\"refusal\":\"cannot\"") FINISH("stop") DONE,
	 KGB_ANSWER_REFUSED, "", "", ""},
	{"chat refused by the model, in one piece", CHAT, 200, JSON,
	 MESSAGE("\"content\":null,\"refusal\":\"I cannot\"", "stop"), KGB_ANSWER_REFUSED, "", "",
	 ""},
	{"an empty refusal is none", CHAT, 200, JSON,
	 MESSAGE("\"content\":\"a\",\"refusal\":\"\"", "stop"), KGB_ANSWER_STOPPED, "a", "", ""},
	{"reasoning under both names", CHAT, 200, SSE,
	 DELTA("\"reasoning_content\":\"h\",\"reasoning\":\"h\"") DELTA("\"reasoning\":\"m\"")
		 DELTA("\"content\":\"a\"") FINISH("stop") DONE,
	 KGB_ANSWER_STOPPED, "a", "hm", ""},
	{"reasoning under an empty name", CHAT, 200, JSON,
	 MESSAGE("\"reasoning_content\":\"\",\"reasoning\":\"hm\",\"content\":\"a\"", "stop"),
	 KGB_ANSWER_STOPPED, "a", "hm", ""},
	{"details of reasoning", CHAT, 200, SSE,
	 DELTA("\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"h\"},{\"type\":\"reasoning.encrypted\",\"data\":\"x\"}]")
		 DELTA("\"reasoning_details\":[{\"type\":\"reasoning.summary\",\"summary\":\"m\"}],\"content\":\"\"")
			 DELTA("\"content\":\"a\"") FINISH("stop") DONE,
	 KGB_ANSWER_STOPPED, "a", "hm", ""},
	{"details of reasoning beside its text", CHAT, 200, JSON,
	 MESSAGE("\"reasoning\":\"hm\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"hm\"}],\"content\":\"a\"",
		 "stop"),
	 KGB_ANSWER_STOPPED, "a", "hm", ""},
	{"content in parts", CHAT, 200, JSON,
	 MESSAGE("\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},"
		 "{\"type\":\"text\",\"text\":\"a\"}]",
		 "stop"),
	 KGB_ANSWER_STOPPED, "a", "hm", ""},
	{"chat cut before the end", CHAT, 200, SSE, DELTA("\"content\":\"a\""), KGB_ANSWER_BROKEN,
	 "a", "", "the answer ends before the model's end"},
	{"[DONE] is no end of the model", CHAT, 200, SSE, DELTA("\"content\":\"a\"") DONE,
	 KGB_ANSWER_BROKEN, "a", "", "the answer ends before the model's end"},
	{"an error among the events", CHAT, 200, SSE,
	 DELTA("\"content\":\"a\"")
		 EVENT("{\"error\":{\"message\":\"no room\\nsecond line\",\"code\":500}}") DONE,
	 KGB_ANSWER_BROKEN, "a", "", "no room"},
	{"an error after the end", CHAT, 200, SSE,
	 DELTA("\"content\":\"a\"") FINISH("stop") EVENT("{\"error\":{\"message\":\"\"}}") DONE,
	 KGB_ANSWER_BROKEN, "a", "", "an error without a message"},
	{"half an event of JSON", CHAT, 200, SSE,
	 DELTA("\"content\":\"a\"") EVENT("{\"choices\":[{") FINISH("stop"), KGB_ANSWER_BROKEN, "a",
	 "", "the answer of HTTP status 200 is not JSON: "},
	{"CRLF", CHAT, 200, SSE "; charset=utf-8",
	 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\r\\n\"}}]}\r\n\r\n"
	 "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n",
	 KGB_ANSWER_STOPPED, "a\r\n", "", ""},
	{"a content type in capitals", CHAT, 200, "Text/Event-Stream",
	 DELTA("\"content\":\"a\"") FINISH("stop"), KGB_ANSWER_STOPPED, "a", "", ""},
	{"a stream was asked for, and the answer is in one piece", CHAT, 200, JSON,
	 " \n" MESSAGE("\"content\":\"a\"", "stop") "\n", KGB_ANSWER_STOPPED, "a", "", ""},
	{"no choices", CHAT, 200, JSON, "{\"choices\":[],\"usage\":null}", KGB_ANSWER_BROKEN, "",
	 "", "the answer ends before the model's end"},
	{"an empty object", CHAT, 200, JSON, "{}", KGB_ANSWER_BROKEN, "", "",
	 "the answer ends before the model's end"},
	{"an array", CHAT, 200, JSON, "[]", KGB_ANSWER_BROKEN, "", "",
	 "the answer ends before the model's end"},
	{"wrong types everywhere", CHAT, 200, JSON,
	 "{\"choices\":[1,null,[],{\"index\":\"0\",\"message\":[],\"finish_reason\":7}],\"error\":null}",
	 KGB_ANSWER_BROKEN, "", "", "the answer ends before the model's end"},
	/* Responses */
	{"responses", RESPONSES, 200, SSE,
	 NAMED("response.created", "\"response\":{\"status\":\"in_progress\",\"error\":null}")
		 RESPONSE_DELTA("a") RESPONSE_DELTA("b") NAMED(
			 "response.completed",
			 "\"response\":" RESPONSE(
				 "completed",
				 "{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}]}," OUTPUT_TEXT(
					 "ab"))),
	 KGB_ANSWER_STOPPED, "ab", "hm", ""},
	{"responses in one piece", RESPONSES, 200, JSON,
	 RESPONSE("completed", OUTPUT_TEXT("a") "," OUTPUT_TEXT("b")), KGB_ANSWER_STOPPED, "ab", "",
	 ""},
	{"reasoning of open models", RESPONSES, 200, JSON,
	 RESPONSE(
		 "completed",
		 "{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]}," OUTPUT_TEXT(
			 "a")),
	 KGB_ANSWER_STOPPED, "a", "hm", ""},
	{"responses truncated", RESPONSES, 200, SSE,
	 NAMED("response.incomplete",
	       "\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[" OUTPUT_TEXT(
		       "a") "]}"),
	 KGB_ANSWER_TRUNCATED, "a", "", ""},
	{"responses refused by the filter", RESPONSES, 200, JSON,
	 "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"},\"output\":[]}",
	 KGB_ANSWER_REFUSED, "", "", ""},
	{"responses refused by the model", RESPONSES, 200, JSON,
	 RESPONSE(
		 "completed",
		 "{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"I cannot\"}]}"),
	 KGB_ANSWER_REFUSED, "", "", ""},
	{"responses failed", RESPONSES, 200, SSE,
	 RESPONSE_DELTA("a") NAMED(
		 "response.failed",
		 "\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"no room\"},\"output\":[]}"),
	 KGB_ANSWER_BROKEN, "", "", "no room"},
	{"responses with an error event", RESPONSES, 200, SSE,
	 RESPONSE_DELTA("a")
		 NAMED("error",
		       "\"code\":\"rate_limit_exceeded\",\"message\":\"too fast\",\"param\":null"),
	 KGB_ANSWER_BROKEN, "", "", "too fast"},
	{"responses cut before the end", RESPONSES, 200, SSE, RESPONSE_DELTA("a"),
	 KGB_ANSWER_BROKEN, "", "", "the answer ends before the model's end"},
	/* Errors */
	{"nothing at all", CHAT, 200, JSON, "", KGB_ANSWER_BROKEN, "", "",
	 "the answer of HTTP status 200 is not JSON: "},
	{"an empty stream", CHAT, 200, SSE, "", KGB_ANSWER_BROKEN, "", "",
	 "the answer ends before the model's end"},
	{"HTML", CHAT, 200, "text/html", "<html><body>Sign in</body></html>", KGB_ANSWER_BROKEN, "",
	 "", "the answer of HTTP status 200 is not JSON: "},
	{"HTML that says it is a stream", MESSAGES, 200, SSE, "<html>\n\n<body>\n\n",
	 KGB_ANSWER_BROKEN, "", "", "the answer ends before the model's end"},
	{"half a JSON", CHAT, 200, JSON, "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"a",
	 KGB_ANSWER_BROKEN, "", "", "the answer of HTTP status 200 is not JSON: "},
	{"no content type", CHAT, 200, NULL, MESSAGE("\"content\":\"a\"", "stop"),
	 KGB_ANSWER_STOPPED, "a", "", ""},
	{"an error under status 200", MESSAGES, 200, JSON,
	 "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal server error\"}}",
	 KGB_ANSWER_BROKEN, "", "", "Internal server error"},
	{"an error of an object that is one", CHAT, 200, JSON,
	 "{\"object\":\"error\",\"message\":\"no such model\",\"code\":404}", KGB_ANSWER_BROKEN, "",
	 "", "no such model"},
	{"an error that is a text", CHAT, 400, JSON, "{\"error\":\"temperature is not taken\"}",
	 KGB_ANSWER_BROKEN, "", "", "temperature is not taken"},
	{"an error without a message", CHAT, 500, JSON, "{\"error\":{}}", KGB_ANSWER_BROKEN, "", "",
	 "an error without a message"},
	{"no error beside an answer", CHAT, 200, JSON,
	 "{\"error\":null,\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}",
	 KGB_ANSWER_STOPPED, "a", "", ""},
	{"a detail", CHAT, 404, JSON, "{\"detail\":\"Not Found\"}", KGB_ANSWER_BROKEN, "", "",
	 "\"Not Found\""},
	{"a list of details", CHAT, 422, JSON,
	 "{\"detail\":[{\"loc\":[\"body\",\"seed\"],\"msg\":\"extra\"}]}", KGB_ANSWER_BROKEN, "",
	 "", "[{\"loc\":[\"body\",\"seed\"],\"msg\":\"extra\"}]"},
	{"an answer under another status is none", CHAT, 503, JSON,
	 MESSAGE("\"content\":\"a\"", "stop"), KGB_ANSWER_BROKEN, "", "", "HTTP status 503"},
	{"HTML under another status", CHAT, 502, "text/html", "<html>Bad Gateway</html>",
	 KGB_ANSWER_BROKEN, "", "", "the answer of HTTP status 502 is not JSON: "},
};

/** Bytes that arrive in pieces of `piece`, the first one of `first`. */
static void read_answer(struct kgb_answer *answer, const struct answer_case *c, size_t first,
			size_t piece)
{
	const size_t len = strlen(c->bytes);
	kgb_answer_init(answer, c->protocol, 1);
	kgb_answer_head(answer, c->status, c->content_type);
	for (size_t at = 0; at < len;) {
		size_t n = at == 0 && first > 0 ? first : piece;
		n = n < len - at ? n : len - at;
		kgb_answer_feed(answer, c->bytes + at, n);
		at += n;
	}
	kgb_answer_end(answer, NULL);
}

static void check(const struct answer_case *c, const struct kgb_answer *answer, size_t first,
		  size_t piece)
{
	/* Errors of the JSON parser go on with its own words. */
	const size_t len = kgb_str_ends(c->error, ": ") ? strlen(c->error) : sizeof(answer->error);
	if (answer->choices[0].finish != c->finish ||
	    !kgb_str_eq(answer->choices[0].text.ptr, c->text) ||
	    !kgb_str_eq(answer->choices[0].thinking.ptr, c->thinking) ||
	    strncmp(answer->error, c->error, len) != 0)
		fail_msg("%s (cut at %zu, then each %zu): %s, text '%s', thinking '%s', error '%s'",
			 c->name, first, piece, kgb_answer_finish_name(answer->choices[0].finish),
			 answer->choices[0].text.ptr, answer->choices[0].thinking.ptr,
			 answer->error);
}

static void test_answers_are_read_and_classified_however_they_are_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct answer_case *c = &cases[i];
		const size_t len = strlen(c->bytes);
		struct kgb_answer answer;
		for (size_t first = 0; first <= len; first++) {
			read_answer(&answer, c, first, len + 1);
			check(c, &answer, first, len + 1);
			kgb_answer_release(&answer);
		}
		read_answer(&answer, c, 0, 1);
		check(c, &answer, 0, 1);
		kgb_answer_release(&answer);
	}
}

/* A stream that has been answered whole, but for its last bytes: never more than what came, and
 * stopped only after the model's own end. */
static void test_a_stream_is_over_only_after_the_models_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct answer_case *c = &cases[i];
		const size_t len = strlen(c->bytes);
		bool was_over = false;
		for (size_t n = 0; c->finish != KGB_ANSWER_BROKEN && n <= len; n++) {
			struct kgb_answer answer;
			kgb_answer_init(&answer, c->protocol, 1);
			kgb_answer_head(&answer, c->status, c->content_type);
			kgb_answer_feed(&answer, c->bytes, n);
			kgb_answer_end(&answer, NULL);
			const bool is_over = answer.choices[0].finish != KGB_ANSWER_BROKEN;
			assert_true(is_over || answer.error[0]);
			assert_true(is_over || !was_over);
			assert_int_equal(strncmp(answer.choices[0].text.ptr, c->text,
						 answer.choices[0].text.len),
					 0);
			was_over = is_over;
			kgb_answer_release(&answer);
		}
	}
}

static void test_a_transfer_that_fails_is_no_answer(void **state)
{
	(void)state;
	for (int status = 0; status <= 200; status += 200) {
		struct kgb_answer answer;
		static const char bytes[] = MESSAGE("\"content\":\"a\"", "stop");
		kgb_answer_init(&answer, CHAT, 1);
		if (status)
			kgb_answer_head(&answer, status, JSON);
		kgb_answer_feed(&answer, bytes, status ? strlen(bytes) : 0);
		kgb_answer_end(&answer, "connection reset\r\nby peer");
		assert_int_equal(answer.choices[0].finish, KGB_ANSWER_BROKEN);
		assert_int_equal(answer.status, status);
		assert_string_equal(answer.error, "connection reset");
		kgb_answer_release(&answer);
	}
}

/* Servers of open models complete every response, whether its end came or the limit of tokens. */
static void test_a_response_that_used_all_its_tokens_is_truncated(void **state)
{
	(void)state;
	static const struct {
		int64_t max_tokens;
		enum kgb_answer_finish finish;
	} limits[] = {{0, KGB_ANSWER_STOPPED},
		      {6, KGB_ANSWER_STOPPED},
		      {5, KGB_ANSWER_TRUNCATED},
		      {4, KGB_ANSWER_TRUNCATED}};
	static const char *const bytes[] = {
		"{\"status\":\"completed\",\"usage\":{\"output_tokens\":5},\"output\":[" OUTPUT_TEXT(
			"a") "]}",
		NAMED("response.completed",
		      "\"response\":{\"status\":\"completed\",\"usage\":{\"output_tokens\":5},\"output\":[" OUTPUT_TEXT(
			      "a") "]}")};
	for (size_t i = 0; i < KGB_ARRAY_LEN(limits); i++) {
		for (size_t n = 0; n < KGB_ARRAY_LEN(bytes); n++) {
			struct kgb_answer answer;
			kgb_answer_init(&answer, RESPONSES, 1);
			answer.max_tokens = limits[i].max_tokens;
			kgb_answer_head(&answer, 200, n ? SSE : JSON);
			kgb_answer_feed(&answer, bytes[n], strlen(bytes[n]));
			kgb_answer_end(&answer, NULL);
			assert_int_equal(answer.choices[0].finish, limits[i].finish);
			assert_string_equal(answer.choices[0].text.ptr, "a");
			kgb_answer_release(&answer);
		}
	}
}

static void test_thinking_in_the_text_is_kept_apart(void **state)
{
	(void)state;
	static const char bytes[] = DELTA("\"content\":\"<thi\"") DELTA("\"content\":\"nk>h\"")
		DELTA("\"content\":\"m</thi\"") DELTA("\"content\":\"nk>\\n\\na\"") FINISH("stop")
			DONE;
	for (size_t piece = 1; piece <= sizeof(bytes); piece++) {
		struct kgb_answer answer;
		kgb_answer_init(&answer, CHAT, 1);
		kgb_answer_head(&answer, 200, SSE);
		for (size_t at = 0; at < strlen(bytes); at += piece)
			kgb_answer_feed(&answer, bytes + at,
					strlen(bytes) - at < piece ? strlen(bytes) - at : piece);
		kgb_answer_end(&answer, NULL);
		assert_int_equal(answer.choices[0].finish, KGB_ANSWER_STOPPED);
		assert_string_equal(answer.choices[0].text.ptr, "a");
		assert_string_equal(answer.choices[0].thinking.ptr, "hm");
		kgb_answer_release(&answer);
	}
}

static void test_an_error_is_cut_between_characters(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_answer answer;
	kgb_buf_adds(&text, "{\"error\":\"x");
	for (int i = 0; i < 1000; i++)
		kgb_buf_adds(&text, "\xc3\xa9");
	kgb_buf_adds(&text, "\"}");
	kgb_answer_init(&answer, CHAT, 1);
	kgb_answer_head(&answer, 400, JSON);
	kgb_answer_feed(&answer, text.ptr, text.len);
	kgb_answer_end(&answer, NULL);
	assert_int_equal(strlen(answer.error), sizeof(answer.error) - 1);
	assert_int_equal(kgb_utf8_valid(answer.error, strlen(answer.error)), strlen(answer.error));
	kgb_answer_release(&answer);
}

#define CHUNK(choices) EVENT("{\"choices\":[" choices "]}")
#define WHOLE_CHOICE(index, text) \
	"{" index "\"message\":{\"content\":\"" text "\"},\"finish_reason\":\"stop\"}"
#define STREAMED(index, text) "{\"index\":" index ",\"delta\":{\"content\":\"" text "\"}}"
#define OVER(index) "{\"index\":" index ",\"delta\":{},\"finish_reason\":\"stop\"}"

/* Requests for three choices. A text of NULL: the choice is broken. */
static const struct {
	const char *name, *content_type, *bytes;
	const char *failure; /* of the transfer */
	const char *texts[3];
	bool is_misnumbered;
	const char *error;
} sets[] = {
	{"in another order",
	 JSON,
	 "{\"choices\":[" WHOLE_CHOICE("\"index\":2,", "c") "," WHOLE_CHOICE(
		 "\"index\":0,", "a") "," WHOLE_CHOICE("\"index\":1,", "b") "]}",
	 NULL,
	 {"a", "b", "c"},
	 false,
	 ""},
	{"indices repeated: the position stands",
	 JSON,
	 "{\"choices\":[" WHOLE_CHOICE("\"index\":0,", "a") "," WHOLE_CHOICE(
		 "\"index\":0,", "b") "," WHOLE_CHOICE("\"index\":0,", "c") "]}",
	 NULL,
	 {"a", "b", "c"},
	 true,
	 ""},
	{"indices missing: the position stands",
	 JSON,
	 "{\"choices\":[" WHOLE_CHOICE("", "a") "," WHOLE_CHOICE("", "b") "," WHOLE_CHOICE(
		 "", "c") "]}",
	 NULL,
	 {"a", "b", "c"},
	 true,
	 ""},
	{"n is ignored",
	 JSON,
	 "{\"choices\":[" WHOLE_CHOICE("\"index\":0,", "a") "]}",
	 NULL,
	 {"a", NULL, NULL},
	 false,
	 "the answer ends before the model's end"},
	{"fewer, and one of another index",
	 JSON,
	 "{\"choices\":[" WHOLE_CHOICE("\"index\":2,", "c") "," WHOLE_CHOICE("\"index\":7,",
									     "h") "]}",
	 NULL,
	 {NULL, NULL, "c"},
	 false,
	 "the answer ends before the model's end"},
	{"interleaved",
	 SSE,
	 CHUNK(STREAMED("1", "b") "," STREAMED("0", "a")) CHUNK(STREAMED("2", "c")) CHUNK(OVER("1"))
		 CHUNK(STREAMED("0", "a")) CHUNK(STREAMED("2", "c")) CHUNK(OVER("2") "," OVER("0"))
			 DONE,
	 NULL,
	 {"aa", "b", "cc"},
	 false,
	 ""},
	{"one index for all in a stream",
	 SSE,
	 CHUNK(STREAMED("0", "a")) CHUNK(OVER("0")) CHUNK(STREAMED("0", "b")) CHUNK(OVER("0")) DONE,
	 NULL,
	 {NULL, NULL, NULL},
	 true,
	 "a choice goes on after its end"},
	{"a stream cut after one choice",
	 SSE,
	 CHUNK(STREAMED("1", "b")) CHUNK(OVER("1")) CHUNK(STREAMED("0", "a")),
	 "connection reset",
	 {NULL, "b", NULL},
	 false,
	 "connection reset"},
	{"a stream cut after all choices",
	 SSE,
	 CHUNK(OVER("0")) CHUNK(OVER("2")) CHUNK(OVER("1")),
	 "connection reset",
	 {"", "", ""},
	 false,
	 ""},
	{"an error after one choice",
	 SSE,
	 CHUNK(STREAMED("1", "b")) CHUNK(OVER("1")) EVENT("{\"error\":{\"message\":\"no room\"}}"),
	 NULL,
	 {NULL, NULL, NULL},
	 false,
	 "no room"},
};

static void test_choices_are_told_apart_and_those_that_came_are_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(sets); i++) {
		struct kgb_answer answer;
		kgb_answer_init(&answer, CHAT, 3);
		kgb_answer_head(&answer, 200, sets[i].content_type);
		kgb_answer_feed(&answer, sets[i].bytes, strlen(sets[i].bytes));
		kgb_answer_end(&answer, sets[i].failure);
		for (int k = 0; k < 3; k++) {
			const struct kgb_choice *choice = &answer.choices[k];
			const bool is_there = choice->finish == KGB_ANSWER_STOPPED;
			if (is_there != (sets[i].texts[k] != NULL) ||
			    (is_there && !kgb_str_eq(choice->text.ptr, sets[i].texts[k])))
				fail_msg("%s: choice %d: %s, '%s'", sets[i].name, k,
					 kgb_answer_finish_name(choice->finish), choice->text.ptr);
		}
		assert_int_equal(answer.is_misnumbered, sets[i].is_misnumbered);
		assert_string_equal(answer.error, sets[i].error);
		kgb_answer_release(&answer);
	}
}

/** An answer of n_events times `each` times "x", or in one piece. */
static void read_long(struct kgb_answer *answer, size_t n_events, size_t each)
{
	KGB_AUTO(buf) struct kgb_buf xs = KGB_BUF_INIT(0);
	for (size_t i = 0; i < each; i++)
		kgb_buf_addc(&xs, 'x');
	kgb_answer_init(answer, CHAT, 1);
	kgb_answer_head(answer, 200, n_events > 0 ? SSE : JSON);
	for (size_t i = 0; i < (n_events > 0 ? n_events : 1); i++) {
		const char *begin = n_events > 0 ? "data: {\"choices\":[{\"delta\":{\"content\":\""
						 : "{\"choices\":[{\"message\":{\"content\":\"";
		const char *end = n_events > 0 ? "\"}}]}\n\n" : "\"},\"finish_reason\":\"stop\"}]}";
		kgb_answer_feed(answer, begin, strlen(begin));
		kgb_answer_feed(answer, xs.ptr, xs.len);
		kgb_answer_feed(answer, end, strlen(end));
	}
	if (n_events > 0)
		kgb_answer_feed(answer, FINISH("stop"), strlen(FINISH("stop")));
	kgb_answer_end(answer, NULL);
}

#define MIB ((size_t)1 << 20)

static void test_the_memory_of_a_long_answer_is_bounded_and_it_counts_as_truncated(void **state)
{
	(void)state;
	static const struct {
		size_t n_events, each;
		enum kgb_answer_finish finish;
		size_t len;
	} lengths[] = {
		{0, 3 * MIB, KGB_ANSWER_STOPPED, 3 * MIB},
		{0, 4 * MIB, KGB_ANSWER_STOPPED, KGB_ANSWER_BYTES},
		{0, 4 * MIB + 1, KGB_ANSWER_TRUNCATED, KGB_ANSWER_BYTES},
		{0, 10 * MIB, KGB_ANSWER_TRUNCATED, KGB_ANSWER_BYTES},
		{0, 20 * MIB, KGB_ANSWER_TRUNCATED, 0},
		{1, 10 * MIB, KGB_ANSWER_TRUNCATED, KGB_ANSWER_BYTES},
		{2, 20 * MIB, KGB_ANSWER_TRUNCATED, 0},
		{10, MIB, KGB_ANSWER_TRUNCATED, KGB_ANSWER_BYTES},
		{4, MIB, KGB_ANSWER_STOPPED, KGB_ANSWER_BYTES},
		{3000, 1500, KGB_ANSWER_TRUNCATED, KGB_ANSWER_BYTES},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(lengths); i++) {
		struct kgb_answer answer;
		read_long(&answer, lengths[i].n_events, lengths[i].each);
		if (answer.choices[0].finish != lengths[i].finish ||
		    answer.choices[0].text.len != lengths[i].len)
			fail_msg("case %zu: %s, %zu bytes, %s", i,
				 kgb_answer_finish_name(answer.choices[0].finish),
				 answer.choices[0].text.len, answer.error);
		kgb_answer_release(&answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_are_read_and_classified_however_they_are_cut),
		cmocka_unit_test(test_a_stream_is_over_only_after_the_models_end),
		cmocka_unit_test(test_a_transfer_that_fails_is_no_answer),
		cmocka_unit_test(test_choices_are_told_apart_and_those_that_came_are_kept),
		cmocka_unit_test(test_a_response_that_used_all_its_tokens_is_truncated),
		cmocka_unit_test(test_thinking_in_the_text_is_kept_apart),
		cmocka_unit_test(test_an_error_is_cut_between_characters),
		cmocka_unit_test(
			test_the_memory_of_a_long_answer_is_bounded_and_it_counts_as_truncated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
