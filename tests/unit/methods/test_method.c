/* SPDX-License-Identifier: MIT */
/** \file
 * Methods and prompts as data: the shipped ones load and render, broken ones are refused with their
 * place.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "methods/events.h"
#include "methods/method.h"
#include "methods/prompt.h"

static const struct kgb_method_vars vars = {
	.model = "a-model",
	.session_id = "5f0c1f5e-0000-4000-8000-000000000000",
	.gateway_url = "http://127.0.0.1:8123",
	.token = "0123456789abcdef0123456789abcdef",
};

static void test_every_shipped_method_loads_and_renders(void **state)
{
	(void)state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	assert_int_equal(kgb_method_names(KGB_TEST_SOURCE_DIR, &names, &err), 0);
	assert_true(kgb_strv_has(&names, "naive_cc") && kgb_strv_has(&names, "normal_cc"));
	for (size_t i = 0; i < names.n; i++) {
		struct kgb_method method;
		if (kgb_method_load(KGB_TEST_SOURCE_DIR, names.items[i], &method, &err) < 0)
			fail_msg("%s", err.msg);
		struct kgb_method_command command = {0};
		if (kgb_method_render(&method, &vars, &command, &err) < 0)
			fail_msg("%s", err.msg);
		const struct kgb_strv *const parts[] = {&command.argv, &command.env,
							&command.texts};
		bool has_model = false, has_token = false;
		for (size_t k = 0; k < KGB_ARRAY_LEN(parts); k++) {
			for (size_t t = 0; t < parts[k]->n; t++) {
				const char *text = parts[k]->items[t];
				assert_null(strstr(text, "{{"));
				has_model = has_model || strstr(text, "a-model");
				has_token = has_token || strstr(text, vars.token);
			}
		}
		assert_true((has_model && has_token) || method.program.builtin);
		assert_int_equal(command.paths.n, command.texts.n);
		struct kgb_events events;
		if (kgb_events_init(&events, method.program.adapter, &err) < 0)
			fail_msg("%s", err.msg);
		kgb_events_release(&events);
		kgb_method_command_release(&command);
		kgb_method_release(&method);
	}
}

static void test_an_unknown_method_is_answered_with_the_nearest(void **state)
{
	(void)state;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_method method;
	assert_int_equal(kgb_method_load(KGB_TEST_SOURCE_DIR, "normal_c", &method, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "unknown method 'normal_c'; did you mean 'normal_cc'"));
}

#define LOOP "name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nargv: []\n"
static const struct {
	const char *yaml;
	const char *message;
} broken[] = {
	{"name: m\n", "m/method.yaml:1:1: "},
	{"name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nargv: []\nverify_tol: true\n",
	 "'verify_tol'"},
	{"name: other\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nargv: []\n",
	 "name: 'other' must equal the folder's name 'm'"},
	{"name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nargv: []\nsession: never\n",
	 "'never'"},
	{"name: m\nsummary: s\ncli: claud\nmodel: x\ninstructions: i.md\nargv: []\n",
	 "m/method.yaml: cli: 'claud': there is no "},
	{"name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nargv: []\nfiles: {../x: y}\n",
	 "files: '../x' must be a path below the home"},
	{"name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nargv: []\nfiles: {/x: y}\n",
	 "files: '/x' must be a path below the home"},
	{"name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nargv: []\nlimits: {requests: 1}\n",
	 "m/method.yaml:7:10: "},
	{"name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: none.md\nargv: []\n",
	 "m/method.yaml:5:15: instructions: there is no file "},
	{"name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nargv: [\"{{modl}}\"]\n",
	 "m/method.yaml: method 'm': argv[0]: "},
	{"name: m\nsummary: s\ncli: claude\nmodel: x\ninstructions: i.md\nenv: {LD_PRELOAD: x}\n",
	 "m/method.yaml: env: sandbox: variable 'LD_PRELOAD' "},
	/* A loop. */
	{LOOP "loop: {prompt: i.md}\n", "m/method.yaml:7:7: loop: missing key 'iterations'"},
	{LOOP "loop: {iterations: 2}\n", "loop: missing key 'prompt'"},
	{LOOP "loop: {iterations: 0, prompt: i.md}\n", "m/method.yaml:7:20: loop.iterations"},
	{LOOP "loop: {iterations: 2, prompt: i.md, patience: -1}\n", "loop.patience"},
	{LOOP "loop: {iterations: 2, prompt: i.md, target_speedup: x}\n", "loop.target_speedup"},
	{LOOP "loop: {iterations: 2, prompt: i.md, start: stup}\n", "'stub'"},
	{LOOP "loop: {iterations: 2, prompt: i.md, patienc: 1}\n", "'patience'"},
	{LOOP "loop:\n  iterations: 2\n  prompt: none.md\n",
	 "m/method.yaml:9:11: loop.prompt: there is no file "},
	{LOOP "loop: {iterations: 2, prompt: i.md, hints: {abacus: i.md}}\n",
	 "m/method.yaml:7:45: loop.hints.abacus: 'abacus' is no platform: there is no "},
	{LOOP "loop: {iterations: 2, prompt: i.md, hints: {cpu: none.md}}\n",
	 "m/method.yaml:7:50: loop.hints.cpu: there is no file "},
};

