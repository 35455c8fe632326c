/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <math.h>

#include "agent/report/styled.h"
#include "agent/screen/block.h"
#include "agent/screen/event_line.h"
#include "base/mem.h"
#include "base/str.h"

#define LEFT                                                         \
	{                                                            \
		.ms = {3723000, 3000000, 4801000}, .usd_spent = 3.2, \
		.usd = {.median = 11.8,                              \
			.low = 10.1,                                 \
			.high = 13.9 }                               \
	}
#define NOT_KNOWN                                                                        \
	{                                                                                \
		.ms = {(double)NAN, (double)NAN, (double)NAN}, .usd_spent = (double)NAN, \
		.usd = {(double)NAN,                                                     \
			(double)NAN,                                                     \
			(double)NAN }                                                    \
	}

static void print_shown(const struct kgb_shown *shown, size_t rows, size_t columns,
			const struct kgb_forecast *forecast, struct kgb_buf *out)
{
	KGB_AUTO(styled) struct kgb_styled block = KGB_STYLED(columns);
	const struct kgb_block_view view = {.rows = rows,
					    .now_ms = shown->runs[0].state->started_ms + 73000,
					    .forecast = forecast};
	kgb_block_lay(shown, &view, &block);
	kgb_styled_print_all(&block, false, out);
	KGB_VEC_FOREACH(taken, &block.columns)
		assert_true(*taken <= columns);
	assert_true(block.columns.n <= rows || rows == 0);
}

static void print_block(const struct kgb_run_state *run, size_t rows, size_t columns,
			const struct kgb_forecast *forecast, struct kgb_buf *out)
{
	const struct kgb_shown_run alone = {.state = run};
	const struct kgb_shown shown = {.runs = &alone, .n = 1};
	print_shown(&shown, rows, columns, forecast, out);
}

/** The story while aten::add runs and aten::silu is verified. */
static void fold_middle(struct kgb_run_state *run)
{
	fold_story(run, NULL);
	run->finished = false;
	run->ops[0].status = KGB_OP_RUNNING;
	snprintf(run->ops[0].doing, sizeof(run->ops[0].doing), "%s",
		 "Bash: kgb-verify and a lot of other words that do not matter");
	run->ops[2].status = KGB_OP_VERIFYING;
	run->ops[2].n_queued = 1;
}

static void test_a_block_has_the_same_parts_at_each_width(void **state)
{
	static const struct {
		size_t columns;
		const char *lines;
	} cases[] = {
		{40, "running 1:13  OFFLINE  normal_cc_Kernel~\n"
		     "[xxxxxxx>>>>>>>>>>>>>>.......] 1/4  25 %\n"
		     "x 1 not passed  > 2 running  . 1 waiting\n"
		     "left 1:02:03 (50:00 to 1:20:01)\n"
		     "cost $3.20 of about $11.80 (10.10 to 13~\n"
		     " aten::mm    timeout      agent.timeout~\n"
		     " aten::add   running      1:12  13.3k i~\n"
		     " aten::silu  verifying    0:52  queued\n"},
		{80,
		 "running 1:13  OFFLINE  normal_cc_KernelGenBench_20261121T080000Z_0a1b\n"
		 "[xxxxxxxxxxxxxxxxx>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>.................] 1/4  25 %\n"
		 "x 1 not passed  > 2 running  . 1 waiting  (1 timeout)\n"
		 "left 1:02:03 (50:00 to 1:20:01)\n"
		 "cost $3.20 of about $11.80 (10.10 to 13.90), tokens 13.3k in 120 out\n"
		 " aten::mm    timeout      agent.timeout: no kernel after 20 m\n"
		 " aten::add   running      1:12  13.3k in 120 out  check 2 passed  Bash: kgb-ver~\n"
		 " aten::silu  verifying    0:52  queued\n"},
		{120,
		 "running 1:13  OFFLINE  normal_cc_KernelGenBench_20261121T080000Z_0a1b\n"
		 "[xxxxxxxxxxxxxxxxxxxxxxxxxxx>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>...........................] 1/4  25 %\n"
		 "x 1 not passed  > 2 running  . 1 waiting  (1 timeout)\n"
		 "left 1:02:03 (50:00 to 1:20:01)  cost $3.20 of about $11.80 (10.10 to 13.90), tokens 13.3k in 120 out\n"
		 " aten::mm    timeout      agent.timeout: no kernel after 20 m\n"
		 " aten::add   running      1:12  13.3k in 120 out  check 2 passed  Bash: kgb-verify and a lot of other words that do not~\n"
		 " aten::silu  verifying    0:52  queued\n"},
	};
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	const struct kgb_forecast forecast = LEFT;
	fold_middle(&run);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		print_block(&run, 23, cases[i].columns, &forecast, &text);
		assert_string_equal(text.ptr, cases[i].lines);
	}
}

