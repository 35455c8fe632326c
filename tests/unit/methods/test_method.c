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

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
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
		KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
		KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
		if (kgb_method_render(&method, &vars, &argv, &env, &err) < 0)
			fail_msg("%s", err.msg);
		assert_true(kgb_strv_has(&argv, "a-model"));
		assert_true(
			kgb_strv_has(&env, "ANTHROPIC_API_KEY=0123456789abcdef0123456789abcdef"));
		for (size_t k = 0; k < argv.n; k++)
			assert_null(strstr(argv.items[k], "{{"));
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

static const struct {
	const char *yaml;
	const char *message;
} broken[] = {
	{"name: m\n", "m/method.yaml:1:1: "},
	{"name: m\nsummary: s\ncli: claude\nadapter: claude\nmodel: x\ninstructions: i.md\nargv: []\nverify_tol: true\n",
	 "'verify_tol'"},
	{"name: other\nsummary: s\ncli: claude\nadapter: claude\nmodel: x\ninstructions: i.md\nargv: []\n",
	 "name: 'other' must equal the folder's name 'm'"},
	{"name: m\nsummary: s\ncli: claude\nadapter: claude\nmodel: x\ninstructions: i.md\nargv: []\nsession: never\n",
	 "'never'"},
};

static void test_a_broken_method_is_refused_with_its_place(void **state)
{
	(void)state;
	char dir[] = "/tmp/kgb-test-method-XXXXXX";
	assert_non_null(mkdtemp(dir));
	KGB_AUTO(free) char *folder = kgb_xasprintf("%s/methods/m", dir);
	KGB_AUTO(free) char *file = kgb_path_join(folder, "method.yaml");
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_fs_mkdirs(AT_FDCWD, folder, 0755, &err), 0);
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
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_method_render(&method, &vars, &argv, &env, &err), -1);
	assert_non_null(strstr(err.msg, "method 'm': argv[0]"));
	assert_non_null(strstr(err.msg, "modle"));
}

static void test_every_operator_has_a_prompt_for_every_method(void **state)
{
	(void)state;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec_index index = {0};
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	assert_int_equal(kgb_method_names(KGB_TEST_SOURCE_DIR, &names, &err), 0);
	if (kgb_spec_index_load(KGB_TEST_SOURCE_DIR, "KernelGenBench", &index, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(index.names.n >= 6);
	for (size_t i = 0; i < index.names.n; i++) {
		const struct kgb_prompt_vars prompt_vars = {.platform = i % 2 ? "cuda" : "cpu",
							    .max_verify_calls = 7};
		struct kgb_spec spec;
		if (kgb_spec_load(index.paths.items[i], &spec, &err) < 0)
			fail_msg("%s", err.msg);
		for (size_t k = 0; k < names.n; k++) {
			struct kgb_method method;
			KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
			assert_int_equal(
				kgb_method_load(KGB_TEST_SOURCE_DIR, names.items[k], &method, &err),
				0);
			if (kgb_prompt_render(KGB_TEST_SOURCE_DIR, &method, &spec, &prompt_vars,
					      &prompt, &err) < 0)
				fail_msg("%s: %s", spec.name, err.msg);
			assert_non_null(strstr(prompt.ptr, spec.name));
			assert_null(strstr(prompt.ptr, "{{"));
			for (size_t e = 0; e < spec.n_interfaces; e++)
				assert_non_null(strstr(prompt.ptr, spec.interfaces[e].entry));
			kgb_method_release(&method);
		}
		kgb_spec_release(&spec);
	}
	kgb_spec_index_release(&index);
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
		cmocka_unit_test(test_every_operator_has_a_prompt_for_every_method),
		cmocka_unit_test(test_a_uuid_has_version_4_and_its_variant),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
