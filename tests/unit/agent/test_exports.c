/* SPDX-License-Identifier: MIT */
/** \file
 * Exports: steps from foreign event streams, XML text, gains, the file that is written.
 */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/exports/junit.h"
#include "agent/exports/output.h"
#include "agent/exports/pairs.h"
#include "agent/exports/steps.h"
#include "base/mem.h"
#include "base/system/fs.h"

/* ---- steps ---- */

/** "user[text] agent[text](name=result)": the steps on one line. */
static void describe(const struct kgb_steps *steps, struct kgb_buf *out)
{
	static const char *const sources[] = {"system", "user", "agent"};
	KGB_VEC_FOREACH(step, &steps->list) {
		kgb_buf_addf(out, "%s%s[%s]", out->len > 0 ? " " : "", sources[step->source],
			     step->message.ptr);
		if (step->reasoning.len > 0)
			kgb_buf_addf(out, "{%s}", step->reasoning.ptr);
		KGB_VEC_FOREACH(call, &step->calls) {
			kgb_buf_addf(out, "(%s%s=%s", call->name, call->arguments,
				     call->result ? call->result : "?");
			if (call->exit_code >= 0)
				kgb_buf_addf(out, " %lld", (long long)call->exit_code);
			kgb_buf_addc(out, ')');
		}
		if (step->usage.output >= 0)
			kgb_buf_addf(out, "<%lld>", (long long)step->usage.output);
	}
	if (steps->n_bad_lines > 0)
		kgb_buf_addf(out, " bad %lld", (long long)steps->n_bad_lines);
	if (steps->n_unknown_events > 0)
		kgb_buf_addf(out, " unknown %lld", (long long)steps->n_unknown_events);
}

static void read_stream(struct kgb_steps *steps, const char *text)
{
	struct kgb_steps_reader *reader = kgb_steps_reader_new(steps);
	for (const char *p = text; *p; p += strlen(p) > 3 ? 3 : strlen(p))
		kgb_steps_feed(reader, p, strlen(p) > 3 ? 3 : strlen(p));
	kgb_steps_finish(reader);
}

#define CLAUDE(id, block) \
	"{\"type\":\"assistant\",\"message\":{\"id\":\"" id "\",\"content\":[" block "]}}\n"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define USE(id, name, input) \
	"{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" input "}"
#define RESULT(id, content)                                                                            \
	"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"" id \
	"\",\"content\":" content "}]}}\n"
#define ITEM(when, id, type, rest) \
	"{\"type\":\"item." when "\",\"item\":{\"id\":\"" id "\",\"type\":\"" type "\"" rest "}}\n"
#define PART(type, message, rest)                                                               \
	"{\"type\":\"" type "\",\"timestamp\":1795226385615,\"part\":{\"messageID\":\"" message \
	"\"" rest "}}\n"