enum { N_OPS = 40 };
static struct kgb_op_state forty_ops[N_OPS];
static char forty_names[N_OPS][8];

/** Forty operators, of which the first n_failed failed and the others run. */
static struct kgb_run_state forty(size_t n_failed)
{
	for (size_t i = 0; i < N_OPS; i++) {
		snprintf(forty_names[i], sizeof(forty_names[i]), "op%zu", i);
		forty_ops[i] = (struct kgb_op_state){.name = forty_names[i],
						     .status = i < n_failed ? KGB_OP_FAILED
									    : KGB_OP_RUNNING,
						     .error_code = "agent.no_kernel",
						     .verify_started_ms = -1,
						     .changed_ms = (int64_t)i};
	}
	return (struct kgb_run_state){.ops = forty_ops, .n_ops = N_OPS};
}

static void test_what_has_no_row_is_counted(void **state)
{
	static const struct {
		size_t n_failed, rows;
		const char *parts[4];
	} cases[] = {
		{0, 0, {"[>>>>"}},
		{0, 1, {"[>>>>"}},
		{0,
		 4,
		 {"] 0/40  0 %\n", "left: known once 3 operators have ended\n",
		  " +39 more running\n"}},
		{0, 10, {" op0 ", " op4 ", " +35 more running\n"}},
		{0, 60, {" op38 ", " op39 "}},
		{12,
		 24,
		 {" op11  failed       agent.no_kernel\n", " op7 ", " +7 more not passed\n",
		  " +15 more running\n"}},
		{40, 12, {" op39 ", " op33 ", " +33 more not passed\n"}},
		{38, 24, {" op37 ", " op38  running", " op39  running"}},
	};
	(void)state;
	struct kgb_forecast forecast = NOT_KNOWN;
	forecast.will_know = true;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_run_state run = forty(cases[i].n_failed);
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		print_block(&run, cases[i].rows, 80, &forecast, &text);
		const char *at = text.ptr;
		for (size_t k = 0; k < KGB_ARRAY_LEN(cases[i].parts) && cases[i].parts[k]; k++) {
			at = strstr(at, cases[i].parts[k]);
			if (!at)
				fail_msg("case %zu: no '%s' in its place in\n%s", i,
					 cases[i].parts[k], text.ptr);
		}
	}
}

static void test_every_size_holds_the_block(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state story = KGB_RUN_STATE_INIT;
	const struct kgb_forecast forecasts[] = {LEFT, NOT_KNOWN};
	fold_middle(&story);
	for (size_t n_failed = 0; n_failed <= N_OPS; n_failed += 10) {
		const struct kgb_run_state many = forty(n_failed);
		for (size_t rows = 0; rows < 60; rows += 1 + rows / 9)
			for (size_t columns = 0; columns < 200; columns += 1 + columns / 9) {
				KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
				print_block(&many, rows, columns, &forecasts[rows % 2], &text);
				print_block(&story, rows, columns, &forecasts[rows % 2], &text);
			}
	}
}

