/* SPDX-License-Identifier: MIT */
/** \file
 * Rules and texts of methods that work in rounds, as tables.
 */
#include "agent/attempt/rounds.h"
#include "base/str.h"
#include "tests/unit/agent/agent_test.h"

static void test_a_version_is_better_only_when_that_is_sure(void **state)
{
	(void)state;
	static const struct {
		struct kgb_rounds_best best;
		const char *status;
		double speedup, low;
		bool better;
	} cases[] = {
		/* None yet: whatever passed. */
		{{0, 0, 0}, "passed", 0, 0, true},
		{{0, 0, 0}, "passed", 0.5, 0.4, true},
		{{0, 0, 0}, "failed", 0, 0, false},
		{{0, 0, 0}, "cheated", 9, 9, false},
		{{0, 0, 0}, "infra_error", 0, 0, false},
		/* Nothing is timed: the older one stays. */
		{{2, 1, 0}, "passed", 0, 0, false},
		{{2, 1, 0}, "failed", 0, 0, false},
		/* Timed. */
		{{2, 1, 1.5}, "passed", 1.6, 1.55, true},
		{{2, 1, 1.5}, "passed", 1.6, 1.45, false},
		{{2, 1, 1.5}, "passed", 1.6, 1.5, false},
		{{2, 1, 1.5}, "passed", 1.4, 1.3, false},
		{{2, 1, 1.5}, "cheated", 9, 9, false},
		/* Without an interval its own figure must do. */
		{{2, 1, 1.5}, "passed", 1.6, 0, true},
		{{2, 1, 1.5}, "passed", 1.5, 0, false},
		/* One of the two was not timed. */
		{{2, 1, 0}, "passed", 0.9, 0.8, true},
		{{2, 1, 1.5}, "passed", 0, 0, false},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_verdict_summary verdict = {.status = cases[i].status,
							    .speedup = cases[i].speedup,
							    .speedup_low = cases[i].low};
		if (kgb_rounds_is_better(&cases[i].best, &verdict) != cases[i].better)
			fail_msg("case %zu", i);
	}
}

