/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include "base/str.h"
#include "sandbox/request/rewrite_request.h"

static int rewrite(enum kgb_endpoint endpoint, const char *model, const char *body,
		   struct kgb_rewritten *out, struct kgb_err *err)
{
	const struct kgb_rewrite_spec spec = {.endpoint = endpoint, .model = model};
	return kgb_rewrite_request(&spec, body, strlen(body), out, err);
}

static void test_only_what_has_to_change_changes(void **state)
{
	(void)state;
	static const struct {
		enum kgb_endpoint endpoint;
		const char *body;
		const char *want; /* NULL: goes out as it came */
		size_t n_removed;
	} cases[] = {
		{KGB_ENDPOINT_MESSAGES, "{\"model\":\"pin\",\"top_p\":1e400}", NULL, 0},
		{KGB_ENDPOINT_MESSAGES,
		 " { \"top_k\" : 1e400, \"model\" :\t\"x\" ,\"metadata\":[12345678901234567890, {\"model\":\"y\"}] } ",
		 "{\"top_k\":1e400,\"model\":\"pin\",\"metadata\":[12345678901234567890, {\"model\":\"y\"}]}",
		 0},
		{KGB_ENDPOINT_MESSAGES, "{\"model\":5}", "{\"model\":\"pin\"}", 0},
		{KGB_ENDPOINT_MESSAGES, "{}", NULL, 0},
		/* Tools that Anthropic runs; those without a type, and its own that clients run,
		   stay. */
		{KGB_ENDPOINT_MESSAGES,
		 "{\"tools\":[{\"name\":\"Bash\"},{\"type\":\"web_search_20250305\",\"name\":\"w\"},{\"type\":\"bash_20250124\",\"name\":\"b\"}]}",
		 "{\"tools\":[{\"name\":\"Bash\"},{\"type\":\"bash_20250124\",\"name\":\"b\"}]}",
		 1},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"mcp_servers\":[{\"url\":\"u\"}],\"tools\":[{\"type\":\"mcp_toolset\"}],\"tool_choice\":{\"type\":\"any\"},\"stream\":true}",
		 "{\"stream\":true}", 2},
		{KGB_ENDPOINT_MESSAGES, "{\"mcp_servers\":null,\"tools\":null}", NULL, 0},
		{KGB_ENDPOINT_COUNT_TOKENS,
		 "{\"tools\":[{\"type\":\"code_execution_20250522\",\"name\":\"c\"}]}", "{}", 1},
		/* OpenAI: an unknown type counts as the provider's. */
		{KGB_ENDPOINT_RESPONSES,
		 "{\"tools\":[{\"type\":\"web_search\"},{\"type\":\"function\",\"name\":\"exec_command\"},{\"type\":\"brand_new\"}],\"tool_choice\":{\"type\":\"web_search\"}}",
		 "{\"tools\":[{\"type\":\"function\",\"name\":\"exec_command\"}]}", 2},
		{KGB_ENDPOINT_RESPONSES,
		 "{\"tools\":[{\"type\":\"shell\",\"environment\":{\"type\":\"container_auto\"}},{\"type\":\"shell\",\"environment\":{\"type\":\"local\"}}],\"tool_choice\":\"auto\"}",
		 "{\"tools\":[{\"type\":\"shell\",\"environment\":{\"type\":\"local\"}}],\"tool_choice\":\"auto\"}",
		 1},
		{KGB_ENDPOINT_RESPONSES, "{\"stream\":true}", NULL, 0},
		{KGB_ENDPOINT_CHAT, "{\"web_search_options\":{},\"n\":1}", "{\"n\":1}", 1},
		{KGB_ENDPOINT_CHAT, "{\"tools\":[{\"name\":\"x\"}]}", "{}", 1},
		/* A streamed chat is asked for its usage. */
		{KGB_ENDPOINT_CHAT, "{\"stream\":true}",
		 "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}", 0},
		{KGB_ENDPOINT_CHAT,
		 "{\"stream_options\":{\"include_usage\":false,\"include_obfuscation\":false},\"stream\":true}",
		 "{\"stream_options\":{\"include_usage\":true,\"include_obfuscation\":false},\"stream\":true}",
		 0},
		{KGB_ENDPOINT_CHAT, "{\"stream_options\":{\"include_usage\":true},\"stream\":true}",
		 NULL, 0},
		{KGB_ENDPOINT_CHAT, "{\"stream\":false}", NULL, 0},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_rewritten rewritten = KGB_REWRITTEN_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		assert_ok(rewrite(cases[i].endpoint, "pin", cases[i].body, &rewritten, &err), err);
		if (!kgb_str_eq(rewritten.body.ptr, cases[i].want ? cases[i].want : ""))
			fail_msg("case %zu: %s", i, rewritten.body.ptr);
		assert_int_equal(rewritten.n_tools_removed, cases[i].n_removed);
		kgb_rewritten_release(&rewritten);
	}
}