static void test_hostile_text_stays_in_its_cell(void **state)
{
	enum { MANY = 10 << 20 };
	static const char *const bad[] = {
		"\033[2J\033]0;title\a\r\nnext",
		"\xe2\x80\xae"
		"desrever"
		"\xe2\x81\xa6",
		"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97",
		"e\xcc\x81\xcc\x82\xcc\x83",
		"\xff\xfe\x80",
		"",
		NULL,
	};
	(void)state;
	KGB_AUTO(free) char *long_text = kgb_xmalloc(MANY + 1);
	memset(long_text, 'y', MANY);
	long_text[MANY] = '\0';
	const struct kgb_forecast forecast = LEFT;
	for (size_t i = 0; i < KGB_ARRAY_LEN(bad); i++) {
		const char *text = bad[i] ? bad[i] : long_text;
		KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		fold_middle(&run);
		run.run_name = text;
		run.ops[0].name = text;
		snprintf(run.ops[0].doing, sizeof(run.ops[0].doing), "%s", text);
		run.ops[1].error_message = text;
		print_block(&run, 23, 79, &forecast, &out);
		size_t n_lines = 0;
		for (const char *at = out.ptr; (at = strchr(at, '\n')); at++)
			n_lines++;
		assert_int_equal(n_lines, 8);
		assert_int_equal(kgb_utf8_valid(out.ptr, out.len), out.len);
		for (const char *at = out.ptr; *at;) {
			size_t columns = 0;
			const size_t n = kgb_utf8_char(at, &columns);
			assert_true(*at == '\n' || !kgb_utf8_drives_terminal(at, n));
			at += n;
		}
	}
}

/* ---- lines of events ---- */

static void test_events_have_their_lines(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	fold_story(&run, NULL);
	const struct {
		int op; /* -1: the run */
		const char *type;
		const char *line; /* "": none */
		bool is_end;
	} cases[] = {
		{-1, "run_started", "", false},
		{-1, "planned", "run normal_cc_KernelGenBench_20261121T080000Z_0a1b: 4 operators",
		 false},
		{-1, "run_finished", "run interrupted: interrupted by signal 2", true},
		{0, "usage", "", false},
		{0, "doing", "", false},
		{0, "attempt_started", "aten::add: attempt 1 started", false},
		{0, "verify_call",
		 "aten::add: check 2: OFFLINE PASSED 36/36 tests, speedup 0.987x (0.98 to 0.995) (1.1 s)",
		 false},
		{0, "attempt_finished",
		 "aten::add: attempt 1 ended after 9.2 s: agent.ok, kernel kept (verified)", false},
		{1, "attempt_finished",
		 "aten::mm: attempt 1 ended after 18.5 s: agent.timeout: no kernel after 20 m, no kernel",
		 true},
		{0, "verify_started", "aten::add: final verification", false},
		{2, "verified",
		 "aten::silu: OFFLINE CHEATED cheat.l1.torch_compute: line 3 calls torch.add (100 ms)",
		 true},
		{1, "operator_ended", "aten::mm: timeout: agent.timeout: no kernel after 20 m",
		 true},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		struct kgb_event_line line;
		if (kgb_event_line_make(&run, cases[i].op < 0 ? NULL : &run.ops[cases[i].op],
					cases[i].type, &line)) {
			assert_int_equal(line.is_end, cases[i].is_end);
			kgb_event_line_print(&line, &text);
			kgb_event_line_release(&line);
		}
		assert_string_equal(text.ptr, cases[i].line);
	}
}