static void test_a_broken_method_is_refused_with_its_place(void **state)
{
	(void)state;
	char dir[] = "/tmp/kgb-test-method-XXXXXX";
	assert_non_null(mkdtemp(dir));
	KGB_AUTO(free) char *folder = kgb_xasprintf("%s/methods/data/m", dir);
	KGB_AUTO(free) char *file = kgb_path_join(folder, "method.yaml");
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *text = kgb_path_join(folder, "i.md");
	KGB_AUTO(free) char *platforms = kgb_xasprintf("%s/methods/data/platform", dir);
	KGB_AUTO(free) char *platform = kgb_path_join(platforms, "cpu.md");
	assert_int_equal(kgb_fs_mkdirs(AT_FDCWD, folder, 0755, &err), 0);
	assert_int_equal(kgb_fs_mkdirs(AT_FDCWD, platforms, 0755, &err), 0);
	assert_int_equal(kgb_fs_write_atomic(AT_FDCWD, text, "x", 1, 0644, false, &err), 0);
	assert_int_equal(kgb_fs_write_atomic(AT_FDCWD, platform, "x", 1, 0644, false, &err), 0);
	KGB_AUTO(free) char *programs = kgb_xasprintf("%s/methods/data/program", dir);
	assert_int_equal(symlink(KGB_TEST_SOURCE_DIR "/methods/data/program", programs), 0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(broken); i++) {
		struct kgb_method method;
		assert_int_equal(kgb_fs_write_atomic(AT_FDCWD, file, broken[i].yaml,
						     strlen(broken[i].yaml), 0644, false, &err),
				 0);
		assert_int_equal(kgb_method_load(dir, "m", &method, &err), -1);
		if (!strstr(err.msg, broken[i].message))
			fail_msg("case %zu: %s", i, err.msg);
	}
	assert_int_equal(kgb_fs_remove_tree(AT_FDCWD, dir, &err), 0);
}

static void test_an_unknown_placeholder_is_an_error_that_names_the_key(void **state)
{
	(void)state;
	const char *items[] = {"--x={{modle}}"};
	struct kgb_method method = {.name = "m", .argv = {items, 1}};
	struct kgb_method_command command = {0};
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_method_render(&method, &vars, &command, &err), -1);
	assert_non_null(strstr(err.msg, "method 'm': argv[0]"));
	assert_non_null(strstr(err.msg, "modle"));
	kgb_method_command_release(&command);
}

static void test_a_model_s_name_cannot_break_out_of_a_configuration_file(void **state)
{
	(void)state;
	static const char *const names[] = {"", "a\"b", "a b", "a\nb", "a{b", "a,b", "a\\b"};
	struct kgb_method method = {.name = "m"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		struct kgb_method_command command = {0};
		struct kgb_err err = KGB_ERR_INIT;
		const struct kgb_method_vars bad = {.model = names[i]};
		assert_int_equal(kgb_method_render(&method, &bad, &command, &err), -1);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
	}
}

static void test_programs_are_data(void **state)
{
	(void)state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	assert_int_equal(kgb_fs_list(KGB_TEST_SOURCE_DIR "/methods/data/program", &names, &err), 0);
	assert_int_equal(names.n, 5);
	for (size_t i = 0; i < names.n; i++) {
		KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
		struct kgb_program program;
		assert_true(kgb_str_ends(names.items[i], ".yaml"));
		names.items[i][strlen(names.items[i]) - strlen(".yaml")] = '\0';
		if (kgb_program_load(KGB_TEST_SOURCE_DIR, names.items[i], &arena, &program, &err) <
		    0)
			fail_msg("%s", err.msg);
		KGB_AUTO(free) char *installed = kgb_program_installed(&program);
		bool own = kgb_str_eq(program.name, "command") || program.builtin;
		assert_true(own == (installed == NULL));
		assert_true(kgb_program_protocols(&program) != 0);
		assert_true(kgb_program_tested(&program, program.tested_to));
		assert_true(own || !kgb_program_tested(&program, "999.1"));
		assert_true(own || !kgb_program_tested(&program, ""));
	}
}

