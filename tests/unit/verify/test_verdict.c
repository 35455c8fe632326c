/* SPDX-License-Identifier: MIT */
#include "verify/lane/verdict.h"

#include <math.h>

#include "base/formats/json.h"
#include "tests/unit/base/support.h"
#include "verify/lane/report.h"

/* ---- the document ---- */

static cJSON *written(const struct kgb_verdict *verdict)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	cJSON *json = NULL;

	kgb_verdict_write(verdict, &text);
	assert_ok(kgb_json_parse(text.ptr, text.len, &json, &err), err);
	return json;
}

static struct kgb_verdict *new_verdict(void)
{
	struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));

	kgb_verdict_init(verdict);
	verdict->operator_name = "aten::add";
	return verdict;
}

static void free_verdict(struct kgb_verdict *verdict)
{
	kgb_verdict_release(verdict);
	kgb_free(verdict);
}

static void test_an_undecided_verdict_has_every_member(void **state)
{
	static const char *const members[] = {
		"schema",
		"operator",
		"platform",
		"mode",
		"status",
		"code",
		"stage",
		"message",
		"hint",
		"kernel_sha256",
		"spec_sha256",
		"seed",
		"started",
		"wall_ms",
		"stages",
		"total_tests",
		"passed_tests",
		"failed_tests",
		"not_run_tests",
		"interfaces",
		"failures",
		"ghost",
		"launches",
		"timing",
		"timed_cases",
		"isolation",
		"versions",
		"deterministic",
		"nondeterministic_tests",
		"gpu_health",
		"lanes",
		"phases_ms",
		"inline_ptx",
		"recalled",
		"gpu_replayed_tests",
		"sandbox_judged_tests",
		"drawn_tests",
		"closest",
		"reached",
		"tiers",
		"modes",
		"dtypes",
		"noted",
		"conditions",
	};
	struct kgb_verdict *verdict = new_verdict();
	KGB_AUTO(json) cJSON *json = written(verdict);

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(members); i++)
		if (!cJSON_HasObjectItem(json, members[i]))
			fail_msg("no member '%s'", members[i]);
	assert_int_equal(cJSON_GetArraySize(json), (int)KGB_ARRAY_LEN(members));
	assert_string_equal(kgb_json_str(json, "schema", ""), "kgb.verdict/1");
	assert_string_equal(kgb_json_str(json, "seed", ""), "00000000000000000000000000000000");
	assert_int_equal(cJSON_GetArraySize(kgb_json_get(json, "stages")), KGB_N_STAGES);
	free_verdict(verdict);
}