static void test_events_have_columns_on_a_terminal(void **state)
{
	static const struct {
		size_t columns;
		int op;
		const char *type, *lines;
		const char *label; /* NULL: there is one run */
	} cases[] = {
		{79, 1, "operator_ended",
		 "1:00:05  aten::mm    timeout    agent.timeout: no kernel after 20 m\n", NULL},
		{79, 2, "verified",
		 "1:00:05  aten::silu  CHEATED    OFFLINE cheat.l1.torch_compute: line 3 calls\n"
		 "                                torch.add, which does the operator's work, and\n"
		 "                                so does each of the nine lines after it (99 ms)\n",
		 NULL},
		{79, 0, "verify_started", "1:00:05  aten::add   final verification\n", NULL},
		{79, 0, "verify_started", "1:00:05  naive_cc-1    aten::add   final verification\n",
		 "naive_cc-1"},
		{79, 0, "verify_started", "1:00:05  cuda_opti~-1  aten::add   final verification\n",
		 "cuda_optimized_skill-1"},
		{50, 2, "verified",
		 "1:00:05  aten::silu  CHEATED\n"
		 "  OFFLINE cheat.l1.torch_compute: line 3 calls\n"
		 "  torch.add, which does the operator's work, and\n"
		 "  so does each of the nine lines after it (99 ms)\n",
		 NULL},
	};
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	fold_story(&run, NULL);
	run.ops[2].verdict.message =
		"line 3 calls torch.add, which does the operator's work, and so does each of the nine lines after it";
	run.ops[2].verdict.wall_ms = 99; /* so that three lines hold it */
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		KGB_AUTO(styled) struct kgb_styled lines = KGB_STYLED(cases[i].columns);
		struct kgb_event_line line;
		assert_true(kgb_event_line_make(&run, &run.ops[cases[i].op], cases[i].type, &line));
		kgb_event_line_lay(&line, 3605000, cases[i].label,
				   (struct kgb_block_columns){12, 10}, &lines);
		kgb_event_line_release(&line);
		kgb_styled_print_all(&lines, false, &text);
		assert_string_equal(text.ptr, cases[i].lines);
	}
}

static void test_a_colour_comes_with_its_word_or_not_at_all(void **state)
{
	(void)state;
	KGB_AUTO(styled) struct kgb_styled lines = KGB_STYLED(12);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_styled_line(&lines);
	kgb_styled_cell(&lines, KGB_STYLE_BAD, "failed", 8);
	kgb_styled_add(&lines, KGB_STYLE_PLAIN, "and more");
	kgb_styled_print_all(&lines, true, &text);
	kgb_styled_print_all(&lines, false, &text);
	assert_string_equal(text.ptr, "\033[31mfailed\033[0m  and~\nfailed  and~\n");
}

/* ---- forecast ---- */

static void test_the_forecast_takes_what_this_start_has_seen(void **state)
{
	(void)state;
	struct kgb_run_state run = forty(0);
	struct kgb_forecast forecast;
	struct kgb_attempt_state attempts[N_OPS] = {0};
	run.started_ms = 1000000;
	run.device_count = 4;
	/* 8 ended after 60 s each, 2 were ended by an earlier start, 4 run since 20 s, 26 wait. */
	for (size_t i = 0; i < N_OPS; i++) {
		struct kgb_op_state *op = &forty_ops[i];
		op->status = i < 10 ? KGB_OP_PASSED : i < 14 ? KGB_OP_RUNNING : KGB_OP_PLANNED;
		op->attempts = &attempts[i];
		op->n_attempts = i < 14;
		op->changed_ms = i < 8 ? 1060000 : 900000;
		attempts[i].started_ms = i < 8 ? 1000000 : i < 10 ? 500000 : 1100000;
		attempts[i].has_gateway = i < 10;
		attempts[i].gateway.cost_nanos = 250000000;
		attempts[i].code_generated = true;
	}
	const struct kgb_shown_run alone = {.state = &run};
	const struct kgb_shown shown = {.runs = &alone, .n = 1};
	kgb_forecast(&shown, 1120000, &forecast);
	/* 40 s for those that run, then 26 in 7 turns of four. */
	assert_true(fabs(forecast.ms.median - (40000 + 7 * 60000)) < 1);
	assert_true(fabs(forecast.usd_spent - 2.5) < 1e-9);
	assert_true(fabs(forecast.usd.median - 10) < 1e-9);
	/* Too few ends: nothing is foretold. */
	for (size_t i = 2; i < 8; i++)
		forty_ops[i].status = KGB_OP_CANCELLED;
	kgb_forecast(&shown, 1120000, &forecast);
	assert_true(isnan(forecast.ms.median) && forecast.will_know);
	assert_int_equal(forecast.n_methods, 1);
}

