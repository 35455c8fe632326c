/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"

static int parse(struct kgb_config *config, const char *text, const char *const *env,
		 struct kgb_err *err)
{
	return kgb_config_parse(config, "config.yaml", text, strlen(text), env, err);
}

static void test_defaults_hold_when_nothing_is_said(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "# only a comment\n", "{}\n", "run: {}\n"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(texts); i++) {
		KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		/* An empty document is refused or null, as the YAML reader sees it; both are fine
		 * for a file. */
		if (parse(&config, texts[i], NULL, &err) < 0)
			fail_msg("'%s': %s", texts[i], err.msg);
		assert_int_equal(config.settings.limits.attempt_timeout, 20 * 60 * 1000);
		assert_int_equal(config.settings.limits.verify_timeout, 300 * 1000);
		assert_int_equal(config.settings.gateway.mode, KGB_GATEWAY_CHOICE_AUTO);
		assert_string_equal(config.settings.run.method, "normal_cc");
		assert_int_equal(config.settings.run.timing_precision, KGB_PRECISION_STANDARD);
		assert_string_equal(kgb_config_origin(&config, "run.method"), "default");
	}
}

static void test_later_sources_win_and_say_so(void **state)
{
	(void)state;
	static const char text[] =
		"run:\n  method: from_file\n  dataset: from_file\nmodel:\n  name: from_file\n";
	static const char *const env[] = {"HOME=/", "KGB_RUN_METHOD=from_env",
					  "KGB_MODEL_NAME=from_env", NULL};
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	assert_ok(parse(&config, text, env, err));
	assert_ok(kgb_config_set(&config, "model.name", "from_flag", "--model", err));
	assert_string_equal(config.settings.run.dataset, "from_file");
	assert_string_equal(config.settings.run.method, "from_env");
	assert_string_equal(config.settings.model.name, "from_flag");
	assert_string_equal(kgb_config_origin(&config, "run.dataset"), "config.yaml:3");
	assert_string_equal(kgb_config_origin(&config, "run.method"), "KGB_RUN_METHOD");
	assert_string_equal(kgb_config_origin(&config, "model.name"), "--model");
	assert_string_equal(kgb_config_origin(&config, "paths.runs"), "default");
	assert_null(kgb_config_origin(&config, "paths"));
	assert_null(kgb_config_origin(&config, "nonsense"));
}

static void test_short_variables_name_the_programs(void **state)
{
	(void)state;
	static const char *const env[] = {"KGB_PYTHON=/p", "KGB_CLAUDE_BIN=/c",
					  "KGB_CODEX_BIN=./no-x", NULL};
	struct kgb_program program = {.name = "claude"};
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	assert_ok(parse(&config, "{}", env, err));
	KGB_AUTO(free) char *python = kgb_config_python(&config);
	KGB_AUTO(free) char *claude = kgb_config_program(&config, &program);
	program.name = "codex";
	KGB_AUTO(free) char *codex = kgb_config_program(&config, &program);
	program.name = "command";
	assert_null(kgb_config_program(&config, &program));
	assert_string_equal(python, "/p");
	assert_string_equal(claude, "/c");
	assert_true(kgb_str_starts(codex, "/") && kgb_str_ends(codex, "/./no-x"));
	assert_string_equal(kgb_config_origin(&config, "paths.python"), "KGB_PYTHON");
}

static void test_a_bad_file_is_refused_with_place_and_remedy(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"limits:\n  attempt_timeout: 90\n", "config.yaml:2:20: limits.attempt_timeout"},
		{"limits:\n  attempt_timeout: 1ms\n", "config.yaml:2:20: limits.attempt_timeout"},
		{"limits:\n  attempt_timout: 90s\n", "did you mean 'attempt_timeout'"},
		{"limit:\n  memory: 1GiB\n", "did you mean 'limits'"},
		{"run:\n  device_count: 0\n", "config.yaml:2:17: run.device_count"},
		{"run:\n  device_count: many\n", "run.device_count"},
		{"run:\n  method: [a]\n", "run.method"},
		{"run:\n  method: \"\"\n", "config.yaml:2: run.method must not be empty"},
		{"gateway:\n  mode: onlin\n", "'onlin' is not one of auto, live, offline"},
		{"run: x\n", "config.yaml:1:6"},
		{"- a\n", "config.yaml:1:1"},
		{"run:\n  method: a\n  method: b\n", "config.yaml:3"},
		{"run:\n\tmethod: a\n", "config.yaml:2"},
		{"run: {method: a\n", "config.yaml:"},
		{"model: {reflection: true, max_rounds: 101}\n",
		 "config.yaml:1: model.max_rounds: with reflection 100 rounds are the most"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
		assert_fails(parse(&config, cases[i].text, NULL, err), KGB_ERR_INVALID,
			     cases[i].message);
		assert_null(config.keys.items);
	}
}

