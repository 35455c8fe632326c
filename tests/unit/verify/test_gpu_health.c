/* SPDX-License-Identifier: MIT */
/* What is asked of a GPU after a bad verdict, and what the answers mean. The driver's management
 * library is a stand-in; FAKE_NVML says what it tells (tests/gpu/fake/nvml.c). */
#include "verify/stages/gpu_health.h"

#include "tests/unit/base/support.h"

static struct kgb_nvml *open_nvml(const char *told)
{
	struct kgb_nvml *nvml = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	assert_int_equal(setenv("FAKE_NVML", told, 1), 0);
	assert_ok(kgb_nvml_open(&nvml, &err), err);
	assert_ok(kgb_nvml_choose(nvml, "0000:0f:00.0", &err), err);
	return nvml;
}

static void test_the_library_is_asked_about_everything(KGB_UNUSED void **state)
{
	struct kgb_nvml *nvml =
		open_nvml("processes=2 free=1024 total=4096 uncorrected=7 recovery=2 "
			  "remap_pending=1 remap_failed=0 retired=1");
	struct kgb_nvml_state got;

	kgb_nvml_look(nvml, &got);
	assert_int_equal(got.n_processes, 2);
	assert_int_equal(got.processes[0].pid, 1);
	assert_int_equal(got.processes[0].bytes, 5 << 20);
	assert_int_equal(got.processes[1].bytes, -1);
	assert_int_equal(got.free_bytes, 1024);
	assert_int_equal(got.total_bytes, 4096);
	assert_int_equal(got.uncorrected, 7);
	assert_int_equal(got.retirement_pending, 1);
	assert_int_equal(got.remap_pending, 1);
	assert_int_equal(got.remap_failed, 0);
	assert_int_equal(got.recovery_action, 2);
	kgb_nvml_close(nvml);
}

static void test_what_is_not_told_is_unknown(KGB_UNUSED void **state)
{
	struct kgb_nvml *nvml = open_nvml("bare processes=1 xid=79");
	struct kgb_nvml_state got;
	uint64_t xids[2];
	char why[128];

	kgb_nvml_look(nvml, &got);
	assert_int_equal(got.n_processes, -1);
	assert_int_equal(got.uncorrected, -1);
	assert_int_equal(got.retirement_pending, -1);
	assert_int_equal(got.remap_pending, -1);
	assert_int_equal(got.remap_failed, -1);
	assert_int_equal(got.recovery_action, -1);
	assert_int_equal(kgb_nvml_xids(nvml, xids, 2), 0);
	assert_false(kgb_gpu_health_bad(&got, xids, 0, why, sizeof(why)));
	kgb_nvml_close(nvml);
}

static void test_a_crowd_of_processes_is_unknown(KGB_UNUSED void **state)
{
	struct kgb_nvml *nvml = open_nvml("processes=65");
	struct kgb_nvml_state got;

	kgb_nvml_look(nvml, &got);
	assert_int_equal(got.n_processes, -1);
	kgb_nvml_close(nvml);
}

static void test_the_gpu_is_found_by_its_place_or_alone(KGB_UNUSED void **state)
{
	struct kgb_nvml *nvml = open_nvml("");
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_nvml_choose(nvml, "", &err), err);
	assert_fails(kgb_nvml_choose(nvml, "0000:99:00.0", &err), err,
		     "libnvidia-ml.so.1 has no GPU '0000:99:00.0'");
	kgb_nvml_close(nvml);
	kgb_nvml_close(NULL);
}