static void test_the_first_decision_stays_and_its_code_gives_the_status(void **state)
{
	static const struct {
		enum kgb_code code;
		const char *status;
	} cases[] = {
		{KGB_CODE_VERIFY_MISMATCH, "failed"},   {KGB_CODE_CONTRACT_SYNTAX, "refused"},
		{KGB_CODE_L1_TORCH_COMPUTE, "refused"}, {KGB_CODE_CHEAT_GHOST, "cheated"},
		{KGB_CODE_L1_SYSTEM, "refused"},        {KGB_CODE_INFRA_FACTS, "infra_error"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_verdict *verdict = new_verdict();
		const struct kgb_failure first = {
			.code = cases[i].code, .message = "one", .hint = "do"};
		const struct kgb_failure second = {.code = KGB_CODE_VERIFY_CRASH, .message = "two"};
		kgb_verdict_decide(verdict, KGB_STAGE_L2, &first);
		kgb_verdict_decide(verdict, KGB_STAGE_TIMING, &second);
		KGB_AUTO(json) cJSON *json = written(verdict);
		assert_string_equal(kgb_json_str(json, "status", ""), cases[i].status);
		assert_string_equal(kgb_json_str(json, "code", ""), kgb_code_name(cases[i].code));
		assert_string_equal(kgb_json_str(json, "stage", ""), "l2");
		assert_string_equal(kgb_json_str(json, "message", ""), "one");
		const cJSON *stages = kgb_json_get(json, "stages");
		assert_string_equal(
			kgb_json_str(cJSON_GetArrayItem(stages, KGB_STAGE_L2), "status", ""),
			"failed");
		assert_string_equal(
			kgb_json_str(cJSON_GetArrayItem(stages, KGB_STAGE_TIMING), "status", ""),
			"skipped");
		free_verdict(verdict);
	}
}

static void test_a_decision_that_is_withdrawn_leaves_room_for_another(void **state)
{
	struct kgb_verdict *verdict = new_verdict();
	const struct kgb_failure first = {
		.code = KGB_CODE_VERIFY_CRASH, .message = "one", .hint = "do"};
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	kgb_verdict_decide(verdict, KGB_STAGE_CORRECTNESS, &first);
	kgb_verdict_withdraw(verdict);
	(void)kgb_fail(&err, KGB_ERR_UNAVAILABLE, "the GPU is not well");
	kgb_verdict_decide_infra(verdict, KGB_STAGE_CORRECTNESS, KGB_CODE_INFRA_GPU_HEALTH, &err);
	KGB_AUTO(json) cJSON *json = written(verdict);
	assert_string_equal(kgb_json_str(json, "status", ""), "infra_error");
	assert_string_equal(kgb_json_str(json, "code", ""), "infra.gpu_health");
	assert_string_equal(kgb_json_str(json, "message", ""), "the GPU is not well");
	free_verdict(verdict);
}

static void test_the_gpu_is_described_where_there_is_one(void **state)
{
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	verdict->health.tested = true;
	verdict->health.notes[0] = "a note";
	verdict->health.n_notes = 1;
	KGB_AUTO(json) cJSON *without = written(verdict);
	assert_true(cJSON_IsNull(kgb_json_get(without, "gpu_health")));
	assert_null(kgb_json_get(kgb_json_get(without, "timing"), "machine"));
	verdict->platform = "cuda";
	verdict->has_machine = true;
	(void)snprintf(verdict->machine.name, sizeof(verdict->machine.name), "A GPU");
	KGB_AUTO(json) cJSON *with = written(verdict);
	const cJSON *health = kgb_json_get(with, "gpu_health");
	assert_true(cJSON_IsTrue(kgb_json_get(health, "tested")));
	assert_true(cJSON_IsFalse(kgb_json_get(health, "well")));
	assert_string_equal(cJSON_GetArrayItem(kgb_json_get(health, "notes"), 0)->valuestring,
			    "a note");
	assert_string_equal(
		kgb_json_str(kgb_json_get(kgb_json_get(with, "timing"), "machine"), "name", ""),
		"A GPU");
	free_verdict(verdict);
}

static void test_values_that_json_has_no_number_for_are_words(void **state)
{
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	verdict->failures[0] = (struct kgb_failure){.code = KGB_CODE_VERIFY_MISMATCH,
						    .has_values = true,
						    .ndim = 2,
						    .index = {3, 4},
						    .expected = (double)INFINITY,
						    .got = (double)NAN,
						    .max_abs_err = 0.5,
						    .allowed_abs_err = -(double)INFINITY};
	verdict->n_failures = 1;
	KGB_AUTO(json) cJSON *json = written(verdict);
	const cJSON *failure = cJSON_GetArrayItem(kgb_json_get(json, "failures"), 0);
	assert_string_equal(kgb_json_str(failure, "expected", ""), "inf");
	assert_string_equal(kgb_json_str(failure, "got", ""), "nan");
	assert_string_equal(kgb_json_str(failure, "allowed_abs_err", ""), "-inf");
	assert_true(kgb_json_num(failure, "max_abs_err", 0) == 0.5);
	assert_int_equal(cJSON_GetArraySize(kgb_json_get(failure, "index")), 2);
	free_verdict(verdict);
}

static void test_launches_beyond_the_table_are_counted_together(void **state)
{
	struct kgb_verdict *verdict = new_verdict();
	char name[32];

	(void)state;
	for (int i = 0; i < KGB_VERDICT_KERNELS_MAX + 5; i++) {
		snprintf(name, sizeof(name), "kernel_%d", i);
		kgb_verdict_count_launches(verdict, name, 2);
	}
	kgb_verdict_count_launches(verdict, "kernel_0", 3);
	KGB_AUTO(json) cJSON *json = written(verdict);
	assert_int_equal(kgb_json_i64(json, "launches.kernel_0", 0), 5);
	assert_int_equal(kgb_json_i64(json, "launches.(others)", 0), 12);
	assert_int_equal(cJSON_GetArraySize(kgb_json_get(json, "launches")),
			 KGB_VERDICT_KERNELS_MAX);
	free_verdict(verdict);
}

/* ---- the report ---- */

static const struct {
	const char *json;
	const char *text;
} reports[] = {
	{"{\"status\":\"passed\",\"passed_tests\":184,\"total_tests\":184}",
	 "PASSED 184/184 cases\n"},
	{"{\"status\":\"refused\",\"code\":\"l1.import\",\"message\":\"line 3: no\",\"hint\":\"don't\","
	 "\"total_tests\":9}",
	 "REFUSED l1.import: line 3: no\nhint: don't\n"},
	{"{\"status\":\"infra_error\",\"code\":\"infra.l2\",\"message\":\"gone\"}",
	 "ERROR infra.l2: gone\n"},
	{"{}", "ERROR no code: no message\n"},
	{"[]", "ERROR no code: no message\n"},
	{"{\"status\":\"failed\",\"code\":\"verify.mismatch\",\"message\":\"24 of 1000 elements are wrong\","
	 "\"hint\":\"general\",\"total_tests\":10,\"passed_tests\":6,\"failed_tests\":1,\"failures\":["
	 "{\"case\":\"add_Tensor/float32/tail/standard\",\"inputs\":\"self=float32[1000]\",\"index\":[976],"
	 "\"expected\":1.5,\"got\":\"nan\",\"n_wrong\":24,\"n_elements\":1000,\"max_abs_err\":0,"
	 "\"allowed_abs_err\":1e-7,\"hint\":\"mask\"}]}",
	 "FAILED verify.mismatch: 24 of 1000 elements are wrong\n"
	 "cases: 6 passed, 1 failed, 3 not run, of 10\n"
	 "\n"
	 "case: add_Tensor/float32/tail/standard  self=float32[1000]\n"
	 "wrong: 24 of 1000 elements, first at [976]: expected 1.5, got nan\n"
	 "hint: mask\n"},
	{"{\"status\":\"failed\",\"code\":\"verify.mismatch\",\"message\":\"m\",\"total_tests\":1,\"failed_tests\":1,"
	 "\"failures\":[{\"case\":\"c\",\"index\":[1,2],\"index_is_first\":false,\"expected\":1,\"got\":2.25,"
	 "\"n_wrong\":3,\"n_elements\":4,\"max_abs_err\":1.25,\"allowed_abs_err\":0.5}]}",
	 "FAILED verify.mismatch: m\n"
	 "cases: 0 passed, 1 failed, 0 not run, of 1\n"
	 "\n"
	 "case: c\n"
	 "wrong: 3 of 4 elements, worst at [1, 2]: expected 1, got 2.25\n"
	 "error: largest absolute error 1.25, allowed there 0.5\n"},
	{"{\"status\":\"passed\",\"passed_tests\":3,\"total_tests\":3,\"timing\":{\"comparable\":false,"
	 "\"cases\":[{\"case\":\"c\",\"candidate_ms\":1,\"baseline_ms\":2}]}}",
	 "PASSED 3/3 cases\n"},
	{"{\"status\":\"passed\",\"passed_tests\":3,\"total_tests\":3,\"timing\":{\"comparable\":true,\"precision\":\"quick\","
	 "\"baseline\":\"torch.compile\",\"speedup\":{\"value\":1.5,\"low\":1.25,\"high\":null},"
	 "\"cases\":[{\"case\":\"c\",\"candidate_ms\":1,\"baseline_ms\":2,\"result\":\"FASTER\","
	 "\"speedup\":{\"value\":2.0,\"low\":1.9,\"high\":2.1}}]}}",
	 "PASSED 3/3 cases\n"
	 "speedup over torch.compile: 1.5 (1.25 to ?), timing quick\n"
	 "  c FASTER 2 (1.9 to 2.1), 1 ms against 2 ms\n"},
	{"{\"status\":\"passed\",\"passed_tests\":3,\"total_tests\":3,\"timing\":{\"comparable\":true,"
	 "\"baseline\":\"torch\",\"speedup\":null,\"cases\":[{\"case\":\"c\",\"candidate_ms\":null,"
	 "\"baseline_ms\":null,\"result\":\"UNTRUSTED\",\"text\":\"two speeds\",\"speedup\":null}]}}",
	 "PASSED 3/3 cases\n"
	 "speedup over torch: none, because not every case has one\n"
	 "  c UNTRUSTED two speeds\n"},
	{"{\"status\":\"failed\",\"code\":\"verify.exception\",\"message\":\"ValueError: \\u001b[2J\\nx\","
	 "\"failures\":[{\"case\":\"a\",\"message\":\"ValueError: \\u001b[2J\"},{\"case\":\"b\",\"message\":\"y\"},"
	 "{\"case\":\"c\",\"message\":\"z\"},{\"case\":\"d\",\"message\":\"not shown\"}]}",
	 "FAILED verify.exception: ValueError: \\x1b[2J\\nx\n"
	 "\ncase: a\nwrong: ValueError: \\x1b[2J\n"
	 "\ncase: b\nwrong: y\n"
	 "\ncase: c\nwrong: z\n"},
};

static void test_the_report_says_what_is_wrong_where_and_what_to_do(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(reports); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		KGB_AUTO(json) cJSON *json = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		assert_ok(kgb_json_parse(reports[i].json, strlen(reports[i].json), &json, &err),
			  err);
		kgb_verdict_report(json, &text);
		assert_string_equal(text.ptr, reports[i].text);
	}
}

