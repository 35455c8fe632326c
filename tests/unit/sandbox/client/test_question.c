/* SPDX-License-Identifier: MIT */
#include "sandbox/client/question.h"

#include "base/formats/json.h"
#include "base/str.h"
#include "tests/unit/base/support.h"

#define BIT(field) (1u << KGB_SAMPLING_##field)
#define NOTHING                                            \
	{                                                  \
		.temperature = -1, .top_p = -1, .seed = -1 \
	}
#define ALL(bits)                                                                                \
	{                                                                                        \
		.temperature = 0.8, .top_p = 0.5, .seed = 7, .effort = "low", .max_tokens = 100, \
		.refused = (bits)                                                                \
	}

static const struct {
	struct kgb_question question;
	const char *path, *body, *sent;
} cases[] = {
	{{KGB_PROTOCOL_ANTHROPIC, "m", NULL, {"hi"}, NOTHING, true, 1},
	 "/v1/messages",
	 "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
	 "{}"},
	{{KGB_PROTOCOL_ANTHROPIC, "m", "be good", {"hi"}, ALL(0), false, 1},
	 "/v1/messages",
	 "{\"model\":\"m\",\"stream\":false,\"temperature\":0.8,\"top_p\":0.5,\"metadata\":{\"user_id\":\"sample-7\"},"
	 "\"output_config\":{\"effort\":\"low\"},\"max_tokens\":100,\"system\":\"be good\","
	 "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
	 "{\"temperature\":0.8,\"top_p\":0.5,\"metadata\":{\"user_id\":\"sample-7\"},"
	 "\"output_config\":{\"effort\":\"low\"},\"max_tokens\":100}"},
	{{KGB_PROTOCOL_CHAT, "m", "be good", {"hi"}, ALL(0), true, 1},
	 "/v1/chat/completions",
	 "{\"model\":\"m\",\"stream\":true,\"temperature\":0.8,\"top_p\":0.5,\"seed\":7,"
	 "\"reasoning_effort\":\"low\",\"max_tokens\":100,\"stream_options\":{\"include_usage\":true},"
	 "\"messages\":[{\"role\":\"system\",\"content\":\"be good\"},{\"role\":\"user\",\"content\":\"hi\"}]}",
	 "{\"temperature\":0.8,\"top_p\":0.5,\"seed\":7,\"reasoning_effort\":\"low\",\"max_tokens\":100}"},
	{{KGB_PROTOCOL_CHAT, "m", "", {"\"\n\t\\\x01"}, NOTHING, false, 1},
	 "/v1/chat/completions",
	 "{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"user\",\"content\":\"\\\"\\n\\t\\\\\\u0001\"}]}",
	 "{}"},
	{{KGB_PROTOCOL_CHAT, "m", NULL, {"hi"}, ALL(BIT(TEMPERATURE) | BIT(SEED)), false, 1},
	 "/v1/chat/completions",
	 "{\"model\":\"m\",\"stream\":false,\"top_p\":0.5,\"reasoning_effort\":\"low\",\"max_tokens\":100,"
	 "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
	 "{\"top_p\":0.5,\"reasoning_effort\":\"low\",\"max_tokens\":100}"},
	{{KGB_PROTOCOL_CHAT,
	  "m",
	  NULL,
	  {"hi"},
	  ALL(BIT(MAX_TOKENS) | BIT(TOP_P) | BIT(EFFORT)),
	  false,
	  1},
	 "/v1/chat/completions",
	 "{\"model\":\"m\",\"stream\":false,\"temperature\":0.8,\"seed\":7,\"max_completion_tokens\":100,"
	 "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
	 "{\"temperature\":0.8,\"seed\":7,\"max_completion_tokens\":100}"},
	{{KGB_PROTOCOL_RESPONSES, "m", "be good", {"hi"}, ALL(0), true, 1},
	 "/v1/responses",
	 "{\"model\":\"m\",\"stream\":true,\"temperature\":0.8,\"top_p\":0.5,\"metadata\":{\"sample\":\"sample-7\"},"
	 "\"reasoning\":{\"effort\":\"low\"},\"max_output_tokens\":100,\"store\":false,\"instructions\":\"be good\","
	 "\"input\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
	 "{\"temperature\":0.8,\"top_p\":0.5,\"metadata\":{\"sample\":\"sample-7\"},"
	 "\"reasoning\":{\"effort\":\"low\"},\"max_output_tokens\":100}"},
	{{KGB_PROTOCOL_RESPONSES, "m", NULL, {"hi"}, ALL(BIT(MAX_TOKENS)), true, 1},
	 "/v1/responses",
	 "{\"model\":\"m\",\"stream\":true,\"temperature\":0.8,\"top_p\":0.5,\"metadata\":{\"sample\":\"sample-7\"},"
	 "\"reasoning\":{\"effort\":\"low\"},\"store\":false,\"input\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
	 "{\"temperature\":0.8,\"top_p\":0.5,\"metadata\":{\"sample\":\"sample-7\"},\"reasoning\":{\"effort\":\"low\"}}"},
	{{KGB_PROTOCOL_ANTHROPIC, "m", "be good", {"hi", "bye", "again"}, NOTHING, false, 1},
	 "/v1/messages",
	 "{\"model\":\"m\",\"stream\":false,\"system\":\"be good\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},"
	 "{\"role\":\"assistant\",\"content\":\"bye\"},{\"role\":\"user\",\"content\":\"again\"}]}",
	 "{}"},
	{{KGB_PROTOCOL_CHAT, "m", "be good", {"hi", "bye", "again"}, NOTHING, false, 1},
	 "/v1/chat/completions",
	 "{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"system\",\"content\":\"be good\"},"
	 "{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"bye\"},"
	 "{\"role\":\"user\",\"content\":\"again\"}]}",
	 "{}"},
	{{KGB_PROTOCOL_RESPONSES, "m", "be good", {"hi", "bye", "again"}, NOTHING, false, 1},
	 "/v1/responses",
	 "{\"model\":\"m\",\"stream\":false,\"store\":false,\"instructions\":\"be good\","
	 "\"input\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"bye\"},"
	 "{\"role\":\"user\",\"content\":\"again\"}]}",
	 "{}"},
};

