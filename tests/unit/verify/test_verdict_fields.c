/* SPDX-License-Identifier: MIT */
#include "base/formats/json.h"
#include "tests/unit/base/support.h"
#include "verify/lane/verdict.h"

/* What was found is written as it was found: a document that flatters is worse than none. */

static struct kgb_verdict *new_verdict(void)
{
	struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));

	kgb_verdict_init(verdict);
	verdict->operator_name = "aten::add";
	return verdict;
}

static cJSON *written(const struct kgb_verdict *verdict)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	cJSON *json = NULL;

	kgb_verdict_write(verdict, &text);
	assert_ok(kgb_json_parse(text.ptr, text.len, &json, &err), err);
	return json;
}

static void free_verdict(struct kgb_verdict *verdict)
{
	kgb_verdict_release(verdict);
	kgb_free(verdict);
}

static void test_stages_have_the_words_of_their_states(void **state)
{
	static const char *const words[KGB_N_STAGES] = {"passed", "skipped", "failed",
							"passed", "skipped", "failed"};
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	verdict->stages[KGB_STAGE_CONTRACT].status = KGB_STAGE_PASSED;
	verdict->stages[KGB_STAGE_CORRECTNESS].status = KGB_STAGE_FAILED;
	verdict->stages[KGB_STAGE_L2].status = KGB_STAGE_PASSED;
	verdict->stages[KGB_STAGE_TIMING].status = KGB_STAGE_FAILED;
	KGB_AUTO(json) cJSON *json = written(verdict);
	const cJSON *stages = kgb_json_get(json, "stages");
	for (int i = 0; i < KGB_N_STAGES; i++) {
		const cJSON *stage = cJSON_GetArrayItem(stages, i);
		assert_string_equal(kgb_json_str(stage, "status", ""), words[i]);
		assert_string_equal(kgb_json_str(stage, "name", ""),
				    kgb_stage_name((enum kgb_stage)i));
	}
	free_verdict(verdict);
}

static void test_tests_that_passed_failed_or_were_not_run(void **state)
{
	struct kgb_interface_count interface = {
		.entry = "f", .total = 10, .passed = 6, .failed = 1};
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	verdict->total_tests = 10;
	verdict->passed_tests = 6;
	verdict->failed_tests = 1;
	verdict->interfaces = &interface;
	verdict->n_interfaces = 1;
	KGB_AUTO(json) cJSON *json = written(verdict);
	assert_int_equal(kgb_json_i64(json, "total_tests", -1), 10);
	assert_int_equal(kgb_json_i64(json, "passed_tests", -1), 6);
	assert_int_equal(kgb_json_i64(json, "failed_tests", -1), 1);
	assert_int_equal(kgb_json_i64(json, "not_run_tests", -1), 3);
	assert_int_equal(kgb_json_i64(json, "interfaces.f.total", -1), 10);
	assert_int_equal(kgb_json_i64(json, "interfaces.f.passed", -1), 6);
	assert_int_equal(kgb_json_i64(json, "interfaces.f.failed", -1), 1);
	free_verdict(verdict);
}

static void test_kernels_that_mattered_and_those_that_did_not(void **state)
{
	static const struct kgb_ablation_run runs[] = {{"c1", NULL, true},
						       {"c1", "idle", false},
						       {"c2", NULL, false},
						       {"c2", "busy", true}};
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	memcpy(verdict->ablations, runs, sizeof(runs));
	verdict->n_ablations = KGB_ARRAY_LEN(runs);
	KGB_AUTO(json) cJSON *json = written(verdict);
	for (size_t i = 0; i < KGB_ARRAY_LEN(runs); i++) {
		const cJSON *list =
			kgb_json_get(json, runs[i].kernel ? "ghost.ablation" : "ghost.cases");
		const cJSON *run = cJSON_GetArrayItem(list, (int)i / 2);
		assert_string_equal(kgb_json_str(run, "case", ""), runs[i].case_name);
		assert_string_equal(kgb_json_str(run, "kernel", ""),
				    runs[i].kernel ? runs[i].kernel : "");
		assert_int_equal(kgb_json_bool(run, "broken", !runs[i].broken), runs[i].broken);
	}
	free_verdict(verdict);
}