static void test_the_report_does_not_tell_the_seed(void **state)
{
	struct kgb_verdict *verdict = new_verdict();
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	const struct kgb_failure failure = {
		.code = KGB_CODE_VERIFY_CRASH, .message = "boom", .case_name = "c"};

	(void)state;
	memset(verdict->seed.bytes, 0xab, sizeof(verdict->seed.bytes));
	kgb_verdict_decide(verdict, KGB_STAGE_CORRECTNESS, &failure);
	verdict->failures[verdict->n_failures++] = failure;
	KGB_AUTO(json) cJSON *json = written(verdict);
	assert_contains(kgb_json_str(json, "seed", ""), "abababab");
	kgb_verdict_report(json, &text);
	assert_null(strstr(text.ptr, "abab"));
	free_verdict(verdict);
}

static struct kgb_timer_result result_of(double speedup)
{
	return (struct kgb_timer_result){
		.result = speedup > 0 ? KGB_TIMING_FASTER : KGB_TIMING_UNTRUSTED,
		.speedup = {speedup, speedup / 1.1, speedup * 1.1},
		.median_ns = {{2e6, 2e6, 2e6}, {1e6, 1e6, 1e6}},
	};
}

static void test_a_speedup_is_that_of_all_cases_or_of_none(void **state)
{
	struct kgb_verdict *verdict = new_verdict();
	struct kgb_timer timer = {.config.case_name = "f/float32/x/standard"};
	struct kgb_timer_result twice = result_of(2), eightfold = result_of(8),
				untrusted = result_of((double)NAN);

	(void)state;
	twice.process_reach = eightfold.process_reach = 0.01;
	verdict->timing_comparable = true;
	verdict->timing_precision = kgb_timing_precision_names[KGB_PRECISION_QUICK];
	verdict->timing_reason = NULL;
	kgb_verdict_add_timing(verdict, &timer, &twice, true);
	timer.config.case_name = "f/float32/y/standard";
	kgb_verdict_add_timing(verdict, &timer, &eightfold, false);
	KGB_AUTO(json) cJSON *json = written(verdict);
	assert_true(kgb_json_bool(json, "timing.comparable", false));
	assert_string_equal(kgb_json_str(json, "timing.precision", ""), "quick");
	assert_true(fabs(kgb_json_num(json, "timing.speedup.value", 0) - 4) < 1e-12);
	/* The processes of both cases are the same: that part of the width is no smaller for two.
	 */
	assert_true(kgb_json_num(json, "timing.speedup.high", 0) >= 4 * exp(0.01) - 1e-9);
	const cJSON *first = cJSON_GetArrayItem(kgb_json_get(json, "timing.cases"), 0);
	assert_string_equal(kgb_json_str(first, "case", ""), "f/float32/x/standard");
	assert_string_equal(kgb_json_str(first, "result", ""), "FASTER");
	assert_true(kgb_json_num(first, "candidate_ms", 0) == 1);
	assert_non_null(kgb_json_get(first, "samples"));
	timer.config.case_name = "f/float32/z/standard";
	kgb_verdict_add_timing(verdict, &timer, &untrusted, false);
	KGB_AUTO(json) cJSON *again = written(verdict);
	assert_true(cJSON_IsNull(kgb_json_get(again, "timing.speedup")));
	assert_int_equal(cJSON_GetArraySize(kgb_json_get(again, "timing.cases")), 3);
	free_verdict(verdict);
}