static void test_tools_of_the_provider_can_be_allowed(void **state)
{
	(void)state;
	struct kgb_rewritten rewritten = KGB_REWRITTEN_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	static const char body[] = "{\"tools\":[{\"type\":\"web_search_20250305\"}]}";
	const struct kgb_rewrite_spec spec = {.endpoint = KGB_ENDPOINT_MESSAGES,
					      .allow_provider_tools = true};
	assert_ok(kgb_rewrite_request(&spec, body, strlen(body), &rewritten, &err), err);
	assert_int_equal(rewritten.body.len, 0);
	assert_int_equal(rewritten.n_tools_removed, 0);
}

static void test_what_was_asked_is_read(void **state)
{
	(void)state;
	static const struct {
		const char *body, *pin, *model;
		int64_t max;
	} cases[] = {
		{"{\"model\":\"a\",\"max_tokens\":100}", NULL, "a", 100},
		{"{\"model\":\"a\\u0062\",\"max_completion_tokens\":7}", NULL, "ab", 7},
		{"{\"model\":\"a\",\"max_output_tokens\":9}", "pin", "pin", 9},
		{"{\"max_tokens\":null}", "pin", "", -1},
		/* More than can be, and what is no count. */
		{"{\"max_tokens\":9223372036854775807}", "pin", "", KGB_MAX_OUTPUT_TOKENS},
		{"{\"max_tokens\":99999999999999999999}", "pin", "", KGB_MAX_OUTPUT_TOKENS},
		{"{\"max_tokens\":1e3}", "pin", "", KGB_MAX_OUTPUT_TOKENS},
		{"{\"max_tokens\":-3}", "pin", "", KGB_MAX_OUTPUT_TOKENS},
		{"{\"max_tokens\":\"5\",\"model\":null}", NULL, "", KGB_MAX_OUTPUT_TOKENS},
		{"{\"messages\":[{\"max_tokens\":5,\"model\":\"no\"}]}", NULL, "", -1},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_rewritten rewritten = KGB_REWRITTEN_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		bool responses = strstr(cases[i].body, "max_output_tokens");
		assert_ok(rewrite(responses ? KGB_ENDPOINT_RESPONSES : KGB_ENDPOINT_CHAT,
				  cases[i].pin, cases[i].body, &rewritten, &err),
			  err);
		assert_string_equal(rewritten.model, cases[i].model);
		assert_int_equal(rewritten.max_output_tokens, cases[i].max);
		kgb_rewritten_release(&rewritten);
	}
}

/* Two parsers may see different things in it: ours, and the provider's. */
static void test_what_cannot_be_read_for_sure_is_refused(void **state)
{
	(void)state;
	/* All would be taken if it were not for this. */
	static const char *const bodies[] = {
		"",
		"no JSON",
		"[]",
		"\"x\"",
		"{",
		"{\"top_k\"",
		"{\"top_k\":",
		"{\"top_k\":1",
		"{\"top_k\":1,",
		"{\"top_k\":1,}",
		"{\"top_k\":\"cut",
		"{\"top_k\":\"cut\\\"",
		"{\"top_k\":[1}",
		"{\"top_k\":1}x",
		"{\"top_k\":1}{\"top_p\":2}",
		"{top_k:1}",
		"{\"model\":\"a\",\"model\":\"b\"}",
		"{\"\\u006dodel\":\"b\"}",
		"{\"tools\":{}}",
		"{\"tools\":[{\"type\":\"function\",\"type\":\"web_search\"}]}",
		"{\"tools\":[1,]}",
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(bodies); i++) {
		struct kgb_rewritten rewritten = KGB_REWRITTEN_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		if (rewrite(KGB_ENDPOINT_MESSAGES, "pin", bodies[i], &rewritten, &err) == 0)
			fail_msg("taken: %s", bodies[i]);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		kgb_rewritten_release(&rewritten);
	}
}