static void test_results_that_vary_are_told(void **state)
{
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	KGB_AUTO(json) cJSON *steady = written(verdict);
	assert_true(kgb_json_bool(steady, "deterministic", false));
	verdict->deterministic = false;
	verdict->n_nondeterministic = 3;
	KGB_AUTO(json) cJSON *varying = written(verdict);
	assert_false(kgb_json_bool(varying, "deterministic", true));
	assert_int_equal(kgb_json_i64(varying, "nondeterministic_tests", 0), 3);
	free_verdict(verdict);
}

static void test_how_near_the_tolerance_came_is_told(void **state)
{
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	KGB_AUTO(json) cJSON *none = written(verdict);
	assert_true(cJSON_IsNull(kgb_json_get(none, "closest")));
	kgb_verdict_note_closest(verdict, "exact", 0);
	kgb_verdict_note_closest(verdict, "near", 0.75);
	kgb_verdict_note_closest(verdict, "far", 0.5);
	KGB_AUTO(json) cJSON *json = written(verdict);
	assert_string_equal(kgb_json_str(json, "closest.case", ""), "near");
	assert_true(kgb_json_get(json, "closest.error_of_allowed")->valuedouble == 0.75);
	free_verdict(verdict);
}

static void test_times_stay_on_their_side_and_say_whether_they_count(void **state)
{
	const struct kgb_timer timer = {.config.case_name = "c"};
	const struct kgb_timer_result result = {.result = KGB_TIMING_FASTER,
						.speedup = {2, 1.9, 2.1},
						.median_ns = {{2e6, 2e6, 2e6}, {1e6, 1e6, 1e6}}};
	struct kgb_verdict *verdict = new_verdict();

	(void)state;
	KGB_AUTO(json) cJSON *without = written(verdict);
	assert_false(kgb_json_bool(without, "timing.comparable", true));
	assert_non_null(kgb_json_str(without, "timing.reason", NULL));
	assert_null(kgb_json_get(without, "timing.speedup"));
	kgb_verdict_add_timing(verdict, &timer, &result, false);
	assert_true(verdict->timings[0].candidate_ms == 1);
	assert_true(verdict->timings[0].baseline_ms == 2);
	free_verdict(verdict);
}

static void test_a_lane_adds_what_is_bad_and_nothing_good(void **state)
{
	const struct kgb_failure trouble = {.code = KGB_CODE_INFRA_CORRECTNESS, .message = "m"};
	struct kgb_verdict *to = new_verdict(), *from = new_verdict(), *good = new_verdict();

	(void)state;
	from->n_inline_ptx = 2;
	from->deterministic = false;
	from->phase_ns[KGB_PHASE_CALL] = 5000000;
	kgb_verdict_decide(from, KGB_STAGE_CORRECTNESS, &trouble);
	kgb_verdict_merge(to, from);
	kgb_verdict_merge(to, good);
	assert_int_equal(to->status, KGB_STATUS_INFRA_ERROR);
	assert_int_equal(to->stages[KGB_STAGE_CORRECTNESS].status, KGB_STAGE_FAILED);
	assert_false(to->deterministic);
	assert_int_equal(to->passed_tests, 0);
	KGB_AUTO(json) cJSON *json = written(to);
	assert_int_equal(kgb_json_i64(json, "inline_ptx", 0), 2);
	assert_true(kgb_json_num(json, "phases_ms.call", 0) == 5);
	free_verdict(good);
	free_verdict(from);
	free_verdict(to);
}