static const cJSON *rates_of(const cJSON *json, const char *case_name, const char *side)
{
	const cJSON *cases = kgb_json_get(json, "timed_cases");
	const cJSON *one = cJSON_GetObjectItemCaseSensitive(cases, case_name);

	return side ? kgb_json_get(one, side) : one;
}

/* 8 GB of memory and 3 Tflop in 2 ms and 1 ms, on a device that has 10,000 GB/s and 4,000 Tflop/s:
 * the memory is the bound. */
static void test_a_timed_case_has_its_share_of_the_peak(void **state)
{
	struct kgb_verdict *verdict = new_verdict();
	struct kgb_timer timer = {
		.config = {.case_name = "f/float32/x/standard",
			   .bytes = 8000000000,
			   .flops = 3000000000000,
			   .machine = {.bytes_per_s = 1e13, .flops_per_s = 4e15}}};
	struct kgb_timer_result twice = result_of(2), untrusted = result_of((double)NAN);

	(void)state;
	KGB_AUTO(json) cJSON *untimed = written(verdict);
	assert_true(cJSON_IsNull(kgb_json_get(untimed, "timed_cases")));
	verdict->timing_comparable = true;
	kgb_verdict_add_timing(verdict, &timer, &twice, false);
	timer.config.case_name = "f/float32/y/standard";
	timer.config.bytes = 0;
	kgb_verdict_add_timing(verdict, &timer, &twice, false);
	timer.config.case_name = "f/float32/z/standard";
	timer.config.machine.flops_per_s = 0;
	kgb_verdict_add_timing(verdict, &timer, &twice, false);
	timer.config.case_name = "f/float32/u/standard";
	kgb_verdict_add_timing(verdict, &timer, &untrusted, false);
	KGB_AUTO(json) cJSON *json = written(verdict);

	const cJSON *memory = rates_of(json, "f/float32/x/standard", "candidate");
	assert_true(fabs(kgb_json_num(memory, "ms", 0) - 1) < 1e-12);
	assert_true(fabs(kgb_json_num(memory, "gb_per_s", 0) - 8000) < 1e-9);
	assert_true(fabs(kgb_json_num(memory, "tflop_per_s", 0) - 3000) < 1e-9);
	assert_true(fabs(kgb_json_num(memory, "peak_share", 0) - 0.8) < 1e-12);
	memory = rates_of(json, "f/float32/x/standard", "baseline");
	assert_true(fabs(kgb_json_num(memory, "peak_share", 0) - 0.4) < 1e-12);
	const cJSON *arithmetic = rates_of(json, "f/float32/y/standard", "candidate");
	assert_true(cJSON_IsNull(kgb_json_get(arithmetic, "gb_per_s")));
	assert_true(fabs(kgb_json_num(arithmetic, "peak_share", 0) - 0.75) < 1e-12);
	const cJSON *unknown = rates_of(json, "f/float32/z/standard", NULL);
	assert_true(cJSON_IsNull(kgb_json_get(unknown, "bytes")));
	assert_true(cJSON_IsNull(kgb_json_get(unknown, "peak_tflop_per_s")));
	assert_true(cJSON_IsNull(kgb_json_get(unknown, "candidate.peak_share")));
	assert_true(fabs(kgb_json_num(unknown, "candidate.tflop_per_s", 0) - 3000) < 1e-9);
	unknown = rates_of(json, "f/float32/u/standard", NULL);
	assert_true(cJSON_IsNull(kgb_json_get(unknown, "speedup")));
	assert_true(cJSON_IsNull(kgb_json_get(unknown, "candidate.ms")));
	free_verdict(verdict);
}