static void test_versions_are_found_and_compared_as_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *text, *version;
	} texts[] = {
		{"2.1.329 (Claude Code)\n", "2.1.329"},
		{"codex-cli 0.169.0\n", "0.169.0"},
		{"1.18.33\n", "1.18.33"},
		{"none here 3\n", ""},
		{"", ""},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(texts); i++) {
		char version[KGB_VERSION_LEN];
		kgb_version_find(texts[i].text, version);
		assert_string_equal(version, texts[i].version);
	}
	static const struct {
		const char *a, *b;
		int order;
	} pairs[] = {
		{"1.9", "1.10", -1}, {"2.1.329", "2.1.329", 0},      {"2.1", "2.1.0", 0},
		{"2.1.1", "2.1", 1}, {"0.169.0-beta", "0.169.0", 0}, {"10", "9.9.9", 1},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(pairs); i++) {
		int order = kgb_version_compare(pairs[i].a, pairs[i].b);
		assert_int_equal((order > 0) - (order < 0), pairs[i].order);
	}
}

static void test_operators_have_a_prompt_for_every_method(void **state)
{
	(void)state;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec_index index = {0};
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	assert_int_equal(kgb_method_names(KGB_TEST_SOURCE_DIR, &names, &err), 0);
	if (kgb_spec_index_load(KGB_TEST_SOURCE_DIR, "KernelGenBench", &index, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(index.names.n >= 6);
	/* test_prompt reads those of all operators. */
	for (size_t i = 0; i < index.names.n; i += 7) {
		const struct kgb_prompt_vars prompt_vars = {.platform = i % 2 ? "cuda" : "cpu",
							    .max_verify_calls = 7,
							    .sees_gpu = i % 4 == 1};
		struct kgb_spec spec;
		struct kgb_prompt_operator op;
		if (kgb_spec_load(index.paths.items[i], &spec, &err) < 0 ||
		    kgb_prompt_operator_init(&op, &spec, &err) < 0)
			fail_msg("%s", err.msg);
		for (size_t k = 0; k < names.n; k++) {
			struct kgb_method method;
			KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
			assert_int_equal(
				kgb_method_load(KGB_TEST_SOURCE_DIR, names.items[k], &method, &err),
				0);
			if (kgb_prompt_operator_render(KGB_TEST_SOURCE_DIR, &method, &op,
						       &prompt_vars, &prompt, &err) < 0)
				fail_msg("%s: %s", spec.name, err.msg);
			assert_non_null(strstr(prompt.ptr, spec.name));
			assert_null(strstr(prompt.ptr, "{{"));
			assert_int_equal(strstr(prompt.ptr, "this run shows you the GPU") != NULL,
					 prompt_vars.sees_gpu && method.verify_tool);
			for (size_t e = 0; e < spec.n_interfaces; e++)
				assert_non_null(strstr(prompt.ptr, spec.interfaces[e].entry));
			kgb_method_release(&method);
		}
		kgb_prompt_operator_release(&op);
		kgb_spec_release(&spec);
	}
	kgb_spec_index_release(&index);
}

static void test_an_operator_whose_cases_cannot_be_expanded_has_no_prompt(void **state)
{
	(void)state;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_prompt_operator op;
	struct kgb_spec spec;
	if (kgb_spec_load(KGB_TEST_SOURCE_DIR "/datasets/kernelgenbench/aten/aten__add.yaml", &spec,
			  &err) < 0)
		fail_msg("%s", err.msg);
	spec.dtypes.items[0] = "float33";
	assert_int_equal(kgb_prompt_operator_init(&op, &spec, &err), -1);
	assert_non_null(strstr(err.msg, "float33"));
	kgb_spec_release(&spec);
}

static void test_methods_that_work_in_rounds_say_it_all_in_their_prompt(void **state)
{
	(void)state;
	static const char *const names[] = {"autokernel", "ako4all", "cuda_optimized_skill"};
	static const char *const platforms[] = {"cpu", "cuda"};
	struct kgb_err err = KGB_ERR_INIT;
	for (size_t i = 0; i < KGB_ARRAY_LEN(names) * KGB_ARRAY_LEN(platforms); i++) {
		const char *name = names[i / 2];
		struct kgb_method method;
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
		if (kgb_method_load(KGB_TEST_SOURCE_DIR, name, &method, &err) < 0)
			fail_msg("%s", err.msg);
		assert_true(method.loop.iterations > 1 && kgb_method_needs_judge(&method));
		const struct kgb_prompt_round round = {.platform = platforms[i % 2],
						       .round = 3,
						       .rounds = 7,
						       .state = "<state>",
						       .log = "<log>",
						       .memory = "<memory>"};
		if (kgb_prompt_round_render(&method, &round, &out, &err) < 0)
			fail_msg("%s", err.msg);
		assert_non_null(strstr(out.ptr, "Round 3 of"));
		assert_non_null(strstr(out.ptr, "<state>"));
		assert_non_null(strstr(out.ptr, "<log>"));
		assert_true((strstr(out.ptr, "<memory>") != NULL) == method.loop.memory);
		assert_null(strstr(out.ptr, "{{"));
		bool has_hints = false;
		for (size_t k = 0; k < method.loop.hints.n; k++)
			has_hints = has_hints || kgb_str_eq(method.loop.hints.keys[k], "cuda");
		if (has_hints && i % 2 == 1)
			assert_non_null(strstr(out.ptr, "bandwidth"));
		kgb_method_release(&method);
	}
}

static void test_a_stub_has_every_function_and_does_nothing(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf stub = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	if (kgb_spec_load(KGB_TEST_SOURCE_DIR "/datasets/kernelgenbench/aten/aten__add.yaml", &spec,
			  &err) < 0)
		fail_msg("%s", err.msg);
	kgb_prompt_stub(&spec, &stub);
	size_t n = 0;
	for (const char *at = stub.ptr; (at = strstr(at, "    raise NotImplementedError\n")); at++)
		n++;
	assert_int_equal(n, spec.n_interfaces);
	assert_non_null(strstr(stub.ptr, "\ndef add_Tensor(self, other, *, alpha=1):\n"));
	assert_non_null(strstr(stub.ptr, "import triton.language as tl\n"));
	kgb_spec_release(&spec);
}

static void test_memory_behind_addresses_is_described_and_not_asked_for(void **state)
{
	(void)state;
	const struct kgb_prompt_vars prompt_vars = {.platform = "cpu", .max_verify_calls = 7};
	KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_method method;
	struct kgb_spec spec;
	if (kgb_spec_load(KGB_TEST_SOURCE_DIR
			  "/datasets/kernelgenbench/cublas/cublas__cublasZtrsmBatched.yaml",
			  &spec, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(kgb_method_load(KGB_TEST_SOURCE_DIR, "normal_cc", &method, &err), 0);
	assert_int_equal(
		kgb_prompt_render(KGB_TEST_SOURCE_DIR, &method, &spec, &prompt_vars, &prompt, &err),
		0);
	assert_non_null(strstr(prompt.ptr,
			       "def cublasZtrsmBatched(side, uplo, trans, diag, m, n, alpha, "
			       "Aarray, lda, Barray, ldb, batchCount)`"));
	assert_non_null(strstr(prompt.ptr,
			       "modifies the memory that `Barray` has the addresses of; returns"));
	assert_null(strstr(prompt.ptr, "modifies `B` in place"));
	kgb_method_release(&method);
	kgb_spec_release(&spec);
}

static void test_a_uuid_has_version_4_and_its_variant(void **state)
{
	(void)state;
	char a[37], b[37];
	kgb_uuid4(a);
	kgb_uuid4(b);
	assert_string_not_equal(a, b);
	assert_int_equal(strlen(a), 36);
	assert_int_equal(a[14], '4');
	assert_non_null(strchr("89ab", a[19]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_shipped_method_loads_and_renders),
		cmocka_unit_test(test_an_unknown_method_is_answered_with_the_nearest),
		cmocka_unit_test(test_a_broken_method_is_refused_with_its_place),
		cmocka_unit_test(test_an_unknown_placeholder_is_an_error_that_names_the_key),
		cmocka_unit_test(test_a_model_s_name_cannot_break_out_of_a_configuration_file),
		cmocka_unit_test(test_programs_are_data),
		cmocka_unit_test(test_versions_are_found_and_compared_as_numbers),
		cmocka_unit_test(test_operators_have_a_prompt_for_every_method),
		cmocka_unit_test(test_an_operator_whose_cases_cannot_be_expanded_has_no_prompt),
		cmocka_unit_test(test_methods_that_work_in_rounds_say_it_all_in_their_prompt),
		cmocka_unit_test(test_a_stub_has_every_function_and_does_nothing),
		cmocka_unit_test(test_memory_behind_addresses_is_described_and_not_asked_for),
		cmocka_unit_test(test_a_uuid_has_version_4_and_its_variant),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