static void test_rounds_are_samples_without_reflection(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int n_samples, n_rounds;
	} cases[] = {
		{"{}", 1, 0},
		{"model: {samples: 20}", 20, 0},
		{"model: {max_rounds: 10}", 10, 0},
		{"model: {samples: 40, max_rounds: 10}", 40, 0},
		{"model: {samples: 4, max_rounds: 10000}", 10000, 0},
		{"model: {reflection: true}", 1, KGB_DEFAULT_ROUNDS},
		{"model: {reflection: true, max_rounds: 1}", 1, 1},
		{"model: {reflection: true, samples: 3, max_rounds: 100}", 3, 100},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
		int n_samples = -1, n_rounds = -1;
		assert_ok(parse(&config, cases[i].text, NULL, err));
		kgb_config_samples(&config.settings.model, &n_samples, &n_rounds);
		assert_int_equal(n_samples, cases[i].n_samples);
		assert_int_equal(n_rounds, cases[i].n_rounds);
	}
}

/* Nobody reads a text that is not there: `key:` without a value is refused for each of them, and
 * "" where the default says more. */
static void check_empty(const struct kgb_field *table, const char *section, size_t *n_texts)
{
	for (; table->name; table++) {
		if (table->type == KGB_FIELD_OBJECT)
			check_empty(table->sub, table->name, n_texts);
		if (table->type != KGB_FIELD_STR)
			continue;
		++*n_texts;
		for (int quoted = 0; quoted < 2; quoted++) {
			KGB_AUTO(free)
			char *text = kgb_xasprintf("%s:\n  %s: %s\n", section, table->name,
						   quoted ? "\"\"" : "");
			KGB_AUTO(free)
			char *message = kgb_xasprintf("config.yaml:2: %s.%s must not be empty",
						      section, table->name);
			KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
			if (quoted && kgb_str_eq(table->def, "\"\""))
				assert_ok(parse(&config, text, NULL, err));
			else
				assert_fails(parse(&config, text, NULL, err), KGB_ERR_INVALID,
					     message);
		}
	}
}

static void test_no_text_is_ever_missing(void **state)
{
	(void)state;
	size_t n_texts = 0;
	check_empty(kgb_settings_table, "", &n_texts);
	assert_true(n_texts > 10);
}

static void test_a_bad_variable_is_refused_by_name(void **state)
{
	(void)state;
	static const char *const env[] = {"KGB_LIMITS_MEMORY=lots", NULL};
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	assert_fails(parse(&config, "{}", env, err), KGB_ERR_INVALID, "KGB_LIMITS_MEMORY");
}

static void test_a_bad_flag_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	assert_ok(parse(&config, "{}", NULL, err));
	assert_fails(kgb_config_set(&config, "run.device_count", "x", "--device-count", err),
		     KGB_ERR_INVALID, "--device-count");
	assert_fails(kgb_config_set(&config, "run.devicecount", "1", "--set", err), KGB_ERR_INVALID,
		     "did you mean 'run.device_count'");
	assert_fails(kgb_config_set(&config, "run", "1", "--set", err), KGB_ERR_INVALID, "run");
	assert_int_equal(config.settings.run.device_count, 1);
	assert_string_equal(kgb_config_origin(&config, "run.device_count"), "default");
}

static int n_warnings;

static void count_warning(void *payload)
{
	(void)payload;
	n_warnings++;
}

static void test_unknown_variables_of_ours_are_warned_of_and_no_others(void **state)
{
	(void)state;
	static const char *const env[] = {"KGB_RUN_METHD=x",
					  "KGB_CONFIG=x",
					  "KGB_DATA_DIR=x",
					  "KGB_TESTS_MUST_RUN=x",
					  "KGB_BOOTSTRAP_JOBS=1",
					  "PATH=x",
					  "KGBX=1",
					  "KGB_",
					  NULL};
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	n_warnings = 0;
	kgb_log_init("test", KGB_LOG_WARN);
	kgb_log_set_hook(count_warning, NULL, NULL);
	assert_ok(parse(&config, "{}", env, err));
	kgb_log_set_hook(NULL, NULL, NULL);
	assert_int_equal(n_warnings, 1);
}

