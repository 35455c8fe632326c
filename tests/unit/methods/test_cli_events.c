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

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "methods/events.h"
#include "methods/slim.h"

struct recorded {
	const char *fixture;
	const char *code;
	int64_t n_turns;
	struct kgb_usage usage;
};

static const struct recorded claude_cases[] = {
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

#define NONE                   \
	{                      \
		-1, -1, -1, -1 \
	}
/* Its events tell no number of turns; usage only comes with a turn that ended well. */
static const struct recorded codex_cases[] = {
	{"ok", "agent.ok", -1, {3000, 153, 0, 6003}},
	{"scripted", "agent.ok", -1, {10880, 4366, 0, 37277}},
	{"reasoning_ok", "agent.ok", -1, {3000, 153, 0, 6003}},
	{"big_command_output", "agent.ok", -1, {3000, 153, 0, 6003}},
	{"read_only_sandbox", "agent.ok", -1, {3000, 153, 0, 6003}},
	{"long_command_unfinished_item", "agent.ok", -1, {3000, 153, 0, 6003}},
	{"max_tokens_incomplete", "agent.truncated", -1, NONE},
	{"http400", "agent.context_full", -1, NONE},
	{"http401", "provider.auth", -1, NONE},
	{"http429", "provider.transient", -1, NONE},
	{"http500", "provider.transient", -1, NONE},
	{"no_response_completed", "provider.network", -1, NONE},
	{"stall_idle_timeout", "provider.network", -1, NONE},
	{"tcp_cut", "provider.network", -1, NONE},
	{"conn_refused_never_exits", "agent.killed", -1, NONE},
};

static const struct recorded opencode_cases[] = {
	{"ok_chat", "agent.ok", 3, {3000, 153, 0, 6003}},
	{"scripted", "agent.ok", 5, {10474, 4366, 0, 34889}},
	{"ok_responses", "agent.ok", 3, {3000, 153, 0, 6003}},
	{"ok_anthropic", "agent.ok", 3, {303, 153, 3003, 6003}},
	{"thinking", "agent.ok", 3, {3000, 153, 0, 6003}},
	{"subagent_task", "agent.ok", 2, {2000, 101, 0, 4001}},
	{"no_usage", "agent.ok", 3, NONE}, /* the server told none: not zero */
	{"max_tokens", "agent.truncated", 1, {1000, 50, 0, 2000}},
	{"http400_context_overflow", "agent.context_full", -1, NONE},
	{"http401", "provider.auth", -1, NONE},
	{"http429", "provider.transient", -1, NONE},
	{"http500", "provider.transient", -1, NONE},
	{"conn_refused", "provider.network", -1, NONE},
	/* Asked three times without a word; then our gateway refused, as for a lack of credit.
	 * kgb_ending_classify has the reason from the gateway. */
	{"broken_streams", "provider.credit", -1, NONE},
	{"bad_model", "agent.crashed", -1, NONE},
	{"permission_ask_autoreject", "infra.permission_denied", 1, {1000, 50, 0, 2000}},
	{"external_directory_autoreject", "infra.permission_denied", 1, {1000, 50, 0, 2000}},
	{"stream_without_message_stop", "agent.killed", 8, NONE},
	{"truncated_stdout", "agent.crashed", 2, {2000, 101, 0, 4001}},
};

/** The recorded stream and the exit status that its first line ("# rc=N ...") tells. */
static void read_fixture(const char *cli, const char *name, struct kgb_buf *out,
			 struct kgb_agent_exit *exit)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free)
	char *path = kgb_xasprintf("%s/tests/fixtures/%s/%s.jsonl", KGB_TEST_SOURCE_DIR, cli, name);
	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_EVENT, out, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(kgb_str_starts(out->ptr, "# rc="));
	size_t first = (size_t)(strchr(out->ptr, '\n') - out->ptr) + 1;
	KGB_AUTO(free) char *number = kgb_xstrndup(out->ptr + 5, strcspn(out->ptr + 5, " "));
	int64_t value = 0;
	assert_int_equal(kgb_parse_i64(number, -64, 255, &value, &err), 0);
	*exit = (struct kgb_agent_exit){.started = true,
					.status = value < 0 ? -1 : (int)value,
					.signal = value < 0 ? (int)-value : 0};
	kgb_buf_consume(out, first);
}