static void test_rounds_end_by_number_patience_or_target(void **state)
{
	(void)state;
	static const struct {
		int64_t iterations, patience;
		double target;
		int round;
		struct kgb_rounds_best best;
		const char *stop;
	} cases[] = {
		{5, 0, 0, 4, {0, 0, 0}, NULL},
		{5, 0, 0, 5, {0, 0, 0}, "iterations"},
		{1, 0, 0, 1, {1, 1, 0}, "iterations"},
		/* Since the best, or since the beginning. */
		{9, 3, 0, 2, {0, 0, 0}, NULL},
		{9, 3, 0, 3, {0, 0, 0}, "patience"},
		{9, 3, 0, 4, {7, 2, 1.1}, NULL},
		{9, 3, 0, 5, {7, 2, 1.1}, "patience"},
		{9, 3, 0, 3, {1, 0, 1.1}, "patience"},
		/* The target counts of a version that passed only. */
		{9, 3, 2, 1, {4, 1, 2.0}, "target"},
		{9, 3, 2, 1, {4, 1, 1.99}, NULL},
		{9, 3, 2, 1, {0, 0, 0}, NULL},
		{1, 1, 2, 1, {4, 1, 2.5}, "target"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_method_loop loop = {.iterations = cases[i].iterations,
						     .patience = cases[i].patience,
						     .target_speedup = cases[i].target};
		const char *stop = kgb_rounds_stop(&loop, cases[i].round, &cases[i].best);
		if (!kgb_str_eq(stop, cases[i].stop))
			fail_msg("case %zu: %s", i, stop ? stop : "goes on");
	}
}

static void test_only_ends_that_the_next_round_does_not_share_let_it_begin(void **state)
{
	(void)state;
	for (int end = 0; end < KGB_N_AGENT_ENDS; end++) {
		bool goes_on = end == KGB_AGENT_OK || end == KGB_AGENT_LIMIT ||
			       end == KGB_AGENT_CONTEXT || end == KGB_AGENT_REFUSED ||
			       end == KGB_AGENT_TRUNCATED;
		if (kgb_rounds_goes_on_after((enum kgb_agent_end)end) != goes_on)
			fail_msg("%s", kgb_agent_end_code((enum kgb_agent_end)end));
	}
}

#define X40 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
static void test_a_summary_is_one_plain_line(void **state)
{
	(void)state;
	static const struct {
		const char *message;
		const char *summary;
	} cases[] = {
		{NULL, ""},
		{"", ""},
		{" \n\n", ""},
		{"Wider loads.\nAnd more.", "Wider loads."},
		{"\n## **Wider** loads**  \n", "Wider** loads"},
		{"- [vectorize] a | b\r\nx", "[vectorize] a / b"},
		{"a\tb\x1b[31mc\x7f", "a b [31mc "},
		{"bad \xff utf-8", "bad \xef\xbf\xbd utf-8"},
		{X40 X40 X40 X40, X40 X40 X40 X40},
		{X40 X40 X40 X40 "y", X40 X40 X40 X40 "..."},
		/* No character is halved. */
		{X40 X40 X40 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xc3\xa4z",
		 X40 X40 X40 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_rounds_summary(cases[i].message, &out);
		assert_string_equal(out.ptr, cases[i].summary);
	}
}

static struct kgb_round round_of(int number, const char *status, double speedup, bool kept,
				 const char *summary)
{
	return (struct kgb_round){
		.number = number,
		.category = "Math",
		.has_verdict = status != NULL,
		.code = status ? NULL : "agent.no_kernel",
		.verdict = {.status = status,
			    .code = kgb_str_eq(status, "failed") ? "verify.mismatch" : NULL,
			    .speedup = speedup},
		.kept = kept,
		.summary = summary,
	};
}

static void test_the_log_is_a_table_of_all_rounds(void **state)
{
	(void)state;
	struct kgb_round rounds[] = {
		round_of(0, "passed", 1.02, true, NULL),
		round_of(1, "failed", 0, false, "wider loads"),
		round_of(2, "passed", 1.25, true, "fewer passes"),
		round_of(3, NULL, 0, false, NULL),
	};
	struct kgb_attempt_state attempt = {.rounds = rounds, .n_rounds = 4};
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_rounds_log(&attempt, &out);
	assert_string_equal(
		out.ptr, "| round | result | speedup | kept | what changed |\n"
			 "|---|---|---|---|---|\n"
			 "| 0 | passed | 1.020 | yes | (the kernel to begin with) |\n"
			 "| 1 | failed verify.mismatch | - | no | wider loads |\n"
			 "| 2 | passed | 1.250 | yes | fewer passes |\n"
			 "| 3 | nothing was judged: agent.no_kernel | - | no | (nothing said) |\n");
}

static void test_the_log_of_rounds_without_times_has_no_speedups(void **state)
{
	(void)state;
	struct kgb_round rounds[] = {round_of(1, "passed", 0, true, "first")};
	struct kgb_attempt_state attempt = {.rounds = rounds, .n_rounds = 1};
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_rounds_log(&attempt, &out);
	assert_string_equal(out.ptr, "| round | result | kept | what changed |\n"
				     "|---|---|---|---|\n"
				     "| 1 | passed | yes | first |\n");
}

static void test_the_memory_has_what_helped_other_operators_and_what_did_not(void **state)
{
	(void)state;
	struct kgb_round add[] = {round_of(1, "passed", 1.1, true, "first"),
				  round_of(2, "passed", 1.3, true, "second"),
				  round_of(3, "passed", 1.2, false, "third"),
				  round_of(4, "failed", 0, false, "fourth"),
				  round_of(5, NULL, 0, false, "nothing judged"),
				  round_of(6, "passed", 0, true, NULL)};
	struct kgb_round mm[] = {round_of(0, "passed", 2, true, NULL),
				 round_of(1, "passed", 2.5, true, "tiles")};
	struct kgb_attempt_state attempts[] = {{.rounds = add, .n_rounds = 6},
					       {.rounds = mm, .n_rounds = 2}};
	struct kgb_op_state ops[] = {
		{.name = "aten::add", .attempts = &attempts[0], .n_attempts = 1},
		{.name = "aten::mm", .attempts = &attempts[1], .n_attempts = 1}};
	const struct kgb_run_state run = {.ops = ops, .n_ops = 2};
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_rounds_memory(&run, "aten::mm", &out);
	assert_string_equal(out.ptr, "- aten::add (Math): helped, speedup 1.100: first\n"
				     "- aten::add (Math): helped, speedup 1.100 to 1.300: second\n"
				     "- aten::add (Math): did not help: third\n"
				     "- aten::add (Math): was rejected: verify.mismatch: fourth\n");
	kgb_buf_clear(&out);
	kgb_rounds_memory(&run, "aten::add", &out);
	assert_string_equal(out.ptr, "- aten::mm (Math): helped, speedup 2.000 to 2.500: tiles\n");
	kgb_buf_clear(&out);
	const struct kgb_run_state empty = {.n_ops = 0};
	kgb_rounds_memory(&empty, NULL, &out);
	assert_string_equal(out.ptr, "- nothing yet\n");
}

static void test_the_memory_is_bounded_and_keeps_the_latest(void **state)
{
	(void)state;
	enum { N = KGB_ROUNDS_MEMORY_LINES + 5 };
	struct kgb_round rounds[N];
	char texts[N][20];
	for (int i = 0; i < N; i++) {
		snprintf(texts[i], sizeof(texts[i]), "idea %d", i);
		rounds[i] = round_of(i + 1, "passed", 0, false, texts[i]);
	}
	struct kgb_attempt_state attempt = {.rounds = rounds, .n_rounds = N};
	struct kgb_op_state op = {.name = "aten::add", .attempts = &attempt, .n_attempts = 1};
	const struct kgb_run_state run = {.ops = &op, .n_ops = 1};
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_rounds_memory(&run, NULL, &out);
	assert_null(strstr(out.ptr, "idea 4\n"));
	assert_non_null(strstr(out.ptr, "idea 5\n"));
	assert_non_null(strstr(out.ptr, "idea 64\n"));
}

static void test_a_round_reads_what_kernel_py_holds(void **state)
{
	(void)state;
	static const struct {
		struct kgb_rounds_best best;
		int round;
		bool exists, is_stub;
		const char *report;
		const char *text;
	} cases[] = {
		{{0, 0, 0}, 0, false, false, NULL, "There is no `kernel.py` yet."},
		{{0, 0, 0},
		 0,
		 true,
		 true,
		 NULL,
		 "`kernel.py` is a stub: its functions raise NotImplementedError."},
		{{0, 0, 0},
		 2,
		 true,
		 false,
		 "FAILED verify.mismatch: x\n",
		 "No version has passed yet; `kernel.py` holds the last one. The judge's report on it:\n\n"
		 "```\nFAILED verify.mismatch: x\n```"},
		{{3, 0, 0},
		 0,
		 true,
		 true,
		 "PASSED",
		 "`kernel.py` holds the best version so far: the kernel to begin with. It passed."},
		{{3, 2, 1.5},
		 2,
		 true,
		 false,
		 "PASSED",
		 "`kernel.py` holds the best version so far: that of round 2. It passed, with a speedup of 1.500."},
		{{3, 1, 0},
		 4,
		 true,
		 false,
		 "FAILED y",
		 "`kernel.py` holds the best version so far: that of round 1. It passed. The version of round 4 was "
		 "not better and was replaced by the best. The judge's report on it:\n\n```\nFAILED y\n```"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_rounds_kernel kernel = {.best = &cases[i].best,
							 .round = cases[i].round,
							 .exists = cases[i].exists,
							 .is_stub = cases[i].is_stub,
							 .report = cases[i].report};
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_rounds_describe_kernel(&kernel, &out);
		assert_string_equal(out.ptr, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_version_is_better_only_when_that_is_sure),
		cmocka_unit_test(test_rounds_end_by_number_patience_or_target),
		cmocka_unit_test(test_only_ends_that_the_next_round_does_not_share_let_it_begin),
		cmocka_unit_test(test_a_summary_is_one_plain_line),
		cmocka_unit_test(test_the_log_is_a_table_of_all_rounds),
		cmocka_unit_test(test_the_log_of_rounds_without_times_has_no_speedups),
		cmocka_unit_test(test_the_memory_has_what_helped_other_operators_and_what_did_not),
		cmocka_unit_test(test_the_memory_is_bounded_and_keeps_the_latest),
		cmocka_unit_test(test_a_round_reads_what_kernel_py_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