static void test_printed_settings_read_back_equal_and_show_their_origins(void **state)
{
	(void)state;
	static const char text[] =
		"paths:\n  runs: \"a b: c # d\"\nlimits:\n  memory: 3GiB\n  attempt_timeout: 90s\n";
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	KGB_AUTO(config) struct kgb_config again = KGB_CONFIG_INIT;
	KGB_AUTO(buf) struct kgb_buf first = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf plain = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf plain_again = KGB_BUF_INIT(0);
	assert_ok(parse(&config, text, NULL, err));
	kgb_config_print(&config, &first);
	assert_non_null(strstr(first.ptr, "  runs: \"a b: c # d\"  # config.yaml:2\n"));
	assert_non_null(strstr(first.ptr, "  attempt_timeout: 90s  # config.yaml:5\n"));
	assert_non_null(strstr(first.ptr, "  method: normal_cc  # default\n"));
	assert_ok(parse(&again, first.ptr, NULL, err));
	kgb_decode_print(kgb_settings_table, &config.settings, false, &plain);
	kgb_decode_print(kgb_settings_table, &again.settings, false, &plain_again);
	assert_string_equal(plain.ptr, plain_again.ptr);
}

static void test_the_example_file_is_generated_and_names_every_key(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf generated = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf file = KGB_BUF_INIT(0);
	kgb_config_example(&generated);
	const char *path = KGB_TEST_SOURCE_DIR "/config.example.yaml";
	if (getenv("KGB_TEST_REGENERATE"))
		assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, generated.ptr, generated.len, 0644,
					      false, err));
	assert_ok(kgb_fs_read(AT_FDCWD, path, 1 << 20, &file, err));
	assert_string_equal(file.ptr, generated.ptr);
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	assert_ok(parse(&config, file.ptr, NULL, err));
	assert_true(config.keys.n > 10);
	for (size_t i = 0; i < config.keys.n; i++) {
		/* Every key stands in the file, so every origin is a line of it. */
		if (strncmp(config.origins.items[i], "config.yaml:", 12) != 0)
			fail_msg("%s is not in the example", config.keys.items[i]);
	}
}

static void test_files_are_found_where_they_should_be(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(free) char *path = kgb_path_join(scratch.path, "other.yaml");
	KGB_AUTO(free) char *entry = kgb_xasprintf("KGB_CONFIG=%s", path);
	const char *const env[] = {entry, NULL};
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	assert_fails(kgb_config_load(&config, path, NULL, err), KGB_ERR_NOT_FOUND, "other.yaml");
	assert_fails(kgb_config_load(&config, NULL, env, err), KGB_ERR_NOT_FOUND, "other.yaml");
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, "run: {method: m}\n", 17, 0644, false, err));
	assert_ok(kgb_config_load(&config, NULL, env, err));
	assert_string_equal(config.settings.run.method, "m");
	KGB_AUTO(free) char *origin = kgb_xasprintf("%s:1", path);
	assert_string_equal(kgb_config_origin(&config, "run.method"), origin);
	drop_scratch(&scratch);
}