/* What a kernel has that passes. */
static struct kgb_verdict *good_verdict(void)
{
	struct kgb_verdict *verdict = new_verdict();

	for (int i = 0; i < KGB_N_STAGES; i++)
		verdict->stages[i].status = KGB_STAGE_PASSED;
	verdict->total_tests = verdict->passed_tests = 5;
	return verdict;
}

static void test_what_nobody_decided_passes_only_if_every_stage_says_so(void **state)
{
	const struct {
		enum kgb_stage stage;
		enum kgb_stage_status status;
		bool needs_kernels;
		int64_t passed, failed, total;
		bool passes;
	} rows[] = {
		{KGB_STAGE_CONTRACT, KGB_STAGE_PASSED, true, 5, 0, 5, true},
		{KGB_STAGE_CONTRACT, KGB_STAGE_SKIPPED, true, 5, 0, 5, false},
		{KGB_STAGE_L1, KGB_STAGE_SKIPPED, true, 5, 0, 5, false},
		{KGB_STAGE_CORRECTNESS, KGB_STAGE_SKIPPED, true, 5, 0, 5, false},
		{KGB_STAGE_CORRECTNESS, KGB_STAGE_PASSED, true, 4, 0, 5, false},
		{KGB_STAGE_CORRECTNESS, KGB_STAGE_PASSED, true, 5, 1, 5, false},
		{KGB_STAGE_CORRECTNESS, KGB_STAGE_PASSED, true, 0, 0, 0, false},
		{KGB_STAGE_L2, KGB_STAGE_SKIPPED, true, 5, 0, 5, false},
		{KGB_STAGE_L2, KGB_STAGE_SKIPPED, false, 5, 0, 5, true},
		{KGB_STAGE_L3, KGB_STAGE_PASSED, true, 5, 0, 5, true},
		{KGB_STAGE_L3, KGB_STAGE_SKIPPED, true, 5, 0, 5, false},
		/* Where no kernel runs nobody says that one was looked at. */
		{KGB_STAGE_L3, KGB_STAGE_SKIPPED, false, 5, 0, 5, true},
		{KGB_STAGE_L3, KGB_STAGE_PASSED, false, 5, 0, 5, false},
		{KGB_STAGE_TIMING, KGB_STAGE_SKIPPED, true, 5, 0, 5, true},
		{KGB_STAGE_TIMING, KGB_STAGE_FAILED, true, 5, 0, 5, false},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_verdict *verdict = good_verdict();
		if (!rows[i].needs_kernels)
			verdict->stages[KGB_STAGE_L3].status = KGB_STAGE_SKIPPED;
		verdict->stages[rows[i].stage].status = rows[i].status;
		verdict->passed_tests = rows[i].passed;
		verdict->failed_tests = rows[i].failed;
		verdict->total_tests = rows[i].total;
		assert_int_equal(verdict->status, KGB_STATUS_INFRA_ERROR);
		kgb_verdict_close(verdict, rows[i].needs_kernels);
		if (verdict->status !=
			    (rows[i].passes ? KGB_STATUS_PASSED : KGB_STATUS_INFRA_ERROR) ||
		    (verdict->code == KGB_CODE_NONE) != rows[i].passes)
			fail_msg("row %zu: %s, %s", i, kgb_status_name(verdict->status),
				 verdict->code ? kgb_code_name(verdict->code) : "no code");
		free_verdict(verdict);
	}
}