/* Content is looked at key by key, so what only looks like a URL to fetch must pass. */
static void test_what_the_provider_would_fetch_or_bill_unseen_is_refused(void **state)
{
	(void)state;
	static const struct {
		enum kgb_endpoint endpoint;
		const char *body;
		bool taken;
	} cases[] = {
		{KGB_ENDPOINT_CHAT, "{\"n\":2}", true},
		{KGB_ENDPOINT_CHAT, "{\"n\":128}", true},
		{KGB_ENDPOINT_CHAT, "{\"n\":129}", false},
		{KGB_ENDPOINT_CHAT, "{\"n\":0}", false},
		{KGB_ENDPOINT_CHAT, "{\"n\":\"2\"}", false},
		{KGB_ENDPOINT_CHAT, "{\"n\":1e2}", false},
		{KGB_ENDPOINT_CHAT, "{\"n\":null}", true},
		{KGB_ENDPOINT_RESPONSES, "{\"background\":true}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"background\":false}", true},
		{KGB_ENDPOINT_RESPONSES, "{\"previous_response_id\":\"resp_1\"}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"previous_response_id\":null}", true},
		{KGB_ENDPOINT_RESPONSES, "{\"conversation\":{\"id\":\"conv_1\"}}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"prompt\":{\"id\":\"pmpt_1\"}}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"service_tier\":\"priority\"}", false},
		{KGB_ENDPOINT_CHAT, "{\"service_tier\":\"\\u0070riority\"}", false},
		{KGB_ENDPOINT_MESSAGES, "{\"service_tier\":\"auto\"}", true},
		{KGB_ENDPOINT_MESSAGES, "{\"speed\":\"fast\"}", false},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"messages\":[{\"content\":[{\"type\":\"image\",\"source\":{\"type\" : \"url\",\"url\":\"https://x\"}}]}]}",
		 false},
		{KGB_ENDPOINT_COUNT_TOKENS,
		 "{\"messages\":[{\"content\":[{\"type\":\"tool_result\",\"content\":[{\"source\":{\"url\":\"https://x\",\"type\":\"url\"},\"type\":\"document\"}]}]}]}",
		 false},
		{KGB_ENDPOINT_MESSAGES, "{\"system\":[{\"source\":{\"type\":\"\\u0075rl\"}}]}",
		 false},
		{KGB_ENDPOINT_MESSAGES, "{\"messages\":[{\"source\":{\"\\u0074ype\":\"url\"}}]}",
		 false},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"messages\":[{\"source\":{\"type\":\"file\",\"file_id\":\"file_1\"}}]}", false},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"messages\":[{\"type\":\"container_upload\",\"file_id\":\"file_1\"}]}", false},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"messages\":[{\"type\":\"tool_use\",\"input\":{\"type\":\"url\",\"file_id\":\"a\",\"\\u0061\":1}},"
		 "{\"type\":\"text\",\"text\":\"\\\"type\\\":\\\"url\\\"\"},[\"type\",\"url\"],"
		 "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":\"QUJD\"}}],"
		 "\"tools\":[{\"name\":\"x\",\"input_schema\":{\"properties\":{\"file_id\":{\"type\":\"file\"}}}}]}",
		 true},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"messages\":[{\"type\":\"tool_use\",\"input\":{}},{\"source\":{\"type\":\"url\"}}]}",
		 false},
		{KGB_ENDPOINT_CHAT,
		 "{\"messages\":[{\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x\"}}]}]}",
		 false},
		{KGB_ENDPOINT_CHAT, "{\"messages\":[{\"image_url\":\"\\u0068ttps://x\"}]}", false},
		{KGB_ENDPOINT_CHAT, "{\"messages\":[{\"file\":{\"file_id\":\"file-1\"}}]}", false},
		{KGB_ENDPOINT_CHAT,
		 "{\"messages\":[{\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}],"
		 "\"tool_calls\":[{\"function\":{\"arguments\":\"{\\\"url\\\":\\\"https://x\\\"}\"}}]}]}",
		 true},
		{KGB_ENDPOINT_RESPONSES,
		 "{\"input\":[{\"content\":[{\"type\":\"input_image\",\"image_url\":\"https://x\"}]}]}",
		 false},
		{KGB_ENDPOINT_RESPONSES,
		 "{\"input\":[{\"type\":\"function_call_output\",\"output\":[{\"type\":\"input_file\",\"file_url\":\"https://x\"}]}]}",
		 false},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[{\"image_url\":\"\"}]}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[{\"input\":[{\"file_id\":\"file-1\"}]}]}",
		 false},
		{KGB_ENDPOINT_RESPONSES,
		 "{\"input\":[{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,QUJD\",\"file_id\":null}]}",
		 true},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":\"see https://x\"}", true},
		/* What the provider keeps, and what it has another price for. */
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[{\"type\":\"item_reference\",\"id\":\"m\"}]}",
		 false},
		{KGB_ENDPOINT_RESPONSES,
		 "{\"input\":[{\"role\":\"user\",\"content\":\"a\"}, {\"id\":\"m\"}]}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[{\"type\":null,\"id\":\"m\"}]}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[\"x\",{\"id\":\"m\"}]}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[[{\"id\":\"m\"}]]}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[{\"role\":\"user\"} {\"id\":\"m\"}]}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[ ]}", true},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"messages\":[{\"source\":{\"media_type\":\"application\\/pdf\"}}]}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"input\":[{\"type\":\"item\\u005freference\"}]}",
		 false},
		{KGB_ENDPOINT_RESPONSES,
		 "{\"input\":[{\"type\":\"message\",\"id\":\"m\",\"content\":[]},{\"role\":\"user\"}]}",
		 true},
		{KGB_ENDPOINT_RESPONSES,
		 "{\"input\":[{\"type\":\"input_file\",\"file_data\":\"JVBE\"}]}", false},
		{KGB_ENDPOINT_CHAT,
		 "{\"messages\":[{\"content\":[{\"type\":\"file\",\"file\":{\"file_data\":\"JVBE\"}}]}]}",
		 false},
		{KGB_ENDPOINT_CHAT, "{\"prediction\":{\"type\":\"content\",\"content\":\"x\"}}",
		 false},
		{KGB_ENDPOINT_CHAT, "{\"modalities\":[\"text\",\"audio\"]}", false},
		{KGB_ENDPOINT_CHAT, "{\"modalities\":[\"text\"]}", true},
		{KGB_ENDPOINT_MESSAGES, "{\"inference_geo\":\"us\"}", false},
		{KGB_ENDPOINT_MESSAGES, "{\"inference_geo\":\"global\"}", true},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"system\":[{\"type\":\"text\",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}]}",
		 false},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"tools\":[{\"name\":\"a\",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}]}",
		 false},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}", false},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"messages\":[{\"content\":[{\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"5m\"}},"
		 "{\"type\":\"tool_use\",\"input\":{\"ttl\":\"1h\"}}]}],"
		 "\"tools\":[{\"name\":\"a\",\"input_schema\":{\"properties\":{\"ttl\":{}}}}]}",
		 true},
		{KGB_ENDPOINT_MESSAGES,
		 "{\"messages\":[{\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\"}}]}",
		 false},
		/* What nobody knows. */
		{KGB_ENDPOINT_MESSAGES, "{\"turbo\":true}", false},
		{KGB_ENDPOINT_MESSAGES, "{\"top_k\":1,\"turbo\":true}", false},
		{KGB_ENDPOINT_CHAT, "{\"max_output_tokens\":1}", false},
		{KGB_ENDPOINT_RESPONSES, "{\"messages\":[]}", false},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_rewritten rewritten = KGB_REWRITTEN_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		int rc = rewrite(cases[i].endpoint, NULL, cases[i].body, &rewritten, &err);
		if ((rc == 0) != cases[i].taken)
			fail_msg("%s: %s", cases[i].body, rc == 0 ? "taken" : err.msg);
		if (rc < 0)
			assert_int_equal(err.kind, KGB_ERR_INVALID);
		kgb_rewritten_release(&rewritten);
		/* Who allows the provider's tools allows these too. */
		const struct kgb_rewrite_spec allowed = {.endpoint = cases[i].endpoint,
							 .allow_provider_tools = true};
		rewritten = (struct kgb_rewritten)KGB_REWRITTEN_INIT;
		assert_ok(kgb_rewrite_request(&allowed, cases[i].body, strlen(cases[i].body),
					      &rewritten, &err),
			  err);
		kgb_rewritten_release(&rewritten);
	}
}

static void test_a_string_full_of_quotes_is_one_string(void **state)
{
	(void)state;
	static const char body[] =
		"{\"metadata\":\"\\\\\\\"}{\\\\\",\"system\":\"\\\"\\\"\\\\\",\"model\":\"x\"}";
	struct kgb_rewritten rewritten = KGB_REWRITTEN_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(rewrite(KGB_ENDPOINT_MESSAGES, "pin", body, &rewritten, &err), err);
	assert_string_equal(
		rewritten.body.ptr,
		"{\"metadata\":\"\\\\\\\"}{\\\\\",\"system\":\"\\\"\\\"\\\\\",\"model\":\"pin\"}");
	kgb_rewritten_release(&rewritten);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_has_to_change_changes),
		cmocka_unit_test(test_tools_of_the_provider_can_be_allowed),
		cmocka_unit_test(test_what_was_asked_is_read),
		cmocka_unit_test(test_what_cannot_be_read_for_sure_is_refused),
		cmocka_unit_test(test_what_the_provider_would_fetch_or_bill_unseen_is_refused),
		cmocka_unit_test(test_a_string_full_of_quotes_is_one_string),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