/** Fill a run of four operators of a method: three ended after so long, the last one is worked on
 * for a tenth of that. */
static struct kgb_run_state four_of(const char *method, int64_t ms, struct kgb_op_state *ops,
				    struct kgb_attempt_state *attempts)
{
	for (size_t i = 0; i < 4; i++) {
		attempts[i] = (struct kgb_attempt_state){
			.number = 1, .started_ms = 1000000, .ended_ms = -1, .timeout_ms = 3 * ms};
		ops[i] = (struct kgb_op_state){.name = forty_names[i],
					       .status = i < 3 ? KGB_OP_PASSED : KGB_OP_RUNNING,
					       .attempts = &attempts[i],
					       .n_attempts = 1,
					       .verify_started_ms = -1,
					       .verified_ms = -1,
					       .changed_ms = 1000000 + ms};
	}
	return (struct kgb_run_state){.maker.method = method,
				      .started_ms = 1000000,
				      .device_count = 2,
				      .ops = ops,
				      .n_ops = 4};
}

static void test_operators_of_each_method_foretell_their_own(void **state)
{
	(void)state;
	struct kgb_op_state ops[3][4];
	struct kgb_attempt_state attempts[3][4];
	struct kgb_run_state runs[3] = {four_of("quick", 60000, ops[0], attempts[0]),
					four_of("slow", 600000, ops[1], attempts[1]),
					four_of("slow", 600000, ops[2], attempts[2])};
	struct kgb_shown_run shown_runs[3];
	struct kgb_shown shown = {.name = "series", .runs = shown_runs, .n = 3};
	struct kgb_forecast forecast;
	for (size_t i = 0; i < 3; i++)
		shown_runs[i] = (struct kgb_shown_run){.state = &runs[i], .label = "x-1"};
	const int64_t now_ms = 1000000 + 6000;
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 3; k++)
			ops[i][k].changed_ms = 1000000 + (i == 0 ? 60000 : 600000);
	kgb_forecast(&shown, now_ms, &forecast);
	assert_true(fabs(forecast.ms.median - 594000) < 1);
	/* Repeats of a method count together: of three ended operators one run has two. */
	ops[1][1].status = ops[1][2].status = ops[2][2].status = KGB_OP_PLANNED;
	ops[1][1].n_attempts = ops[1][2].n_attempts = ops[2][2].n_attempts = 0;
	kgb_forecast(&shown, now_ms, &forecast);
	assert_true(fabs(forecast.ms.median - (594000 + 600000)) < 1);
	/* Of one method too few have ended. */
	ops[2][0].status = KGB_OP_RUNNING;
	kgb_forecast(&shown, now_ms, &forecast);
	assert_true(isnan(forecast.ms.median) && forecast.will_know);
	assert_int_equal(forecast.n_methods, 2);
	/* Of so few operators nothing will be foretold. */
	runs[0].n_ops = 3;
	ops[0][0].status = KGB_OP_RUNNING;
	kgb_forecast(&shown, now_ms, &forecast);
	assert_true(isnan(forecast.ms.median) && !forecast.will_know);
}

/* ---- a series ---- */