static void test_a_decision_is_not_closed_over(void **state)
{
	const struct kgb_failure wrong = {
		.code = KGB_CODE_VERIFY_MISMATCH, .message = "m", .hint = "h"};
	struct kgb_verdict *verdict = good_verdict();

	(void)state;
	kgb_verdict_decide(verdict, KGB_STAGE_CORRECTNESS, &wrong);
	kgb_verdict_close(verdict, true);
	assert_int_equal(verdict->code, KGB_CODE_VERIFY_MISMATCH);
	assert_int_equal(verdict->status, KGB_STATUS_FAILED);
	free_verdict(verdict);
}

static void test_interfaces_of_one_entry_are_counted_together(void **state)
{
	static const struct kgb_interface_count counts[] = {
		{.entry = "twice", .total = 5, .passed = 3, .failed = 2},
		{.entry = "once", .total = 7, .passed = 7},
		{.entry = "twice", .total = 10, .passed = 9, .failed = 1}};
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	verdict->n_interfaces = KGB_ARRAY_LEN(counts);
	verdict->interfaces =
		kgb_arena_array(&verdict->arena, KGB_ARRAY_LEN(counts), sizeof(counts[0]));
	memcpy(verdict->interfaces, counts, sizeof(counts));
	KGB_AUTO(json) cJSON *json = written(verdict);
	const cJSON *interfaces = kgb_json_get(json, "interfaces");
	const cJSON *twice = kgb_json_get(interfaces, "twice");
	assert_int_equal(cJSON_GetArraySize(interfaces), 2);
	assert_int_equal(kgb_json_i64(twice, "total", 0), 15);
	assert_int_equal(kgb_json_i64(twice, "passed", 0), 12);
	assert_int_equal(kgb_json_i64(twice, "failed", 0), 3);
	assert_int_equal(kgb_json_i64(kgb_json_get(interfaces, "once"), "total", 0), 7);
	free_verdict(verdict);
}

static struct kgb_verdict *verdict_of_lane(const size_t *turns, size_t n, int64_t passed)
{
	struct kgb_verdict *verdict = new_verdict();

	verdict->n_interfaces = 1;
	verdict->interfaces = kgb_arena_array(&verdict->arena, 1, sizeof(verdict->interfaces[0]));
	verdict->interfaces[0].passed = verdict->passed_tests = passed;
	verdict->interfaces[0].failed = verdict->failed_tests = (int64_t)n;
	for (size_t i = 0; i < n; i++)
		verdict->failures[verdict->n_failures++] = (struct kgb_failure){
			.turn = turns[i],
			.case_name = kgb_arena_printf(&verdict->arena, "case %zu", turns[i]),
			.code = KGB_CODE_VERIFY_MISMATCH};
	kgb_verdict_count_launches(verdict, "kernel", 3);
	verdict->ablations[verdict->n_ablations++] = (struct kgb_ablation_run){.case_name = "c"};
	return verdict;
}