static void test_a_key_comes_from_the_environment_only(void **state)
{
	(void)state;
	bool is_bearer = true;
	KGB_AUTO(config) struct kgb_config config = KGB_CONFIG_INIT;
	assert_fails(parse(&config, "gateway:\n  api_key: k\n", NULL, err), KGB_ERR_INVALID,
		     "api_key");
	assert_ok(parse(&config, "run: {method: m}\n", NULL, err));
	struct kgb_settings_gateway gateway = config.settings.gateway;
	setenv("ANTHROPIC_API_KEY", "", 1);
	setenv("ANTHROPIC_AUTH_TOKEN", "", 1);
	assert_null(kgb_api_key(&gateway, KGB_PROVIDER_ANTHROPIC, &is_bearer));
	setenv("ANTHROPIC_AUTH_TOKEN", "t", 1);
	assert_string_equal(kgb_api_key(&gateway, KGB_PROVIDER_ANTHROPIC, &is_bearer), "t");
	assert_true(is_bearer);
	setenv("ANTHROPIC_API_KEY", "k", 1);
	assert_string_equal(kgb_api_key(&gateway, KGB_PROVIDER_ANTHROPIC, &is_bearer), "k");
	assert_false(is_bearer);
	setenv("OPENAI_API_KEY", "", 1);
	assert_null(kgb_api_key(&gateway, KGB_PROVIDER_OPENAI, &is_bearer));
	setenv("OPENAI_API_KEY", "o", 1);
	assert_string_equal(kgb_api_key(&gateway, KGB_PROVIDER_OPENAI, &is_bearer), "o");
	assert_false(is_bearer);
	/* A server of open models may ask for none. */
	setenv("OPENAI_API_KEY", "", 1);
	gateway.openai_url = "http://127.0.0.1:8000";
	assert_string_equal(kgb_api_key(&gateway, KGB_PROVIDER_OPENAI, &is_bearer),
			    "no-key-is-set");
	assert_false(is_bearer);
	gateway.upstream_url = gateway.openai_url;
	assert_string_equal(kgb_api_key(&gateway, KGB_PROVIDER_ANTHROPIC, &is_bearer), "k");
	setenv("ANTHROPIC_API_KEY", "", 1);
	assert_string_equal(kgb_api_key(&gateway, KGB_PROVIDER_ANTHROPIC, &is_bearer), "t");
	setenv("ANTHROPIC_AUTH_TOKEN", "", 1);
	assert_string_equal(kgb_api_key(&gateway, KGB_PROVIDER_ANTHROPIC, &is_bearer),
			    "no-key-is-set");
	assert_false(is_bearer);
}

static void test_all_faults_are_found_in_their_order(void **state)
{
	(void)state;
	static const struct {
		const char *text, *variable;
		const char *faults[5];
	} cases[] = {
		{"run: {method: x}", NULL, {NULL}},
		{"run: {metod: x, device_count: 0}\nlimit: 3",
		 "KGB_RUN_DEVICE_COUNT=none",
		 {"config.yaml:1:7: run: unknown key 'metod'", "config.yaml:1:31: run.device_count",
		  "config.yaml:2:1: unknown key 'limit'", "KGB_RUN_DEVICE_COUNT: 'none'"}},
		{"run: [",
		 "KGB_RUN_DATASET=",
		 {"config.yaml:", "KGB_RUN_DATASET: run.dataset must"}},
		{"run: 3\ngateway: {openai_url: x, upstream_url: \"\"}",
		 NULL,
		 {"config.yaml:1:6: run: must be a mapping",
		  "config.yaml:2: gateway.upstream_url must not be empty",
		  "config.yaml:2: gateway.openai_url must start with"}},
	};
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(free) char *file = kgb_path_join(scratch.path, "config.yaml");
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const char *const env[] = {cases[i].variable, NULL};
		KGB_AUTO(config) struct kgb_config config;
		struct kgb_faults faults = {0};
		assert_ok(kgb_fs_write_atomic(AT_FDCWD, file, cases[i].text, strlen(cases[i].text),
					      0644, false, err));
		kgb_config_collect(&config, file, env, &faults);
		size_t n = 0;
		for (; cases[i].faults[n]; n++)
			if (n >= faults.list.n ||
			    !strstr(faults.list.items[n].msg, cases[i].faults[n]))
				fail_msg("case %zu: %s", i,
					 n < faults.list.n ? faults.list.items[n].msg : "none");
		assert_int_equal(faults.list.n, n);
		KGB_VEC_RELEASE(&faults.list);
	}
	drop_scratch(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_faults_are_found_in_their_order),
		cmocka_unit_test(test_defaults_hold_when_nothing_is_said),
		cmocka_unit_test(test_later_sources_win_and_say_so),
		cmocka_unit_test(test_short_variables_name_the_programs),
		cmocka_unit_test(test_a_bad_file_is_refused_with_place_and_remedy),
		cmocka_unit_test(test_rounds_are_samples_without_reflection),
		cmocka_unit_test(test_no_text_is_ever_missing),
		cmocka_unit_test(test_a_bad_variable_is_refused_by_name),
		cmocka_unit_test(test_a_bad_flag_is_refused_and_changes_nothing),
		cmocka_unit_test(test_unknown_variables_of_ours_are_warned_of_and_no_others),
		cmocka_unit_test(test_printed_settings_read_back_equal_and_show_their_origins),
		cmocka_unit_test(test_the_example_file_is_generated_and_names_every_key),
		cmocka_unit_test(test_files_are_found_where_they_should_be),
		cmocka_unit_test(test_a_key_comes_from_the_environment_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
