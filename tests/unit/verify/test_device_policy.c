/* SPDX-License-Identifier: MIT */
#include "verify/provenance/device_policy.h"

#include "base/formats/json.h"
#include "base/formats/yaml.h"
#include "base/str.h"
#include "tests/unit/base/support.h"

#define POLICY KGB_TEST_SOURCE_DIR "/verify/policy/device.yaml"
#define DISPATCH KGB_TEST_SOURCE_DIR "/verify/policy/dispatch.yaml"

static struct kgb_device_policy *load(void)
{
	struct kgb_device_policy *policy = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_device_policy_load(POLICY, &policy, &err), err);
	return policy;
}

/* Symbols of torch 2.11 for CUDA 13. */
static void test_fills_and_copies_of_torch_are_moves_and_nothing_else_is(void **state)
{
	static const struct {
		const char *kernel, *rule;
	} cases[] = {
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
		 "fill"},
		{"_ZN2at6native27unrolled_elementwise_kernelINS0_11FillFunctorIN3c104HalfEEESt5arrayIPcLm1EELi4E23TrivialOffsetCalculatorILi0EjES9_ILi1EjENS0_6memory15LoadWithoutCastENSC_16StoreWithoutCastEEEviT_T0_T2_T3_T4_T5_",
		 "fill"},
		{"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_11FillFunctorIdEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
		 "fill"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi2EZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
		 "copy"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi2EZNS0_25bfloat16_copy_kernel_cudaERNS_18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
		 "copy"},
		{"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE_clEvEUlhE_EEvS4_RKT_EUliE_EEviT1_",
		 "copy"},
		{"_ZN50_GLOBAL__N__fa15d16e_17_RangeFactories_cu_38772b0829elementwise_kernel_with_indexIiZZZN2at6native15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvENKUlvE_clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_typeE",
		 "arange"},
		/* computing */
		{"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15neg_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
		 NULL},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
		 NULL},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIfffNS0_11FillFunctorIfEEEESt5arrayIPcLm3EEEEviT0_T1_",
		 NULL},
		{"_ZN2at6native39_GLOBAL__N__a_CatArrayBatchedCopyINS1_10OpaqueTypeILj4EEEjLi1ELi64ELi64EEEvPT_",
		 NULL},
		{"nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNT", NULL},
		/* a name that only contains an allowed one */
		{"evil_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE",
		 NULL},
		{"direct_copy_kernel_cuda", NULL},
		{"", NULL},
	};
	struct kgb_device_policy *policy = load();

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const char *rule = kgb_device_policy_move(policy, cases[i].kernel);
		if (!kgb_str_eq(rule, cases[i].rule))
			fail_msg("%.80s: %s", cases[i].kernel, rule ? rule : "no rule");
	}
	kgb_device_policy_free(policy);
}

static void test_ir_of_triton_is_known_and_ir_that_it_cannot_make_is_not(void **state)
{
	static const char *const known[] = {
		"builtin.module",  "tt.func", "tt.dot",      "arith.addf",
		"math.exp2",       "scf.for", "gpu.barrier", "tt.elementwise_inline_asm",
		"llvm.intr.assume"};
	static const char *const unknown[] = {
		"llvm.inline_asm", "llvm.mlir.global", "llvm.call", "llvm.intr", "nvvm.barrier0",
		"gpu.launch",      "gpu.barriers",     "func.func", "tt",        ""};
	struct kgb_device_policy *policy = load();

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(known); i++)
		if (!kgb_device_policy_operator(policy, known[i]))
			fail_msg("'%s' is refused", known[i]);
	for (size_t i = 0; i < KGB_ARRAY_LEN(unknown); i++)
		if (kgb_device_policy_operator(policy, unknown[i]))
			fail_msg("'%s' is allowed", unknown[i]);
	assert_true(kgb_device_policy_import(policy, "vprintf"));
	assert_true(kgb_device_policy_import(policy, "__assertfail"));
	assert_false(kgb_device_policy_import(policy, "malloc"));
	assert_false(kgb_device_policy_import(policy, "vprintf2"));
	kgb_device_policy_free(policy);
}