static void test_a_library_that_does_not_start_is_unavailable(KGB_UNUSED void **state)
{
	struct kgb_nvml *nvml = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	assert_int_equal(setenv("FAKE_NVML", "none", 1), 0);
	assert_int_equal(kgb_nvml_open(&nvml, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_UNAVAILABLE);
	assert_string_equal(err.msg, "libnvidia-ml.so.1 does not start: 6");
}

static void test_errors_are_told_once(KGB_UNUSED void **state)
{
	struct kgb_nvml *nvml = open_nvml("xid=31");
	uint64_t xids[4];

	assert_int_equal(kgb_nvml_xids(nvml, xids, 4), 1);
	assert_int_equal(xids[0], 31);
	assert_int_equal(kgb_nvml_xids(nvml, xids, 4), 0);
	kgb_nvml_close(nvml);
}

static void test_only_hardware_makes_a_gpu_unwell(KGB_UNUSED void **state)
{
	static const struct {
		const char *told;
		const char *why; /* NULL: well */
	} cases[] = {
		{"", NULL},
		{"xid=13", NULL}, /* a wild pointer of a kernel */
		{"xid=31", NULL},
		{"xid=43", NULL},
		{"xid=48", "the driver reported hardware error Xid 48"},
		{"xid=79", "the driver reported hardware error Xid 79"},
		{"xid=62", "the driver reported hardware error Xid 62"},
		{"xid=64", "the driver reported hardware error Xid 64"},
		{"xid=94", "the driver reported hardware error Xid 94"},
		{"xid=95", "the driver reported hardware error Xid 95"},
		{"xid=119", "the driver reported hardware error Xid 119"},
		{"xid=120", "the driver reported hardware error Xid 120"},
		{"xid=140", "the driver reported hardware error Xid 140"},
		{"recovery=0", NULL},
		{"recovery=1", "the driver asks for a reset"},
		{"recovery=2", "the driver asks for a reboot"},
		{"recovery=99", "the driver asks for repair"},
		{"remap_failed=1", "broken memory rows could not be replaced"},
		{"remap_pending=1", NULL}, /* the next reset replaces them */
		{"retired=1", NULL},
		{"uncorrected=3", NULL}, /* long ago, perhaps */
		{"xid=13 recovery=1", "the driver asks for a reset"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_nvml *nvml = open_nvml(cases[i].told);
		struct kgb_nvml_state state_now;
		uint64_t xids[4];
		char why[128] = "";

		kgb_nvml_look(nvml, &state_now);
		size_t n = kgb_nvml_xids(nvml, xids, 4);
		bool bad = kgb_gpu_health_bad(&state_now, xids, n, why, sizeof(why));
		if (bad != (cases[i].why != NULL))
			fail_msg("'%s': %s", cases[i].told, bad ? why : "well");
		if (bad)
			assert_string_equal(why, cases[i].why);
		kgb_nvml_close(nvml);
	}
}

static void test_crashes_call_for_a_test_and_wrong_results_do_not(KGB_UNUSED void **state)
{
	static const struct {
		enum kgb_code code;
		bool due;
	} cases[] = {
		{KGB_CODE_VERIFY_CRASH, true},         {KGB_CODE_VERIFY_TIMEOUT, true},
		{KGB_CODE_VERIFY_OOM, true},           {KGB_CODE_VERIFY_EXIT, true},
		{KGB_CODE_VERIFY_PROTOCOL, true},      {KGB_CODE_VERIFY_RECORD, true},
		{KGB_CODE_VERIFY_OUT_OF_BOUNDS, true}, {KGB_CODE_INFRA_CORRECTNESS, true},
		{KGB_CODE_INFRA_TIMING, true},         {KGB_CODE_INFRA_GPU_BUSY, false},
		{KGB_CODE_INFRA_GPU_LEASE, false},     {KGB_CODE_VERIFY_DEVICE_EXCEPTION, true},
		{KGB_CODE_VERIFY_EXCEPTION, false},    {KGB_CODE_VERIFY_MISMATCH, false},
		{KGB_CODE_CHEAT_GHOST, false},         {KGB_CODE_VERIFY_DTYPE, false},
		{KGB_CODE_L1_TORCH_COMPUTE, false},    {KGB_CODE_NONE, false},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		if (kgb_gpu_health_is_due(cases[i].code) != cases[i].due)
			fail_msg("%s", kgb_code_name(cases[i].code));
}

#define GIB (UINT64_C(1) << 30)

static void test_memory_that_others_hold_is_not_the_candidates_fault(KGB_UNUSED void **state)
{
	static const struct {
		enum kgb_code code;
		uint64_t free_bytes, total_bytes;
		bool starved;
	} cases[] = {
		{KGB_CODE_VERIFY_OOM, 20 * GIB, 140 * GIB, true},
		{KGB_CODE_VERIFY_OOM, 69 * GIB, 140 * GIB, true},
		{KGB_CODE_VERIFY_OOM, 71 * GIB, 140 * GIB, false},
		{KGB_CODE_VERIFY_RECORD, 20 * GIB, 140 * GIB, true},
		{KGB_CODE_VERIFY_DEVICE_EXCEPTION, 20 * GIB, 140 * GIB, false},
		{KGB_CODE_VERIFY_CRASH, 20 * GIB, 140 * GIB, false},
		{KGB_CODE_VERIFY_CRASH, 1 * GIB, 140 * GIB, true},
		{KGB_CODE_VERIFY_OOM, 0, 0, false}, /* unknown */
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		if (kgb_gpu_health_starved(cases[i].code, cases[i].free_bytes,
					   cases[i].total_bytes) != cases[i].starved)
			fail_msg("row %zu", i);
}

/* ---- the whole ---- */

/* A verdict on a machine that has no GPU at all, which is as unwell as one can be. */
static void check_verdict(enum kgb_code code, const char *told, struct kgb_verdict *verdict)
{
	const struct kgb_judge_options options = {.device = 0};
	const struct kgb_judge judge = {.options = &options};
	struct kgb_lane lane;
	const struct kgb_failure failure = {.code = code, .message = "what it was", .hint = "do"};

	assert_int_equal(setenv("FAKE_NVML", told, 1), 0);
	kgb_lane_init(&lane, &judge, verdict);
	kgb_verdict_init(verdict);
	verdict->platform = "cuda";
	kgb_gpu_health_watch(&lane);
	if (code)
		kgb_verdict_decide(verdict, KGB_STAGE_CORRECTNESS, &failure);
	kgb_gpu_health_check(&lane);
	assert_null(lane.nvml);
	kgb_lane_release(&lane);
}

static void test_an_unwell_gpu_takes_back_what_was_decided(KGB_UNUSED void **state)
{
	static const enum kgb_code codes[] = {KGB_CODE_VERIFY_CRASH, KGB_CODE_INFRA_TIMING};
	struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));

	for (size_t i = 0; i < KGB_ARRAY_LEN(codes); i++) {
		check_verdict(codes[i], "", verdict);
		assert_true(verdict->health.tested);
		assert_false(verdict->health.well);
		assert_int_equal(verdict->status, KGB_STATUS_INFRA_ERROR);
		assert_int_equal(verdict->code, KGB_CODE_INFRA_GPU_HEALTH);
		assert_contains(verdict->message, "the GPU is not well: ");
		assert_contains(verdict->message, kgb_code_name(codes[i]));
		assert_contains(verdict->message, "what it was");
		kgb_verdict_release(verdict);
	}
	kgb_free(verdict);
}

static void test_other_verdicts_stand_and_get_notes(KGB_UNUSED void **state)
{
	static const enum kgb_code codes[] = {KGB_CODE_NONE, KGB_CODE_VERIFY_MISMATCH,
					      KGB_CODE_CHEAT_GHOST};
	struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));

	for (size_t i = 0; i < KGB_ARRAY_LEN(codes); i++) {
		check_verdict(codes[i], "xid=79 processes=2 uncorrected=3 recovery=1", verdict);
		assert_false(verdict->health.tested);
		assert_int_equal(verdict->code, codes[i]);
		assert_int_equal(verdict->health.n_notes, 4);
		assert_string_equal(verdict->health.notes[0], "the driver reported Xid 79");
		assert_contains(verdict->health.notes[1], "3 uncorrected memory errors");
		assert_contains(verdict->health.notes[2], "process 1 (");
		assert_contains(verdict->health.notes[2], "uses the GPU too, with 5 MiB");
		assert_string_equal(verdict->health.notes[3],
				    "process 2000000001 (?) uses the GPU too");
		kgb_verdict_release(verdict);
	}
	kgb_free(verdict);
}