static void test_events_become_steps(void **state)
{
	static const struct {
		const char *stream, *steps;
	} cases[] = {
		/* Claude Code: blocks of one message are one step, results find their call. */
		{CLAUDE("m1", TEXT("a")) CLAUDE("m1", USE("t1", "Bash", "{\"command\":\"ls\"}"))
			 RESULT("t1", "\"out\"") CLAUDE("m2", TEXT("b")),
		 "agent[a](Bash{\"command\":\"ls\"}=out) agent[b]"},
		{CLAUDE("m1", USE("t1", "A", "{}") "," USE("t2", "B", "{}"))
			 RESULT("t2", "[" TEXT("x") "," TEXT("y") ",{\"type\":\"image\"}]"),
		 "agent[](A{}=?)(B{}=x\ny\n(image))"},
		{CLAUDE("m1", "{\"type\":\"thinking\",\"thinking\":\"hm\"}," TEXT("a")),
		 "agent[a]{hm}"},
		{"{\"type\":\"assistant\",\"parent_tool_use_id\":\"t\",\"message\":{\"content\":[" TEXT(
			 "sub") "]}}\n" RESULT("none", "\"lost\""),
		 ""},
		{"{\"type\":\"result\",\"is_error\":true,\"result\":\"API Error: 401\"}\n",
		 "system[API Error: 401]"},
		{"{\"type\":\"user\",\"message\":{\"content\":\"hello\"}}\n", "user[hello]"},
		/* Codex: a call after ended calls begins a step; parallel ones share theirs. */
		{ITEM("completed", "i1", "agent_message", ",\"text\":\"a\"")
			 ITEM("started", "i2", "command_execution", ",\"command\":\"ls\"")
				 ITEM("started", "i3", "web_search", ",\"query\":\"q\"") ITEM(
					 "completed", "i2", "command_execution",
					 ",\"command\":\"ls\",\"aggregated_output\":\"f\","
					 "\"exit_code\":1") ITEM("completed", "i3", "web_search",
								 ",\"status\":\"completed\"")
					 ITEM("completed", "i4", "file_change",
					      ",\"changes\":[1],\"status\":\"ok\""),
		 "agent[a](command_execution{\"command\":\"ls\"}=f 1)(web_search{\"query\":\"q\"}="
		 "completed) agent[](file_change{\"changes\":[1]}=ok)"},
		{ITEM("completed", "i1", "reasoning", ",\"text\":\"hm\"")
			 ITEM("completed", "i2", "agent_message", ",\"text\":\"a\"")
				 ITEM("completed", "i3", "reasoning", ",\"text\":\"so\"")
					 ITEM("completed", "i4", "error", ",\"message\":\"bad\""),
		 "agent[a]{hm} agent[]{so} system[bad]"},
		{"{\"type\":\"turn.failed\",\"error\":{\"message\":\"over\"}}\n", "system[over]"},
		/* OpenCode: a message is a step, with its tokens. */
		{PART("step_start", "m1", "") PART("text", "m1", ",\"text\":\"a\"") PART(
			 "tool_use", "m1",
			 ",\"tool\":\"bash\",\"callID\":\"c\",\"state\":{\"input\":{\"k\":1},"
			 "\"output\":\"o\",\"metadata\":{\"exit\":2}}")
			 PART("step_finish", "m1",
			      ",\"tokens\":{\"input\":1,\"output\":43,\"reasoning\":7,\"cache\":{"
			      "\"read\":0,\"write\":0}},\"cost\":0.5")
				 PART("text", "m2", ",\"text\":\"b\""),
		 "agent[a](bash{\"k\":1}=o 2)<50> agent[b]"},
		{"{\"type\":\"error\",\"error\":{\"name\":\"APIError\",\"data\":{\"message\":\"no\"}}}\n",
		 "system[no]"},
		/* Foreign bytes: nothing is fatal, everything is counted. */
		{"not JSON\n\n[1]\n{\"type\":7}\n{\"type\":\"new.kind\"}\n{}\n",
		 " bad 2 unknown 3"},
		{CLAUDE("m", USE("", "", "null")) "{\"type\":\"assistant\"}\n" ITEM("started", "",
										    "x", ""),
		 "agent[](tool{\"input\":null}=?) agent[](x{}=?)"},
		{"{\"type\":\"item.completed\"}\n{\"type\":\"item.completed\",\"item\":[]}\n"
		 "{\"type\":\"text\"}\n{\"type\":\"tool_use\",\"part\":{}}\n",
		 "agent[] agent[](tool{}=?)"},
		{CLAUDE("m", USE("t", "A", "[1]")) "{\"type\":\"assist",
		 "agent[](A{\"input\":[1]}=?) bad 1"},
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(steps) struct kgb_steps steps = {0};
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		read_stream(&steps, cases[i].stream);
		describe(&steps, &text);
		assert_string_equal(text.ptr, cases[i].steps);
	}
}

static void test_ids_of_calls_are_of_their_stream(void **state)
{
	KGB_AUTO(steps) struct kgb_steps steps = {0};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	static const char *const stream = ITEM("started", "item_1", "command_execution", "")
		ITEM("completed", "item_1", "command_execution", ",\"aggregated_output\":\"o\"");
	(void)state;
	for (int round = 0; round < 2; round++) {
		kgb_steps_add(&steps, KGB_STEP_USER, "go");
		read_stream(&steps, stream);
	}
	describe(&steps, &text);
	assert_string_equal(text.ptr, "user[go] agent[](command_execution{}=o) user[go] "
				      "agent[](command_execution{}=o)");
}

static void test_a_trajectory_has_a_cap(void **state)
{
	KGB_AUTO(steps) struct kgb_steps steps = {0};
	KGB_AUTO(free) char *much = kgb_xmalloc(1 << 20);
	(void)state;
	memset(much, 'x', (1 << 20) - 1);
	much[(1 << 20) - 1] = '\0';
	for (int i = 0; i < 80; i++)
		kgb_steps_add(&steps, KGB_STEP_USER, much);
	assert_true(steps.bytes <= KGB_STEPS_BYTES && steps.bytes > KGB_STEPS_BYTES / 2);
	assert_int_equal(steps.n_left_out, 16);
}

/* ---- XML ---- */

static void test_xml_text_is_always_well_formed(void **state)
{
	static const struct {
		const char *text, *content, *attribute;
	} cases[] = {
		{"a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;", "a&lt;b&gt;&amp;&quot;c&quot;"},
		{"1\n2\t3\r", "1\n2\t3&#13;", "1&#10;2&#9;3&#13;"},
		{"\033[31mred\001", "\\x1b[31mred\\x01", "\\x1b[31mred\\x01"},
		{"]]>", "]]&gt;", "]]&gt;"},
		{"\xff\xc3\xa4\xed\xa0\x80", "\\xff\xc3\xa4\\xed\\xa0\\x80",
		 "\\xff\xc3\xa4\\xed\\xa0\\x80"},
		{"\xef\xbf\xbe\xef\xbf\xbd", "\\xef\\xbf\\xbe\xef\xbf\xbd",
		 "\\xef\\xbf\\xbe\xef\xbf\xbd"},
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf content = KGB_BUF_INIT(0);
		KGB_AUTO(buf) struct kgb_buf attribute = KGB_BUF_INIT(0);
		kgb_xml_escape(&content, cases[i].text, false);
		kgb_xml_escape(&attribute, cases[i].text, true);
		assert_string_equal(content.ptr, cases[i].content);
		assert_string_equal(attribute.ptr, cases[i].attribute);
	}
}