static void feed_in_pieces(struct kgb_events *events, const char *data, size_t len, size_t piece)
{
	for (size_t i = 0; i < len; i += piece)
		kgb_events_feed(events, data + i, len - i < piece ? len - i : piece);
	kgb_events_finish(events);
}

static void check_recorded(const char *cli, const struct recorded *want, size_t piece)
{
	KGB_AUTO(buf) struct kgb_buf stream = KGB_BUF_INIT(0);
	struct kgb_agent_exit exit;
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	read_fixture(cli, want->fixture, &stream, &exit);
	assert_int_equal(kgb_events_init(&events, cli, &err), 0);
	feed_in_pieces(&events, stream.ptr, stream.len, piece);
	const struct kgb_report *r = &events.report;
	const char *code = kgb_agent_end_code(kgb_agent_classify(r, &exit));
	if (!kgb_str_eq(code, want->code) || r->n_turns != want->n_turns ||
	    !kgb_usage_equal(&r->usage, &want->usage))
		fail_msg("%s %s: %s, %lld turns, usage %lld %lld %lld %lld", cli, want->fixture,
			 code, (long long)r->n_turns, (long long)r->usage.input,
			 (long long)r->usage.output, (long long)r->usage.cache_creation,
			 (long long)r->usage.cache_read);
	if (r->n_unknown_events != 0)
		fail_msg("%s %s: %lld unknown events", cli, want->fixture,
			 (long long)r->n_unknown_events);
	/* Of a pipe that was cut off, the last line is. */
	assert_int_equal(r->n_bad_lines, kgb_str_eq(want->fixture, "truncated_stdout") ? 1 : 0);
	kgb_events_release(&events);
}

static void test_recorded_streams_are_classified_and_counted_however_they_are_cut(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= 100000; piece = piece * 37 + 1) {
		for (size_t i = 0; i < KGB_ARRAY_LEN(claude_cases); i++)
			check_recorded("claude", &claude_cases[i], piece);
		for (size_t i = 0; i < KGB_ARRAY_LEN(codex_cases); i++)
			check_recorded("codex", &codex_cases[i], piece);
		for (size_t i = 0; i < KGB_ARRAY_LEN(opencode_cases); i++)
			check_recorded("opencode", &opencode_cases[i], piece);
	}
}

static void test_details_of_a_session_are_kept(void **state)
{
	(void)state;
	static const struct {
		const char *cli, *fixture, *session, *text;
		int64_t n_calls, n_retries;
	} cases[] = {
		{"claude", "ok", "32f05ca7-f5be-4879-8408-a1684f2167ed", "Done. Final kernel", 2,
		 0},
		/* The calls of a sub-agent are not its own. */
		{"claude", "subagent", "0d7ac7de-9eea-4ffd-b845-bebd23760c0b", "Done.", 1, 0},
		{"claude", "parallel_tools_same_message_id", "a6992c36", "Done.", 2, 0},
		{"claude", "tcp_cut_midstream", "d954954f", "Done.", 2, 2},
		{"codex", "ok", "01a1fbe1-061b-7cc1-81fc-7d572059e238", "Done.", 2, 0},
		{"codex", "long_command_unfinished_item", "01a1", "Done.", 0, 0},
		{"codex", "http429", "01a1", NULL, 0, 5},
		{"opencode", "ok_chat", "ses_", "Done.", 2, 0},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf stream = KGB_BUF_INIT(0);
		struct kgb_agent_exit exit;
		struct kgb_events events;
		struct kgb_err err = KGB_ERR_INIT;
		read_fixture(cases[i].cli, cases[i].fixture, &stream, &exit);
		assert_int_equal(kgb_events_init(&events, cases[i].cli, &err), 0);
		feed_in_pieces(&events, stream.ptr, stream.len, 4096);
		const struct kgb_report *r = &events.report;
		bool text = cases[i].text ? r->final_text && strstr(r->final_text, cases[i].text)
					  : !r->final_text;
		if (!kgb_str_starts(r->session_id, cases[i].session) || !text ||
		    r->n_tool_calls != cases[i].n_calls || r->n_api_retries != cases[i].n_retries)
			fail_msg("%s: session %s, %lld calls, %lld retries, text %s",
				 cases[i].fixture, r->session_id, (long long)r->n_tool_calls,
				 (long long)r->n_api_retries,
				 r->final_text ? r->final_text : "(none)");
		kgb_events_release(&events);
	}
}

