/* SPDX-License-Identifier: MIT */
#include "sandbox/client/batch_wire.h"

#include "base/formats/json.h"
#include "base/str.h"
#include "tests/unit/base/support.h"

#define KEY "kgb-0123456789abcdef01234567"
#define CHAT KGB_PROTOCOL_CHAT
#define MESSAGES KGB_PROTOCOL_ANTHROPIC

static struct kgb_question question(enum kgb_protocol protocol)
{
	return (struct kgb_question){.protocol = protocol,
				     .model = "m",
				     .turns = {"hi"},
				     .sampling = {.temperature = -1, .top_p = -1, .seed = -1}};
}

static void test_a_body_has_each_request_by_its_name(void **state)
{
	(void)state;
	static const struct {
		enum kgb_protocol protocol;
		const char *body, *type;
	} cases[] = {
		{MESSAGES,
		 "{\"requests\":[{\"custom_id\":\"" KEY
		 "-3\",\"params\":{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}},"
		 "{\"custom_id\":\"" KEY
		 "-7\",\"params\":{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}}]}",
		 "application/json"},
		{CHAT,
		 "--" KEY
		 "\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--" KEY
		 "\r\ncontent-disposition: form-data; name=\"file\"; filename=\"" KEY
		 ".jsonl\"\r\ncontent-type: application/jsonl\r\n\r\n"
		 "{\"custom_id\":\"" KEY
		 "-3\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}}\n"
		 "{\"custom_id\":\"" KEY
		 "-7\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}}\n"
		 "\r\n--" KEY "--\r\n",
		 "multipart/form-data; boundary=" KEY},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_question asked = question(cases[i].protocol);
		struct kgb_batch_body body;
		KGB_AUTO(buf) struct kgb_buf type = KGB_BUF_INIT(0);
		kgb_batch_body_init(&body, cases[i].protocol, KEY);
		kgb_batch_body_add(&body, 3, &asked);
		kgb_batch_body_add(&body, 7, &asked);
		kgb_batch_body_end(&body);
		kgb_batch_content_type(cases[i].protocol, KEY, &type);
		assert_string_equal(body.bytes.ptr, cases[i].body);
		assert_string_equal(type.ptr, cases[i].type);
		assert_int_equal(body.n, 2);
		kgb_batch_body_release(&body);
	}
}

