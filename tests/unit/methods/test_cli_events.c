/* SPDX-License-Identifier: MIT */
/** \file
 * The adapters against streams recorded from the real CLIs (tests/fixtures/<cli>/), whose first
 * line tells how the process ended, and against streams that no CLI sends.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "methods/events.h"

static const struct {
	const char *fixture;
	const char *code;
	int64_t n_turns;
	struct kgb_usage usage;
} claude_cases[] = {
	{"ok", "agent.ok", 3, {303, 153, 3003, 6003}},
	{"bare_ok", "agent.ok", 3, {303, 153, 3003, 6003}},
	{"ok_2.1.197", "agent.ok", 3, {303, 153, 3003, 6003}},
	{"thinking_ok", "agent.ok", 3, {303, 153, 3003, 6003}},
	{"parallel_tools_same_message_id", "agent.ok", 3, {201, 101, 2001, 4001}},
	{"subagent", "agent.ok", 2, {301, 151, 3001, 6001}},
	{"tcp_cut_midstream", "agent.ok", 3, {403, 154, 4003, 8003}},
	{"sse_error_event", "agent.ok", 3, {303, 153, 3003, 6003}},
	{"unknown_model", "agent.ok", 3, {303, 153, 3003, 6003}},
	{"malformed_sse_fallback_nonstream", "agent.ok", 3, {606, 156, 6006, 12006}},
	{"permissions_denied", "infra.permission_denied", 3, {303, 153, 3003, 6003}},
	{"max_turns", "agent.limit", 4, {303, 153, 3003, 6003}},
	{"max_budget_usd", "agent.limit", 4, {406, 206, 4006, 8006}},
	{"http400_prompt_too_long", "agent.context_full", 1, {-1, -1, -1, -1}},
	{"refusal", "agent.refused", 2, {200, 100, 2000, 4000}},
	{"max_tokens", "agent.truncated", 4, {400, 200, 4000, 8000}},
	{"http401_retries1", "provider.auth", 1, {-1, -1, -1, -1}},
	{"http403", "provider.auth", 1, {-1, -1, -1, -1}},
	{"no_api_key", "provider.auth", 1, {-1, -1, -1, -1}},
	{"http402", "provider.credit", 1, {-1, -1, -1, -1}},
	{"budget_402_after_2_calls", "provider.credit", 3, {201, 101, 2001, 4001}},
	{"http404", "provider.unknown_model", 1, {-1, -1, -1, -1}},
	{"http429_retries1", "provider.transient", 1, {-1, -1, -1, -1}},
	{"http429_xshouldretry_false", "provider.transient", 1, {-1, -1, -1, -1}},
	{"http500_retries1", "provider.transient", 1, {-1, -1, -1, -1}},
	{"malformed_sse_fallback_disabled", "provider.transient", 1, {100, 1, 1000, 2000}},
	{"stall_headers_API_TIMEOUT_MS", "provider.transient", 1, {-1, -1, -1, -1}},
	{"stream_without_message_stop", "provider.network", 6, {609, 120, 6009, 12009}},
	{"conn_refused_retries1", "provider.network", 1, {-1, -1, -1, -1}},
	{"sigint_during_tool", "agent.interrupted", 3, {100, 50, 1000, 2000}},
	{"sigterm_during_tool", "agent.killed", -1, {100, -1, 1000, 2000}},
};

/** The recorded stream and the exit status that its first line ("# rc=N ...") tells. */
static void read_fixture(const char *name, struct kgb_buf *out, int *status)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free)
	char *path = kgb_xasprintf("%s/tests/fixtures/claude/%s.jsonl", KGB_TEST_SOURCE_DIR, name);
	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_EVENT, out, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(kgb_str_starts(out->ptr, "# rc="));
	size_t first = (size_t)(strchr(out->ptr, '\n') - out->ptr) + 1;
	KGB_AUTO(free) char *number = kgb_xstrndup(out->ptr + 5, strcspn(out->ptr + 5, " "));
	int64_t value = 0;
	assert_int_equal(kgb_parse_i64(number, 0, 255, &value, &err), 0);
	*status = (int)value;
	kgb_buf_consume(out, first);
}

static void feed_in_pieces(struct kgb_events *events, const char *data, size_t len, size_t piece)
{
	for (size_t i = 0; i < len; i += piece)
		kgb_events_feed(events, data + i, len - i < piece ? len - i : piece);
	kgb_events_finish(events);
}

static void test_recorded_claude_streams_are_classified_and_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(claude_cases); i++) {
		for (size_t piece = 1; piece <= 100000; piece = piece * 37 + 1) {
			KGB_AUTO(buf) struct kgb_buf stream = KGB_BUF_INIT(0);
			int status = 0;
			read_fixture(claude_cases[i].fixture, &stream, &status);
			struct kgb_events events;
			struct kgb_err err = KGB_ERR_INIT;
			assert_int_equal(kgb_events_init(&events, "claude", &err), 0);
			feed_in_pieces(&events, stream.ptr, stream.len, piece);
			const struct kgb_report *r = &events.report;
			struct kgb_agent_exit exit = {.started = true, .status = status};
			const char *code = kgb_agent_end_code(kgb_agent_classify(r, &exit));
			if (!kgb_str_eq(code, claude_cases[i].code) ||
			    r->n_turns != claude_cases[i].n_turns ||
			    !kgb_usage_equal(&r->usage, &claude_cases[i].usage))
				fail_msg("%s: %s, %lld turns, usage %lld %lld %lld %lld",
					 claude_cases[i].fixture, code, (long long)r->n_turns,
					 (long long)r->usage.input, (long long)r->usage.output,
					 (long long)r->usage.cache_creation,
					 (long long)r->usage.cache_read);
			assert_int_equal(r->n_bad_lines, 0);
			assert_int_equal(r->n_unknown_events, 0);
			kgb_events_release(&events);
		}
	}
}