static void test_usage_that_is_told_twice_counts_once(void **state)
{
	(void)state;
	static const struct {
		const char *cli, *stream;
		struct kgb_usage want;
		int64_t n_turns;
	} cases[] = {
		/* The same part again. */
		{"opencode",
		 "{\"type\":\"step_finish\",\"part\":{\"id\":\"a\",\"reason\":\"tool-calls\",\"tokens\":{\"total\":9,\"input\":4,\"output\":2,\"reasoning\":1,\"cache\":{\"read\":2,\"write\":0}}}}\n"
		 "{\"type\":\"step_finish\",\"part\":{\"id\":\"a\",\"reason\":\"tool-calls\",\"tokens\":{\"total\":9,\"input\":4,\"output\":2,\"reasoning\":1,\"cache\":{\"read\":2,\"write\":0}}}}\n",
		 {4, 3, 0, 2},
		 1},
		/* One event for each block of a message, of a CLI that was killed. */
		{"claude",
		 "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":4,\"output_tokens\":1,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":2},\"content\":[]}}\n"
		 "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":4,\"output_tokens\":1,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":2},\"content\":[]}}\n",
		 {4, -1, 3, 2},
		 -1},
		/* The same, with a sub-agent's message in between, which is not the session's own.
		 */
		{"claude",
		 "{\"type\":\"assistant\",\"parent_tool_use_id\":null,\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":4,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":2},\"content\":[]}}\n"
		 "{\"type\":\"assistant\",\"parent_tool_use_id\":\"t\",\"message\":{\"id\":\"s\",\"usage\":{\"input_tokens\":50,\"cache_creation_input_tokens\":60,\"cache_read_input_tokens\":70},\"content\":[]}}\n"
		 "{\"type\":\"assistant\",\"parent_tool_use_id\":null,\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":4,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":2},\"content\":[]}}\n",
		 {4, -1, 3, 2},
		 -1},
		/* A message goes on after another one of the session has begun. */
		{"claude",
		 "{\"type\":\"assistant\",\"message\":{\"id\":\"a\",\"usage\":{\"input_tokens\":4,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":2},\"content\":[]}}\n"
		 "{\"type\":\"assistant\",\"message\":{\"id\":\"b\",\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":30},\"content\":[]}}\n"
		 "{\"type\":\"assistant\",\"message\":{\"id\":\"a\",\"usage\":{\"input_tokens\":4,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":2},\"content\":[]}}\n"
		 "{\"type\":\"assistant\",\"message\":{\"id\":\"b\",\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":30},\"content\":[]}}\n",
		 {14, -1, 23, 32},
		 -1},
		{"opencode",
		 "{\"type\":\"step_finish\",\"part\":{\"id\":\"a\",\"reason\":\"tool-calls\",\"tokens\":{\"total\":9,\"input\":4,\"output\":2,\"reasoning\":1,\"cache\":{\"read\":2,\"write\":0}}}}\n"
		 "{\"type\":\"step_finish\",\"part\":{\"id\":\"b\",\"reason\":\"tool-calls\",\"tokens\":{\"total\":15,\"input\":10,\"output\":2,\"reasoning\":1,\"cache\":{\"read\":2,\"write\":0}}}}\n"
		 "{\"type\":\"step_finish\",\"part\":{\"id\":\"a\",\"reason\":\"tool-calls\",\"tokens\":{\"total\":9,\"input\":4,\"output\":2,\"reasoning\":1,\"cache\":{\"read\":2,\"write\":0}}}}\n",
		 {14, 6, 0, 4},
		 2},
		/* The closing event has all models, and takes the place of what was told before. */
		{"claude",
		 "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":4,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":2},\"content\":[]}}\n"
		 "{\"type\":\"result\",\"num_turns\":1,\"usage\":{\"input_tokens\":4,\"output_tokens\":5},\"modelUsage\":{\"large\":{\"inputTokens\":4,\"outputTokens\":5,\"cacheCreationInputTokens\":3,\"cacheReadInputTokens\":2},\"small\":{\"inputTokens\":10,\"outputTokens\":20,\"cacheCreationInputTokens\":30,\"cacheReadInputTokens\":40}}}\n",
		 {14, 25, 33, 42},
		 1},
		/* A counter that goes on through the session. */
		{"codex",
		 "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":9,\"cached_input_tokens\":2,\"output_tokens\":3}}\n"
		 "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":19,\"cached_input_tokens\":8,\"output_tokens\":5}}\n",
		 {11, 5, 0, 8},
		 -1},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_events events;
		struct kgb_err err = KGB_ERR_INIT;
		assert_int_equal(kgb_events_init(&events, cases[i].cli, &err), 0);
		feed_in_pieces(&events, cases[i].stream, strlen(cases[i].stream), 100);
		const struct kgb_report *r = &events.report;
		if (!kgb_usage_equal(&r->usage, &cases[i].want) || r->n_turns != cases[i].n_turns)
			fail_msg("%s: %lld in, %lld out, %lld turns", cases[i].cli,
				 (long long)r->usage.input, (long long)r->usage.output,
				 (long long)r->n_turns);
		kgb_events_release(&events);
	}
}