static void test_a_series_has_a_line_for_each_run_and_labels_before_operators(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state first = KGB_RUN_STATE_INIT;
	KGB_AUTO(run_state) struct kgb_run_state second = KGB_RUN_STATE_INIT;
	fold_middle(&first);
	fold_story(&second, NULL);
	const struct kgb_shown_run runs[] = {{.state = &first, .label = "naive_cc-1"},
					     {.state = &second, .label = "cuda_optimized_skill-12"},
					     {.state = &second, .label = "x-3"},
					     {.state = &first, .label = "y-4", .is_cut_off = true}};
	struct kgb_shown shown = {.name = "series_KernelGenBench", .runs = runs, .n = 2};
	struct kgb_forecast forecast = NOT_KNOWN;
	static const char wanted[] =
		"running 1:13  OFFLINE  series_KernelGenBench  2 runs\n"
		"[#########xxxxxxxxxxxxxxxxxxxxxxxxx>>>>>>>>>>>>>>>>>.................] 4/8  50 %\n"
		"# 1 passed  x 3 not passed  > 2 running  . 2 waiting  (1 cheated, 2 timeout)\n"
		"left: known once 3 operators of each method have ended  tokens 26.6k in 240 out\n"
		" naive_cc-1        running      1/4  0 passed  1 not passed  $0.05\n"
		" cuda_optimiz~-12  interrupted  3/4  1 passed  2 not passed  $0.05\n"
		" cuda_optimiz~-12  aten::silu  cheated      cheat.l1.torch_compute: line 3 call~\n"
		" naive_cc-1        aten::mm    timeout      agent.timeout: no kernel after 20 m\n"
		" cuda_optimiz~-12  aten::mm    timeout      agent.timeout: no kernel after 20 m\n"
		" naive_cc-1        aten::add   running      1:12  13.3k in 120 out  check 2 pas~\n"
		" naive_cc-1        aten::silu  verifying    0:52  queued\n";
	forecast.will_know = true;
	forecast.n_methods = 2;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	print_shown(&shown, 23, 80, &forecast, &text);
	assert_string_equal(text.ptr, wanted);
	/* A third of the rows below the head is for runs; the others are counted. */
	shown.n = 4;
	kgb_buf_clear(&text);
	print_shown(&shown, 14, 80, &forecast, &text);
	assert_non_null(strstr(
		text.ptr, " interrupted  3/4  1 passed  2 not passed  $0.05\n +2 more runs\n"));
	/* What counts most: one that lives, then one that was cut off. */
	assert_string_equal(kgb_shown_status(&shown), "running");
	shown.runs = &runs[1];
	shown.n = 3;
	assert_string_equal(kgb_shown_status(&shown), "cut off");
	assert_false(kgb_shown_lives(&shown));
	shown.n = 2;
	assert_string_equal(kgb_shown_status(&shown), "interrupted");
}

static void test_verifications_of_samples_are_counted(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	const struct kgb_forecast forecast = NOT_KNOWN;
	fold_middle(&run);
	run.ops[0].n_queued = 3;
	run.ops[0].n_judging = 2;
	run.ops[2].n_queued = 0;
	run.ops[2].n_judging = 1;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	print_block(&run, 23, 80, &forecast, &text);
	assert_non_null(strstr(text.ptr, " 1:12  3 queued  2 judging  13.3k in 120 out  check 2 "));
	assert_non_null(strstr(text.ptr, " aten::silu  verifying    0:52  judging\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_block_has_the_same_parts_at_each_width),
		cmocka_unit_test(test_what_has_no_row_is_counted),
		cmocka_unit_test(test_every_size_holds_the_block),
		cmocka_unit_test(test_hostile_text_stays_in_its_cell),
		cmocka_unit_test(test_events_have_their_lines),
		cmocka_unit_test(test_events_have_columns_on_a_terminal),
		cmocka_unit_test(test_a_colour_comes_with_its_word_or_not_at_all),
		cmocka_unit_test(test_the_forecast_takes_what_this_start_has_seen),
		cmocka_unit_test(test_operators_of_each_method_foretell_their_own),
		cmocka_unit_test(test_a_series_has_a_line_for_each_run_and_labels_before_operators),
		cmocka_unit_test(test_verifications_of_samples_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