static void test_a_body_has_the_fields_that_are_set_and_not_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);
		KGB_AUTO(buf) struct kgb_buf sent = KGB_BUF_INIT(0);
		kgb_question_write(&cases[i].question, &body);
		kgb_question_write_sent(&cases[i].question, &sent);
		assert_string_equal(kgb_question_path(cases[i].question.protocol), cases[i].path);
		assert_string_equal(body.ptr, cases[i].body);
		assert_string_equal(sent.ptr, cases[i].sent);
	}
}

static void test_several_choices_are_asked_for_in_chat_completions_alone(void **state)
{
	(void)state;
	static const char *const sent[KGB_N_PROTOCOLS] = {"{}", "{\"n\":4}", "{}"};
	for (int protocol = 0; protocol < KGB_N_PROTOCOLS; protocol++) {
		struct kgb_question question = {.protocol = (enum kgb_protocol)protocol,
						.model = "m",
						.turns = {"hi"},
						.sampling = NOTHING,
						.n_choices = 4};
		KGB_AUTO(buf) struct kgb_buf several = KGB_BUF_INIT(0);
		KGB_AUTO(buf) struct kgb_buf one = KGB_BUF_INIT(0);
		kgb_question_write_sent(&question, &several);
		assert_string_equal(several.ptr, sent[protocol]);
		question.n_choices = 1;
		kgb_question_write_sent(&question, &one);
		assert_string_equal(one.ptr, "{}");
	}
}

static void test_a_temperature_of_zero_is_sent(void **state)
{
	(void)state;
	const struct kgb_question question = {
		.protocol = KGB_PROTOCOL_CHAT,
		.model = "m",
		.turns = {"hi"},
		.sampling = {.temperature = 0, .top_p = -1, .seed = 0}};
	KGB_AUTO(buf) struct kgb_buf sent = KGB_BUF_INIT(0);
	kgb_question_write_sent(&question, &sent);
	assert_string_equal(sent.ptr, "{\"temperature\":0,\"seed\":0}");
}

/* Errors in the words of servers. */
static const struct {
	enum kgb_protocol protocol;
	const char *error;
	unsigned refused; /* before */
	enum kgb_sampling_field field;
} errors[] = {
	{KGB_PROTOCOL_CHAT,
	 "Unsupported value: 'temperature' does not support 0.8 with this model. Only the default (1) value is supported.",
	 0, KGB_SAMPLING_TEMPERATURE},
	{KGB_PROTOCOL_CHAT,
	 "Unsupported value: 'temperature' does not support 0.8 with this model.", BIT(TEMPERATURE),
	 KGB_N_SAMPLING_FIELDS},
	{KGB_PROTOCOL_CHAT,
	 "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
	 0, KGB_SAMPLING_MAX_TOKENS},
	{KGB_PROTOCOL_CHAT, "max_completion_tokens is too large: 100.", BIT(MAX_TOKENS),
	 KGB_N_SAMPLING_FIELDS},
	{KGB_PROTOCOL_CHAT, "Unrecognized request argument supplied: reasoning_effort", 0,
	 KGB_SAMPLING_EFFORT},
	{KGB_PROTOCOL_CHAT,
	 "litellm.UnsupportedParamsError: x does not support parameters: ['seed']", 0,
	 KGB_SAMPLING_SEED},
	{KGB_PROTOCOL_CHAT,
	 "[{\"loc\":[\"body\",\"top_p\"],\"msg\":\"Extra inputs are not permitted\"}]", 0,
	 KGB_SAMPLING_TOP_P},
	{KGB_PROTOCOL_ANTHROPIC,
	 "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
	 0, KGB_SAMPLING_TEMPERATURE},
	{KGB_PROTOCOL_ANTHROPIC, "metadata: Extra inputs are not permitted", 0, KGB_SAMPLING_SEED},
	{KGB_PROTOCOL_ANTHROPIC, "output_config.effort: not supported by this model", 0,
	 KGB_SAMPLING_EFFORT},
	{KGB_PROTOCOL_ANTHROPIC,
	 "max_tokens: 100 > 64, which is the maximum allowed number of output tokens", 0,
	 KGB_N_SAMPLING_FIELDS},
	{KGB_PROTOCOL_RESPONSES, "Unsupported parameter: 'reasoning.effort' is not supported", 0,
	 KGB_SAMPLING_EFFORT},
	{KGB_PROTOCOL_RESPONSES, "Invalid 'max_output_tokens': integer below minimum value.", 0,
	 KGB_SAMPLING_MAX_TOKENS},
	{KGB_PROTOCOL_CHAT, "The request's deadline was exceeded", 0, KGB_N_SAMPLING_FIELDS},
	{KGB_PROTOCOL_CHAT, "", 0, KGB_N_SAMPLING_FIELDS},
};