/** Feed message `number`, of one token. */
static void feed_message(struct kgb_events *events, int number)
{
	char line[200];
	int len = snprintf(
		line, sizeof(line),
		"{\"type\":\"assistant\",\"message\":{\"id\":\"m%d\",\"usage\":{\"input_tokens\":1},\"content\":[]}}\n",
		number);
	kgb_events_feed(events, line, (size_t)len);
}

static void test_of_any_number_of_messages_the_latest_are_known_again(void **state)
{
	(void)state;
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_events_init(&events, "claude", &err), 0);
	for (int i = 0; i < 3000; i++)
		feed_message(&events, i);
	for (int i = 2000; i < 3000; i++)
		feed_message(&events, i);
	assert_int_equal(events.report.usage.input, 3000);
	/* What a stream can make us hold has an end. */
	assert_true(events.counted.n < 2000);
	kgb_events_release(&events);
}

/* A step that follows takes back what looked like the end. */
static void test_a_session_that_goes_on_has_not_ended(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"{\"type\":\"step_finish\",\"part\":{\"id\":\"a\",\"reason\":\"stop\"}}\n",
		"{\"type\":\"step_start\",\"part\":{}}\n",
		"{\"type\":\"step_finish\",\"part\":{\"id\":\"b\",\"reason\":\"tool-calls\"}}\n",
		"{\"type\":\"step_finish\",\"part\":{\"id\":\"c\",\"reason\":\"stop\"}}\n",
	};
	static const bool ended[] = {true, false, false, true};
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_events_init(&events, "opencode", &err), 0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(lines); i++) {
		kgb_events_feed(&events, lines[i], strlen(lines[i]));
		assert_int_equal(events.report.has_result, ended[i]);
	}
	kgb_events_release(&events);
}

static void test_a_program_without_events_is_judged_by_its_exit_status(void **state)
{
	(void)state;
	static const struct {
		struct kgb_agent_exit exit;
		enum kgb_agent_end end;
	} cases[] = {
		{{.started = true}, KGB_AGENT_OK},
		{{.started = true, .status = 3}, KGB_AGENT_CRASHED},
		{{.started = true, .status = 137}, KGB_AGENT_KILLED},
		{{.started = true, .status = -1, .signal = 9}, KGB_AGENT_KILLED},
		{{.started = true, .timed_out = true}, KGB_AGENT_TIMEOUT},
	};
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_events_init(&events, "exit", &err), 0);
	static const char text[] = "{\"type\":\"result\"}\nworking \377 on it\n";
	feed_in_pieces(&events, text, sizeof(text) - 1, 3);
	assert_int_equal(events.report.n_events, 2);
	assert_int_equal(events.report.n_bad_lines, 0);
	assert_false(events.report.has_result);
	assert_non_null(strstr(events.report.last_event, "on it"));
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		assert_int_equal(kgb_agent_classify(&events.report, &cases[i].exit), cases[i].end);
	kgb_events_release(&events);
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