/* ---- gains ---- */

static struct kgb_verdict_summary timed(double speedup, double low, double high, const char *gpu)
{
	return (struct kgb_verdict_summary){.status = "passed",
					    .speedup = speedup,
					    .speedup_low = low,
					    .speedup_high = high,
					    .baseline = "torch",
					    .gpu = gpu};
}

static void test_a_gain_has_an_interval(void **state)
{
	const struct kgb_verdict_summary slow = timed(1, 0.9, 1.1, "H100");
	const struct kgb_verdict_summary fast = timed(1.25, 1.2, 1.3, "H100");
	const struct kgb_verdict_summary wide = timed(1.25, 1.0, 1.5, "H100");
	const struct kgb_verdict_summary other = timed(1.25, 1.2, 1.3, "H200");
	const struct kgb_verdict_summary none = timed(0, 0, 0, "H100");
	struct kgb_gain gain;
	(void)state;
	assert_true(kgb_gain_of(&slow, &fast, &gain));
	/* 1.25 exp(-sqrt(ln(1.25/1.2)^2 + ln(1.1)^2)), 1.25 exp(sqrt(ln(1.3/1.25)^2 + ln(1/0.9)^2))
	 */
	assert_true(fabs(gain.ratio - 1.25) < 1e-12);
	assert_true(fabs(gain.low - 1.1268872) < 1e-6 && fabs(gain.high - 1.3987337) < 1e-6);
	assert_true(kgb_gain_of(&slow, &wide, &gain));
	assert_true(gain.low < 1 && gain.high > 1);
	assert_true(kgb_gain_of(&slow, &slow, &gain));
	assert_true(gain.ratio == 1 && gain.low < 1 && gain.high > 1);
	assert_false(kgb_gain_of(&slow, &other, &gain));
	assert_false(kgb_gain_of(&none, &fast, &gain));
	assert_false(kgb_gain_of(&slow, &none, &gain));
}

/* ---- the file ---- */

static void write_text(struct kgb_output *out, const char *text)
{
	KGB_AUTO(buf) struct kgb_buf piece = KGB_BUF_INIT(0);
	kgb_buf_adds(&piece, text);
	assert_ok(kgb_output_add(out, &piece, err));
	assert_int_equal(piece.len, 0);
}

static void assert_holds(const char *path, const char *text)
{
	KGB_AUTO(buf) struct kgb_buf is = KGB_BUF_INIT(0);
	assert_ok(kgb_fs_read(AT_FDCWD, path, 1000, &is, err));
	assert_string_equal(is.ptr, text);
}

static void test_a_file_is_replaced_as_a_whole_or_not_at_all(void **state)
{
	struct scratch scratch;
	struct kgb_output out = KGB_OUTPUT_INIT;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	(void)state;
	make_scratch(&scratch);
	KGB_AUTO(free) char *path = kgb_path_join(scratch.path, "out");
	KGB_AUTO(free) char *link = kgb_path_join(scratch.path, "link");
	KGB_AUTO(free) char *fifo = kgb_path_join(scratch.path, "fifo");
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, "old", 3, 0644, false, err));
	assert_int_equal(symlink("out", link), 0);
	assert_ok(kgb_output_open(&out, path, err));
	write_text(&out, "half");
	kgb_output_release(&out);
	assert_holds(path, "old");
	assert_ok(kgb_output_open(&out, link, err));
	write_text(&out, "all ");
	write_text(&out, "of it");
	assert_holds(path, "old");
	assert_ok(kgb_output_commit(&out, err));
	kgb_output_release(&out);
	assert_holds(path, "all of it");
	assert_ok(kgb_fs_list(scratch.path, &names, err));
	assert_int_equal(names.n, 2);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_fails(kgb_output_open(&out, fifo, err), KGB_ERR_DENIED, "not a regular file");
	assert_fails(kgb_output_open(&out, "/nowhere/x", err), KGB_ERR_NOT_FOUND, "/nowhere/x");
	drop_scratch(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_become_steps),
		cmocka_unit_test(test_ids_of_calls_are_of_their_stream),
		cmocka_unit_test(test_a_trajectory_has_a_cap),
		cmocka_unit_test(test_xml_text_is_always_well_formed),
		cmocka_unit_test(test_a_gain_has_an_interval),
		cmocka_unit_test(test_a_file_is_replaced_as_a_whole_or_not_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