static void test_the_field_that_a_server_complains_of_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(errors); i++) {
		const struct kgb_question question = {.protocol = errors[i].protocol,
						      .model = "m",
						      .turns = {"hi"},
						      .sampling = ALL(errors[i].refused)};
		const enum kgb_sampling_field field =
			kgb_question_refused(&question, errors[i].error);
		if (field != errors[i].field)
			fail_msg("'%s': field %d, wanted %d", errors[i].error, (int)field,
				 (int)errors[i].field);
	}
}

static void test_fields_that_were_not_sent_are_not_refused(void **state)
{
	(void)state;
	const struct kgb_question question = {
		.protocol = KGB_PROTOCOL_CHAT, .model = "m", .turns = {"hi"}, .sampling = NOTHING};
	for (int field = 0; field < KGB_N_SAMPLING_FIELDS; field++)
		assert_int_equal(
			kgb_question_refused(
				&question, kgb_sampling_field_name((enum kgb_sampling_field)field)),
			KGB_N_SAMPLING_FIELDS);
}

/* A server that refuses every field, one at a time, takes the question in the end. */
static void test_refusals_come_to_an_end(void **state)
{
	(void)state;
	for (int protocol = 0; protocol < KGB_N_PROTOCOLS; protocol++) {
		struct kgb_question question = {.protocol = (enum kgb_protocol)protocol,
						.model = "m",
						.turns = {"hi"},
						.sampling = ALL(0)};
		static const char error[] =
			"temperature top_p seed metadata reasoning_effort reasoning "
			"output_config max_tokens max_output_tokens";
		int n = 0;
		enum kgb_sampling_field field;
		while ((field = kgb_question_refused(&question, error)) != KGB_N_SAMPLING_FIELDS) {
			question.sampling.refused |= 1u << field;
			n++;
		}
		assert_int_equal(n, protocol == KGB_PROTOCOL_ANTHROPIC ? 4 : 5);
		KGB_AUTO(buf) struct kgb_buf sent = KGB_BUF_INIT(0);
		kgb_question_write_sent(&question, &sent);
		assert_string_equal(
			sent.ptr, protocol == KGB_PROTOCOL_CHAT ? "{\"max_completion_tokens\":100}"
				  : protocol == KGB_PROTOCOL_ANTHROPIC ? "{\"max_tokens\":100}"
								       : "{}");
	}
}

static void test_the_fields_that_a_request_left_out_are_read_from_what_was_sent(void **state)
{
	(void)state;
	for (int protocol = 0; protocol < KGB_N_PROTOCOLS; protocol++)
		for (unsigned refused = 0; refused < 1u << KGB_N_SAMPLING_FIELDS; refused++) {
			struct kgb_question question = {.protocol = (enum kgb_protocol)protocol,
							.model = "m",
							.turns = {"hi"},
							.sampling = ALL(0)};
			KGB_AUTO(buf) struct kgb_buf sent = KGB_BUF_INIT(0);
			question.sampling.refused = refused;
			kgb_question_write_sent(&question, &sent);
			question.sampling.refused = 0;
			assert_int_equal(kgb_question_left_out(&question, sent.ptr), refused);
			assert_int_equal(kgb_question_left_out(&question, "no JSON"), 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_body_has_the_fields_that_are_set_and_not_refused),
		cmocka_unit_test(test_several_choices_are_asked_for_in_chat_completions_alone),
		cmocka_unit_test(test_a_temperature_of_zero_is_sent),
		cmocka_unit_test(test_the_field_that_a_server_complains_of_is_found),
		cmocka_unit_test(test_fields_that_were_not_sent_are_not_refused),
		cmocka_unit_test(test_refusals_come_to_an_end),
		cmocka_unit_test(
			test_the_fields_that_a_request_left_out_are_read_from_what_was_sent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