static void test_without_the_library_there_is_a_note(KGB_UNUSED void **state)
{
	struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));

	check_verdict(KGB_CODE_NONE, "none", verdict);
	assert_int_equal(verdict->health.n_notes, 1);
	assert_string_equal(verdict->health.notes[0], "libnvidia-ml.so.1 does not start: 6");
	kgb_verdict_release(verdict);
	kgb_free(verdict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_library_is_asked_about_everything),
		cmocka_unit_test(test_what_is_not_told_is_unknown),
		cmocka_unit_test(test_a_crowd_of_processes_is_unknown),
		cmocka_unit_test(test_the_gpu_is_found_by_its_place_or_alone),
		cmocka_unit_test(test_a_library_that_does_not_start_is_unavailable),
		cmocka_unit_test(test_errors_are_told_once),
		cmocka_unit_test(test_only_hardware_makes_a_gpu_unwell),
		cmocka_unit_test(test_crashes_call_for_a_test_and_wrong_results_do_not),
		cmocka_unit_test(test_memory_that_others_hold_is_not_the_candidates_fault),
		cmocka_unit_test(test_an_unwell_gpu_takes_back_what_was_decided),
		cmocka_unit_test(test_other_verdicts_stand_and_get_notes),
		cmocka_unit_test(test_without_the_library_there_is_a_note),
	};

	return cmocka_run_group_tests_name("gpu_health", tests, NULL, NULL);
}