/* Torch operators that the device policy names: of each move, and silent ones. */
static void list_operators(const struct kgb_yaml *doc, struct kgb_strv *out)
{
	const cJSON *move, *name;

	cJSON_ArrayForEach(move, kgb_json_get(doc->root, "moves"))
		cJSON_ArrayForEach(name, kgb_json_get(move, "operators"))
			kgb_strv_add(out, name->valuestring);
	cJSON_ArrayForEach(name, kgb_json_get(doc->root, "silent"))
		kgb_strv_add(out, name->valuestring);
}

static void test_it_says_the_same_as_the_list_of_torch_operators(void **state)
{
	KGB_AUTO(yaml) struct kgb_yaml policy = KGB_YAML_INIT;
	KGB_AUTO(yaml) struct kgb_yaml dispatch = KGB_YAML_INIT;
	KGB_AUTO(strv) struct kgb_strv listed = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv allowed = KGB_STRV_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	const cJSON *name;

	(void)state;
	assert_ok(kgb_yaml_read(AT_FDCWD, POLICY, &policy, &err), err);
	assert_ok(kgb_yaml_read(AT_FDCWD, DISPATCH, &dispatch, &err), err);
	list_operators(&policy, &listed);
	cJSON_ArrayForEach(name, kgb_json_get(dispatch.root, "allow"))
		kgb_strv_add(&allowed, name->valuestring);
	assert_true(allowed.n > 0);
	for (size_t i = 0; i < allowed.n; i++)
		if (!kgb_strv_has(&listed, allowed.items[i]))
			fail_msg("'%s' may be called: which kernels does it launch?",
				 allowed.items[i]);
	for (size_t i = 0; i < listed.n; i++)
		if (!kgb_strv_has(&allowed, listed.items[i]))
			fail_msg("'%s' may not be called: why is it listed?", listed.items[i]);
}

static int load_text(const char *text, struct kgb_device_policy **out, struct kgb_err *err)
{
	char dir[32];

	enter_dir_of("p.yaml", text, dir);
	int rc = kgb_device_policy_load("p.yaml", out, err);
	leave_dir_of("p.yaml", dir);
	return rc;
}

static void test_a_wrong_policy_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"schema: kgb.device/2\nmoves: []\nsilent: []\noperators: []\nimports: []\n",
		 "p.yaml:1:9: schema: 'kgb.device/2' is not kgb.device/1"},
		{"schema: kgb.device/1\nmoves:\n  - name: a\n    match: '(x'\n    operators: []\n    reason: r\n"
		 "silent: []\noperators: []\nimports: []\n",
		 "p.yaml:4:12: moves: match: at character 2: missing closing parenthesis"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_device_policy *policy = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		assert_fails(load_text(cases[i].text, &policy, &err), err, cases[i].message);
	}
}

static void test_a_pattern_that_explodes_allows_nothing(void **state)
{
	static const char text[] =
		"schema: kgb.device/1\nmoves:\n  - {name: a, match: '^(a+)+$', operators: [], reason: r}\n"
		"silent: []\noperators: []\nimports: []\n";
	struct kgb_device_policy *policy = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(load_text(text, &policy, &err), err);
	assert_non_null(kgb_device_policy_move(policy, "aaa"));
	assert_null(kgb_device_policy_move(policy, "b"));
	assert_null(kgb_device_policy_move(
		policy, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"));
	kgb_device_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fills_and_copies_of_torch_are_moves_and_nothing_else_is),
		cmocka_unit_test(test_ir_of_triton_is_known_and_ir_that_it_cannot_make_is_not),
		cmocka_unit_test(test_it_says_the_same_as_the_list_of_torch_operators),
		cmocka_unit_test(test_a_wrong_policy_is_refused_with_its_place),
		cmocka_unit_test(test_a_pattern_that_explodes_allows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