static void test_what_lanes_found_adds_up_in_the_order_of_the_cases(void **state)
{
	const size_t mine[] = {0, 7, 9}, theirs[] = {1, 3, 8, 20};
	struct kgb_verdict *to = verdict_of_lane(mine, KGB_ARRAY_LEN(mine), 10);
	struct kgb_verdict *from = verdict_of_lane(theirs, KGB_ARRAY_LEN(theirs), 5);
	const size_t want[] = {0, 1, 3, 7, 8, 9, 20};

	(void)state;
	from->deterministic = false;
	from->n_nondeterministic = 2;
	kgb_verdict_note_closest(to, "near", 0.25);
	kgb_verdict_note_closest(from, "nearer", 0.5);
	kgb_verdict_note_closest(from, "far", 0);
	kgb_verdict_merge(to, from);
	free_verdict(from); /* its strings live on */
	assert_int_equal(to->passed_tests, 15);
	assert_int_equal(to->failed_tests, 7);
	assert_int_equal(to->interfaces[0].passed, 15);
	assert_int_equal(to->interfaces[0].failed, 7);
	assert_int_equal(to->n_failures, KGB_ARRAY_LEN(want));
	for (size_t i = 0; i < KGB_ARRAY_LEN(want); i++) {
		KGB_AUTO(free) char *name = kgb_xasprintf("case %zu", want[i]);
		assert_string_equal(to->failures[i].case_name, name);
	}
	assert_false(to->deterministic);
	assert_int_equal(to->n_nondeterministic, 2);
	assert_string_equal(to->closest.case_name, "nearer");
	assert_true(to->closest.share == 0.5);
	assert_int_equal(to->kernels[0].count, 6);
	assert_int_equal(to->n_ablations, 2);
	assert_int_equal(to->code, KGB_CODE_NONE);
	free_verdict(to);
}

static void test_conditions_of_lanes_are_united(void **state)
{
	enum { MANY = KGB_CONDITION_LANES };
	static const struct kgb_exec_condition rows[] = {
		{.place = 7, .line = 12, .outcomes = KGB_EXEC_WAS_TRUE, .lanes = MANY},
		{.place = 3, .line = 9, .outcomes = KGB_EXEC_WAS_FALSE, .lanes = MANY - 1},
		{.place = 7,
		 .ordinal = 1,
		 .line = 12,
		 .outcomes = KGB_EXEC_WAS_TRUE,
		 .lanes = MANY},
		{.place = 7, .line = 12, .outcomes = KGB_EXEC_WAS_FALSE, .lanes = MANY},
		{.place = 9, .line = 11}, /* it never ran */
		{.place = 4, .line = 13, .outcomes = KGB_EXEC_WAS_TRUE, .lanes = MANY - 1},
		{.place = 3, .line = 9, .outcomes = KGB_EXEC_WAS_FALSE, .lanes = 1},
		{.place = 5,
		 .line = 10,
		 .outcomes = KGB_EXEC_WAS_FALSE,
		 .outside = KGB_EXEC_WAS_TRUE,
		 .lanes = MANY},
	};
	struct kgb_verdict *to = new_verdict(), *from = new_verdict();

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		kgb_conditions_add(i < 3 ? &to->conditions : &from->conditions, &rows[i]);
	kgb_verdict_merge(to, from);
	free_verdict(from);
	assert_int_equal(kgb_conditions_count_uncovered(&to->conditions), 2);
	KGB_AUTO(json) cJSON *json = written(to);
	KGB_AUTO(free) char *text = cJSON_PrintUnformatted(kgb_json_get(json, "conditions"));
	assert_string_equal(text, "{\"total\":6,\"uncovered\":[{\"line\":9,\"never\":\"true\"},"
				  "{\"line\":12,\"never\":\"false\"}]}");
	free_verdict(to);
}

static void test_of_too_many_failures_the_first_stay(void **state)
{
	size_t odd[KGB_VERDICT_FAILURES_MAX], even[KGB_VERDICT_FAILURES_MAX];

	(void)state;
	for (size_t i = 0; i < KGB_VERDICT_FAILURES_MAX; i++) {
		odd[i] = 2 * i + 1;
		even[i] = 2 * i;
	}
	struct kgb_verdict *to = verdict_of_lane(odd, KGB_VERDICT_FAILURES_MAX, 0);
	struct kgb_verdict *from = verdict_of_lane(even, KGB_VERDICT_FAILURES_MAX, 0);
	kgb_verdict_merge(to, from);
	assert_int_equal(to->n_failures, KGB_VERDICT_FAILURES_MAX);
	for (size_t i = 0; i < KGB_VERDICT_FAILURES_MAX; i++)
		assert_int_equal(to->failures[i].turn, i);
	free_verdict(from);
	free_verdict(to);
}