/* What a tool printed may be of any length; the event around it is read all the same. */
static void test_an_event_with_a_string_of_30_mb_is_read(void **state)
{
	(void)state;
	static const char head[] =
		"{\"type\":\"item.completed\",\"item\":{\"type\":\"command_execution\",\"aggregated_output\":\"";
	static const char tail[] = "\",\"command\":\"kgb-verify\"}}\n";
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_events_init(&events, "codex", &err), 0);
	KGB_AUTO(buf) struct kgb_buf piece = KGB_BUF_INIT(0);
	while (piece.len < 1 << 20)
		kgb_buf_adds(&piece, "caf\xc3\xa9 \\u00e9 \\n\\\"\\ud83d\\ude00");
	kgb_events_feed(&events, head, sizeof(head) - 1);
	for (int i = 0; i < 30; i++)
		kgb_events_feed(&events, piece.ptr, piece.len);
	kgb_events_feed(&events, tail, sizeof(tail) - 1);
	kgb_events_finish(&events);
	assert_int_equal(events.report.n_bad_lines, 0);
	assert_int_equal(events.report.n_tool_calls, 1);
	assert_string_equal(events.report.last_event, "exec: kgb-verify");
	assert_true(events.lines.line.cap <= 2 * KGB_LIMIT_EVENT);
	kgb_events_release(&events);
}

struct slimmed {
	struct kgb_buf lines;
};

static void on_slim(void *payload, const char *line, size_t len)
{
	struct slimmed *out = payload;
	kgb_buf_add(&out->lines, line, len);
	kgb_buf_addc(&out->lines, '|');
}

static void test_strings_are_cut_between_characters(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"{\"a\":\"12345\"}\n", "{\"a\":\"1234\"}|"},
		{"\"1234\"\n\"12345\"\r\n", "\"1234\"|\"1234\"|"},
		{"\"12\\\"45\"\n", "\"12\\\"\"|"}, /* the escape fits */
		{"\"123\\\"5\"\n", "\"123\\\"\"|"}, /* begun in time */
		{"\"12\xc3\xa9\xc3\xa9\"\n", "\"12\xc3\xa9\"|"},
		{"\"123\xc3\xa9x\"\n", "\"123\xc3\xa9\"|"},
		{"\"\\u00e9x\"\n", "\"\\u00e9\"|"},
		{"\"\\ud83d\\ude00\"\n", "\"\"|"}, /* half a pair is no character */
		{"\"12345\\\\\"x\n", "\"1234\"x|"},
		{"no json \" at all\nnext", "no json \" at |next|"},
		{"\n\n", "||"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		for (size_t piece = 1; piece < 9; piece++) {
			struct kgb_slim slim;
			struct slimmed got = {.lines = KGB_BUF_INIT(0)};
			const char *in = cases[i].in;
			kgb_slim_init(&slim, 64, 4);
			for (size_t at = 0, len = strlen(in); at < len; at += piece)
				kgb_slim_feed(&slim, in + at, len - at < piece ? len - at : piece,
					      on_slim, &got);
			kgb_slim_finish(&slim, on_slim, &got);
			if (!kgb_str_eq(got.lines.ptr, cases[i].out))
				fail_msg("case %zu in pieces of %zu: %s", i, piece, got.lines.ptr);
			kgb_buf_release(&got.lines);
			kgb_slim_release(&slim);
		}
	}
}

static void test_the_harness_own_reasons_come_before_the_cli_s(void **state)
{
	(void)state;
	struct kgb_report report = {.kind = KGB_ADAPTER_CLAUDE,
				    .has_result = true,
				    .terminal_reason = "completed",
				    .api_error_status = -1};
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

static void test_an_unknown_adapter_is_named(void **state)
{
	(void)state;
	struct kgb_events events;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_events_init(&events, "claud", &err), -1);
	assert_string_equal(
		err.msg,
		"unknown event adapter 'claud'; there are claude, opencode, codex and exit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_recorded_streams_are_classified_and_counted_however_they_are_cut),
		cmocka_unit_test(test_details_of_a_session_are_kept),
		cmocka_unit_test(test_usage_that_is_told_twice_counts_once),
		cmocka_unit_test(test_of_any_number_of_messages_the_latest_are_known_again),
		cmocka_unit_test(test_a_session_that_goes_on_has_not_ended),
		cmocka_unit_test(test_a_program_without_events_is_judged_by_its_exit_status),
		cmocka_unit_test(test_an_event_with_a_string_of_30_mb_is_read),
		cmocka_unit_test(test_strings_are_cut_between_characters),
		cmocka_unit_test(test_strange_lines_are_counted_and_never_fatal),
		cmocka_unit_test(test_a_line_over_the_cap_is_dropped_and_the_next_is_read),
		cmocka_unit_test(test_the_harness_own_reasons_come_before_the_cli_s),
		cmocka_unit_test(test_an_unknown_adapter_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
