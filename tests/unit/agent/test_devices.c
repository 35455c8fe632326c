/* SPDX-License-Identifier: MIT */
/** \file
 * Which devices a setting names. What depends on the machine's GPUs is tried by
 * tests/gpu/agent_check.py; here they are hidden, so that machines with and without are alike.
 */
#include "tests/unit/agent/agent_test.h"

#include <stdlib.h>

#include "agent/config/env.h"
#include "agent/devices/devices.h"
#include "base/log.h"

static void hide_gpus(void)
{
	assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
}

static void test_without_a_gpu_the_cpu_is_taken(void **state)
{
	static const char *const texts[] = {"cpu", "auto"};
	(void)state;
	hide_gpus();
	for (size_t i = 0; i < KGB_ARRAY_LEN(texts); i++) {
		struct kgb_devices devices;
		assert_ok(kgb_devices_find(&devices, texts[i], 4, KGB_TEST_BIN_DIR, err));
		assert_int_equal(devices.n, 1);
		assert_string_equal(devices.items[0].name, "cpu");
		assert_string_equal(kgb_devices_platform(&devices), "cpu");
		assert_ok(kgb_devices_try(&devices, err));
		/* Several operators at a time share it. */
		assert_ptr_equal(kgb_devices_at(&devices, 3), &devices.items[0]);
	}
}

static void test_a_device_that_is_not_there_is_refused_with_a_remedy(void **state)
{
	static const struct {
		const char *text, *message;
		enum kgb_err_kind kind;
	} cases[] = {
		{"", "device '' is none of cpu, auto, cuda, GPUs by number (cuda:0,2)",
		 KGB_ERR_INVALID},
		{"gpu", "device 'gpu'", KGB_ERR_INVALID},
		{"CPU", "device 'CPU'", KGB_ERR_INVALID},
		{"cuda0", "device 'cuda0'", KGB_ERR_INVALID},
		{"cuda:", "device", KGB_ERR_INVALID},
		{"cuda:x", "'x' is not a whole number", KGB_ERR_INVALID},
		{"cuda:64", "64", KGB_ERR_INVALID},
		{"cuda:-1", "-1", KGB_ERR_INVALID},
		{"cuda", "hidden by CUDA_VISIBLE_DEVICES='': unset it, or use --device cpu",
		 KGB_ERR_UNAVAILABLE},
		{"cuda:2", "cuda:2: GPU 2 is hidden", KGB_ERR_UNAVAILABLE},
		{"cuda:1,0", "cuda:1: GPU 1 is hidden", KGB_ERR_UNAVAILABLE},
	};
	(void)state;
	hide_gpus();
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_devices devices;
		assert_fails(kgb_devices_find(&devices, cases[i].text, 1, KGB_TEST_BIN_DIR, err),
			     cases[i].kind, cases[i].message);
	}
}

static void test_cuda_visible_devices_says_which_gpus_are_meant(void **state)
{
	static const struct {
		const char *visible; /* NULL: not set */
		int64_t number;
		int own; /* -1: hidden, -2: not understood */
	} cases[] = {
		{NULL, 0, 0},        {NULL, 7, 7},  {"3", 0, 3},    {"3", 1, -1},
		{"2,0", 0, 2},       {"2,0", 1, 0}, {"2,0", 2, -1}, {"0,-1,1", 2, -1},
		{"GPU-8a5b", 0, -2}, {"", 0, -1},
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		int own = -3;
		if (cases[i].visible)
			assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1), 0);
		else
			assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
		if (cases[i].own < 0) {
			assert_fails(kgb_gpu_visible(cases[i].number, &own, err),
				     cases[i].own == -1 ? KGB_ERR_UNAVAILABLE : KGB_ERR_INVALID,
				     "CUDA_VISIBLE_DEVICES");
			continue;
		}
		assert_ok(kgb_gpu_visible(cases[i].number, &own, err));
		assert_int_equal(own, cases[i].own);
	}
}

static void test_programs_see_which_gpus_are_meant_and_no_key(void **state)
{
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	(void)state;
	assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "1", 1), 0);
	assert_int_equal(setenv("ANTHROPIC_API_KEY", "sk-real", 1), 0);
	kgb_child_env(&env);
	assert_true(kgb_strv_has(&env, "CUDA_VISIBLE_DEVICES=1"));
	assert_false(kgb_strv_has(&env, "ANTHROPIC_API_KEY=sk-real"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_gpu_the_cpu_is_taken),
		cmocka_unit_test(test_a_device_that_is_not_there_is_refused_with_a_remedy),
		cmocka_unit_test(test_cuda_visible_devices_says_which_gpus_are_meant),
		cmocka_unit_test(test_programs_see_which_gpus_are_meant_and_no_key),
	};
	kgb_log_init("test", KGB_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