static void test_strange_lines_are_counted_and_never_fatal(void **state)
{
	(void)state;
	static const char stream[] =
		"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n"
		"not json\n"
		"\n"
		"[1,2]\n"
		"{\"type\":\"telepathy\"}\n"
		"{\"type\":\"system\",\"subtype\":\"brand_new\"}\n"
		"{\"type\":\"assistant\",\"message\":{\"content\":\"not a list\"}}\n"
		"{\"type\":\"assistant\"}\n"
		"{\"type\":\"result\",\"modelUsage\":7,\"permission_denials\":\"x\",\"num_turns\":1e300}\n"
		"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xfe\"}]}}\n"
		"{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"te";
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_events_init(&events, "claude", &err), 0);
	feed_in_pieces(&events, stream, sizeof(stream) - 1, 7);
	assert_int_equal(events.report.n_events, 6);
	assert_int_equal(events.report.n_unknown_events, 2);
	assert_int_equal(events.report.n_bad_lines, 4);
	assert_int_equal(events.report.n_turns, -1);
	kgb_events_release(&events);
}

static void test_a_line_over_the_cap_is_dropped_and_the_next_is_read(void **state)
{
	(void)state;
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_events_init(&events, "claude", &err), 0);
	KGB_AUTO(free) char *flood = kgb_xmalloc(1 << 20);
	memset(flood, 'x', 1 << 20);
	for (int i = 0; i < 12; i++)
		kgb_events_feed(&events, flood, 1 << 20);
	static const char rest[] = "\n{\"type\":\"user\"}\n";
	kgb_events_feed(&events, rest, sizeof(rest) - 1);
	kgb_events_finish(&events);
	assert_int_equal(events.report.n_bad_lines, 1);
	assert_int_equal(events.report.n_events, 1);
	kgb_events_release(&events);
}

static void test_the_harness_own_reasons_come_before_the_cli_s(void **state)
{
	(void)state;
	struct kgb_report report = {
		.has_result = true, .terminal_reason = "completed", .api_error_status = -1};
	static const struct {
		struct kgb_agent_exit exit;
		enum kgb_agent_end end;
	} cases[] = {
		{{.started = true}, KGB_AGENT_OK},
		{{.started = false}, KGB_AGENT_NOT_STARTED},
		{{.started = true, .timed_out = true}, KGB_AGENT_TIMEOUT},
		{{.started = true, .cancelled = true, .timed_out = true}, KGB_AGENT_CANCELLED},
		{{.started = true, .status = 1}, KGB_AGENT_CRASHED},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		assert_int_equal(kgb_agent_classify(&report, &cases[i].exit), cases[i].end);
	report.has_result = false;
	struct kgb_agent_exit killed = {.started = true, .status = 137};
	assert_int_equal(kgb_agent_classify(&report, &killed), KGB_AGENT_KILLED);
	struct kgb_agent_exit silent = {.started = true};
	assert_int_equal(kgb_agent_classify(&report, &silent), KGB_AGENT_CRASHED);
}

static void test_the_last_python_block_is_found(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *block;
	} cases[] = {
		{"no code", NULL},
		{"```python\na = 1\n```", "a = 1\n"},
		{"x\n```python\na\n```\ny\n```py\nb\n```\nz", "b\n"},
		{"```Python3\na\n```\n```json\n{}\n```", "a\n"},
		{"````python\n```python\nx\n```\n````", "```python\nx\n```\n"},
		{"```\nplain\n```", NULL},
		{"```python\nunclosed\n", "unclosed\n"},
		{"```text\n```python\nnot code\n```", NULL},
		{"  ```python title=x\na\n```", "a\n"},
		{"```pythonic\na\n```", NULL},
		{"```python\r\na\r\n```\r\n", "a\r\n"},
		{"```python\n```", NULL},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(free) char *block = kgb_last_python_block(cases[i].text);
		if (!kgb_str_eq(block, cases[i].block))
			fail_msg("case %zu: got '%s'", i, block ? block : "(none)");
	}
}

static void test_an_unknown_adapter_is_named(void **state)
{
	(void)state;
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_events_init(&events, "claud", &err), -1);
	assert_string_equal(err.msg, "unknown event adapter 'claud'; there is 'claude'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded_claude_streams_are_classified_and_counted),
		cmocka_unit_test(test_strange_lines_are_counted_and_never_fatal),
		cmocka_unit_test(test_a_line_over_the_cap_is_dropped_and_the_next_is_read),
		cmocka_unit_test(test_the_harness_own_reasons_come_before_the_cli_s),
		cmocka_unit_test(test_the_last_python_block_is_found),
		cmocka_unit_test(test_an_unknown_adapter_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