static void test_a_batch_has_no_more_than_fits(void **state)
{
	(void)state;
	static const struct {
		enum kgb_protocol protocol;
		size_t bytes;
		int64_t output;
		size_t most;
	} cases[] = {
		{CHAT, 100, 1, 50000}, /* the provider's limit */
		{MESSAGES, 100, 1, 65408}, /* answers: 256 MiB of 4,104 bytes */
		{CHAT, 10000, 1, 6709}, /* requests: 64 MiB of 10,001 bytes */
		{CHAT, 10000, 16384, 1985}, /* answers of 16,384 tokens */
		{CHAT, 100 << 20, 1, 1},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		assert_int_equal(kgb_batch_most(cases[i].protocol, cases[i].bytes, cases[i].output),
				 cases[i].most);
}

static void test_keys_differ(void **state)
{
	(void)state;
	char a[KGB_BATCH_KEY_LEN], b[KGB_BATCH_KEY_LEN];
	kgb_batch_key(a);
	kgb_batch_key(b);
	assert_int_equal(strlen(a), KGB_BATCH_KEY_LEN - 1);
	assert_string_not_equal(a, b);
}

#define OPENAI(status, members) "{\"id\":\"batch_1\",\"status\":\"" status "\"" members "}"

static void test_the_state_of_a_batch_is_read(void **state)
{
	(void)state;
	static const struct {
		enum kgb_protocol protocol;
		const char *json;
		bool is_bad, is_over, is_unbilled;
		int64_t n;
		const char *key, *output, *errors, *error;
	} cases[] = {
		{CHAT, OPENAI("validating", ""), false, false, false, -1, "", "", "", ""},
		{CHAT, OPENAI("finalizing", ",\"request_counts\":{\"total\":4}"), false, false,
		 false, 4, "", "", "", ""},
		{CHAT,
		 OPENAI("completed",
			",\"output_file_id\":\"file-1\",\"error_file_id\":null,\"metadata\":{\"kgb_batch\":\"" KEY
			"\"}"),
		 false, true, false, -1, KEY, "file-1", "", ""},
		{CHAT, OPENAI("expired", ",\"output_file_id\":\"a\",\"error_file_id\":\"b\""),
		 false, true, true, -1, "", "a", "b", ""},
		{CHAT, OPENAI("cancelled", ""), false, true, true, -1, "", "", "", ""},
		{CHAT, OPENAI("cancelling", ""), false, false, false, -1, "", "", "", ""},
		{CHAT,
		 OPENAI("failed", ",\"errors\":{\"data\":[{\"message\":\"bad line\\nmore\"}]}"),
		 false, true, true, -1, "", "", "", "bad line"},
		/* What could lead a path elsewhere is no id. */
		{CHAT, OPENAI("completed", ",\"output_file_id\":\"../x\""), false, true, false, -1,
		 "", "", "", ""},
		{CHAT, "{\"id\":\"a/b\",\"status\":\"completed\"}", .is_bad = true},
		{CHAT, "{\"error\":{\"message\":\"x\"}}", .is_bad = true},
		{CHAT, "[]", .is_bad = true},
		{MESSAGES,
		 "{\"id\":\"msgbatch_1\",\"processing_status\":\"in_progress\",\"request_counts\":"
		 "{\"processing\":3,\"succeeded\":1,\"errored\":0,\"canceled\":0,\"expired\":0}}",
		 false, false, false, 4, "", "", "", ""},
		{MESSAGES, "{\"id\":\"msgbatch_1\",\"processing_status\":\"canceling\"}", false,
		 false, false, -1, "", "", "", ""},
		{MESSAGES, "{\"id\":\"msgbatch_1\",\"processing_status\":\"ended\"}", false, true,
		 false, -1, "", "", "", ""},
		{MESSAGES, OPENAI("completed", ""), .is_bad = true},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(json) cJSON *node = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_batch_state is = {0};
		print_message("# %s\n", cases[i].json);
		assert_ok(kgb_json_parse(cases[i].json, strlen(cases[i].json), &node, &err), err);
		const bool is_bad = kgb_batch_read_state(cases[i].protocol, node, &is, &err) < 0;
		assert_int_equal(is_bad, cases[i].is_bad);
		if (is_bad)
			continue;
		assert_int_equal(is.is_over, cases[i].is_over);
		assert_int_equal(is.is_unbilled, cases[i].is_unbilled);
		assert_int_equal(is.n_requests, cases[i].n);
		assert_string_equal(is.key, cases[i].key);
		assert_string_equal(is.output, cases[i].output);
		assert_string_equal(is.errors, cases[i].errors);
		assert_string_equal(is.error, cases[i].error);
	}
}

#define NAMED(number, members) "{\"custom_id\":\"" KEY "-" number "\"," members "}"
#define ERROR(kind)                                                                                  \
	"\"result\":{\"type\":\"errored\",\"error\":{\"type\":\"error\",\"error\":{\"type\":\"" kind \
	"\",\"message\":\"no\"}}}"

static void test_lines_of_results_are_read_whatever_they_are(void **state)
{
	(void)state;
	static const struct {
		enum kgb_protocol protocol;
		const char *line;
		int number, status;
		const char *body, *error;
	} cases[] = {
		{CHAT,
		 NAMED("2", "\"response\":{\"status_code\":200,\"body\":{\"a\":1}},\"error\":null"),
		 2, 200, "{\"a\":1}", ""},
		{CHAT,
		 NAMED("2",
		       "\"response\":{\"status_code\":429,\"body\":{\"error\":{\"message\":\"slow\\ndown\"}}}"),
		 2, 429, "{\"error\":{\"message\":\"slow\\ndown\"}}", "slow"},
		{CHAT,
		 NAMED("2",
		       "\"response\":null,\"error\":{\"code\":\"batch_expired\",\"message\":\"late\"}"),
		 2, 0, "", "late"},
		{CHAT, NAMED("2", "\"response\":null"), 2, 0, "", "the result has no answer"},
		{CHAT, NAMED("0", "\"response\":null"), 0, 0, "", ""},
		{CHAT, NAMED("2x", "\"response\":null"), 0, 0, "", ""},
		{CHAT, "{\"custom_id\":\"kgb-other-2\"}", 0, 0, "", ""},
		{CHAT, "{\"custom_id\":7}", 0, 0, "", ""},
		{CHAT, "{\"custom_id\":\"" KEY "-2\",\"resp", 0, 0, "", ""},
		{CHAT, "", 0, 0, "", ""},
		{MESSAGES, NAMED("9", "\"result\":{\"type\":\"succeeded\",\"message\":{\"b\":2}}"),
		 9, 200, "{\"b\":2}", ""},
		{MESSAGES, NAMED("9", "\"result\":{\"type\":\"succeeded\"}"), 9, 0, "",
		 "succeeded"},
		{MESSAGES, NAMED("9", ERROR("api_error")), 9, 0, "", "no"},
		{MESSAGES, NAMED("9", ERROR("invalid_request_error")), 9, 400, "", "no"},
		{MESSAGES, NAMED("9", "\"result\":{\"type\":\"expired\"}"), 9, 0, "", "expired"},
		{MESSAGES, NAMED("9", "\"result\":{\"type\":\"canceled\"}"), 9, 0, "", "canceled"},
		{MESSAGES, NAMED("9", "\"result\":7"), 9, 0, "", "the result has no type"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_batch_line line;
		print_message("# %s\n", cases[i].line);
		kgb_batch_read_line(cases[i].protocol, KEY, cases[i].line, strlen(cases[i].line),
				    &line);
		assert_int_equal(line.number, cases[i].number);
		assert_int_equal(line.status, cases[i].status);
		assert_string_equal(line.body.ptr, cases[i].body);
		assert_string_equal(line.error, cases[i].error);
		kgb_batch_line_release(&line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_body_has_each_request_by_its_name),
		cmocka_unit_test(test_a_batch_has_no_more_than_fits),
		cmocka_unit_test(test_keys_differ),
		cmocka_unit_test(test_the_state_of_a_batch_is_read),
		cmocka_unit_test(test_lines_of_results_are_read_whatever_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