static void test_the_rung_of_one_case(void **state)
{
	static const struct {
		enum kgb_code code;
		bool launched;
		enum kgb_reached reached;
	} rows[] = {
		{KGB_CODE_NONE, true, KGB_REACHED_RUNS},
		{KGB_CODE_VERIFY_MISMATCH, true, KGB_REACHED_RUNS},
		{KGB_CODE_VERIFY_STRIDES, true, KGB_REACHED_RUNS},
		{KGB_CODE_VERIFY_SHAPE, true, KGB_REACHED_COMPILES},
		{KGB_CODE_VERIFY_OUT_OF_BOUNDS, true, KGB_REACHED_COMPILES},
		{KGB_CODE_VERIFY_EXCEPTION, true, KGB_REACHED_COMPILES},
		{KGB_CODE_VERIFY_EXCEPTION, false, KGB_REACHED_NOTHING},
		{KGB_CODE_NONE, false, KGB_REACHED_NOTHING},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		assert_int_equal(kgb_reached_by_case(rows[i].code, rows[i].launched),
				 rows[i].reached);
}

static void test_the_rung_of_a_verdict(void **state)
{
	static const struct {
		enum kgb_status status;
		enum kgb_stage failed; /* KGB_N_STAGES: none */
		int64_t core, edge; /* passed of 2 and 1 */
		enum kgb_reached best;
		bool is_timed;
		const char *whole, *interface;
	} rows[] = {
		{KGB_STATUS_INFRA_ERROR, KGB_N_STAGES, 2, 1, KGB_REACHED_RUNS, false, NULL, NULL},
		{KGB_STATUS_CHEATED, KGB_STAGE_L2, 2, 1, KGB_REACHED_RUNS, false, NULL, NULL},
		{KGB_STATUS_CHEATED, KGB_STAGE_L1, 0, 0, 0, false, "refused", "refused"},
		{KGB_STATUS_FAILED, KGB_STAGE_CONTRACT, 0, 0, 0, false, "refused", "refused"},
		{KGB_STATUS_FAILED, KGB_STAGE_CORRECTNESS, 0, 0, 0, false, "nothing", NULL},
		{KGB_STATUS_FAILED, KGB_STAGE_CORRECTNESS, 2, 0, KGB_REACHED_COMPILES, false,
		 "compiles", "compiles"},
		{KGB_STATUS_FAILED, KGB_STAGE_CORRECTNESS, 1, 1, KGB_REACHED_RUNS, false, "runs",
		 "runs"},
		{KGB_STATUS_FAILED, KGB_STAGE_CORRECTNESS, 2, 0, KGB_REACHED_RUNS, false, "core",
		 "core"},
		{KGB_STATUS_FAILED, KGB_STAGE_L2, 2, 1, KGB_REACHED_RUNS, false, "core", "core"},
		{KGB_STATUS_PASSED, KGB_N_STAGES, 2, 1, KGB_REACHED_RUNS, false, "correct",
		 "correct"},
		{KGB_STATUS_PASSED, KGB_N_STAGES, 2, 1, KGB_REACHED_RUNS, true, "timed", "timed"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const int64_t passed = rows[i].core + rows[i].edge;
		struct kgb_verdict *verdict = new_verdict();
		struct kgb_interface_count interface = {
			.entry = "f",
			.total = 3,
			.passed = passed,
			.tiers = {{.total = 2, .passed = rows[i].core},
				  {.total = 1, .passed = rows[i].edge}},
			.best = rows[i].best,
		};
		verdict->status = rows[i].status;
		for (int k = 0; k < KGB_N_STAGES; k++)
			verdict->stages[k].status = KGB_STAGE_PASSED;
		if (rows[i].failed < KGB_N_STAGES)
			verdict->stages[rows[i].failed].status = KGB_STAGE_FAILED;
		verdict->interfaces = &interface;
		verdict->n_interfaces = 1;
		verdict->timing_comparable = rows[i].is_timed;
		verdict->timings[verdict->n_timings++] = (struct kgb_timing){
			.case_name = "f/float32/a/standard", .json = "{}", .rates = "{}"};
		KGB_AUTO(json) cJSON *json = written(verdict);
		const char *whole = kgb_json_str(json, "reached", NULL);
		const char *one = kgb_json_str(json, "interfaces.f.reached", NULL);
		if (!kgb_str_eq(whole ? whole : "", rows[i].whole ? rows[i].whole : "") ||
		    !kgb_str_eq(one ? one : "", rows[i].interface ? rows[i].interface : ""))
			fail_msg("row %zu: %s, %s", i, whole, one);
		assert_int_equal(kgb_json_i64(json, "tiers.core.passed", -1), rows[i].core);
		assert_int_equal(kgb_json_i64(json, "interfaces.f.tiers.edge.total", -1), 1);
		free_verdict(verdict);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stages_have_the_words_of_their_states),
		cmocka_unit_test(test_tests_that_passed_failed_or_were_not_run),
		cmocka_unit_test(test_the_rung_of_one_case),
		cmocka_unit_test(test_the_rung_of_a_verdict),
		cmocka_unit_test(test_kernels_that_mattered_and_those_that_did_not),
		cmocka_unit_test(test_results_that_vary_are_told),
		cmocka_unit_test(test_how_near_the_tolerance_came_is_told),
		cmocka_unit_test(test_times_stay_on_their_side_and_say_whether_they_count),
		cmocka_unit_test(test_a_lane_adds_what_is_bad_and_nothing_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