static void test_no_number_of_failures_hides_a_cheat(void **state)
{
	size_t turns[KGB_VERDICT_FAILURES_MAX], late[] = {90, 91};

	(void)state;
	for (size_t i = 0; i < KGB_VERDICT_FAILURES_MAX; i++)
		turns[i] = i;
	struct kgb_verdict *to = verdict_of_lane(turns, KGB_VERDICT_FAILURES_MAX, 0);
	struct kgb_verdict *from = verdict_of_lane(late, KGB_ARRAY_LEN(late), 0);
	assert_null(kgb_verdict_cheat(to));
	from->failures[1].code = KGB_CODE_CHEAT_TORCH_COMPUTE;
	kgb_verdict_merge(to, from);
	assert_int_equal(to->n_failures, KGB_VERDICT_FAILURES_MAX);
	assert_ptr_equal(kgb_verdict_cheat(to), &to->failures[KGB_VERDICT_FAILURES_MAX - 1]);
	assert_int_equal(kgb_verdict_cheat(to)->turn, 91);
	assert_int_equal(to->failures[KGB_VERDICT_FAILURES_MAX - 2].turn,
			 KGB_VERDICT_FAILURES_MAX - 2);
	const struct kgb_failure early = {.turn = 0, .code = KGB_CODE_VERIFY_CRASH};
	kgb_verdict_add_failure(to, &early);
	assert_int_equal(to->failures[1].code, KGB_CODE_VERIFY_CRASH);
	assert_int_equal(kgb_verdict_cheat(to)->turn, 91);
	free_verdict(from);
	free_verdict(to);
}

static void test_a_lane_may_decide_where_nothing_was_decided(void **state)
{
	const struct kgb_failure cheat = {
		.code = KGB_CODE_CHEAT_GHOST, .message = "m", .hint = "h"};
	const struct kgb_failure wrong = {
		.code = KGB_CODE_VERIFY_MISMATCH, .message = "m", .hint = "h"};
	struct kgb_verdict *to = new_verdict(), *from = new_verdict(), *late = new_verdict();

	(void)state;
	kgb_verdict_decide(from, KGB_STAGE_CORRECTNESS, &cheat);
	kgb_verdict_decide(late, KGB_STAGE_CORRECTNESS, &wrong);
	kgb_verdict_merge(to, from);
	kgb_verdict_merge(to, late);
	assert_int_equal(to->code, KGB_CODE_CHEAT_GHOST);
	kgb_verdict_withdraw(to);
	kgb_verdict_merge(to, late);
	assert_int_equal(to->code, KGB_CODE_VERIFY_MISMATCH);
	kgb_verdict_merge(to, from); /* a cheat counts whenever it comes */
	assert_int_equal(to->code, KGB_CODE_CHEAT_GHOST);
	assert_int_equal(to->status, KGB_STATUS_CHEATED);
	assert_int_equal(to->decided_by, KGB_STAGE_CORRECTNESS);
	free_verdict(from);
	free_verdict(late);
	free_verdict(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interfaces_of_one_entry_are_counted_together),
		cmocka_unit_test(test_an_undecided_verdict_has_every_member),
		cmocka_unit_test(test_the_first_decision_stays_and_its_code_gives_the_status),
		cmocka_unit_test(test_a_decision_that_is_withdrawn_leaves_room_for_another),
		cmocka_unit_test(test_the_gpu_is_described_where_there_is_one),
		cmocka_unit_test(test_values_that_json_has_no_number_for_are_words),
		cmocka_unit_test(test_launches_beyond_the_table_are_counted_together),
		cmocka_unit_test(test_the_report_says_what_is_wrong_where_and_what_to_do),
		cmocka_unit_test(test_the_report_does_not_tell_the_seed),
		cmocka_unit_test(test_a_speedup_is_that_of_all_cases_or_of_none),
		cmocka_unit_test(test_a_timed_case_has_its_share_of_the_peak),
		cmocka_unit_test(test_what_nobody_decided_passes_only_if_every_stage_says_so),
		cmocka_unit_test(test_a_decision_is_not_closed_over),
		cmocka_unit_test(test_what_lanes_found_adds_up_in_the_order_of_the_cases),
		cmocka_unit_test(test_conditions_of_lanes_are_united),
		cmocka_unit_test(test_of_too_many_failures_the_first_stay),
		cmocka_unit_test(test_no_number_of_failures_hides_a_cheat),
		cmocka_unit_test(test_a_lane_may_decide_where_nothing_was_decided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
