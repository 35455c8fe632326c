/* SPDX-License-Identifier: MIT */
#include "base/formats/decode.h"

#include "base/formats/json.h"
#include "tests/unit/base/decode_table.h"
#include "tests/unit/base/support.h"

static int decode(const char *text, struct kgb_yaml *doc, struct settings *out,
		  struct kgb_arena *arena, struct kgb_err *err)
{
	kgb_yaml_release(doc);
	assert_ok(kgb_yaml_parse("c.yaml", text, strlen(text), doc, err), *err);
	return kgb_decode(settings_table, doc, doc->root, out, arena, err);
}

static void test_defaults(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct settings s;

	(void)state;
	memset(&s, 0xee, sizeof(s));
	kgb_decode_defaults(settings_table, &s, &arena);
	assert_true(s.verify);
	assert_true(s.devices == 1);
	assert_string_equal(s.model, "default: model");
	assert_null(s.note);
	assert_int_equal(s.speed, SPEED_NORMAL);
	assert_true(s.limits.wall_ms == 600000);
	assert_true(s.limits.memory_bytes == 64 << 20);
	assert_true(s.limits.ratio == 0.5);
	assert_int_equal(s.args.n, 2);
	assert_string_equal(s.args.items[1], "a b");
	assert_int_equal(s.env.n, 1);
	assert_string_equal(s.env.values[0], "1");
	assert_int_equal(s.methods.n, 0);
	assert_null(s.extra);
}

static void test_everything_is_decoded(void **state)
{
	const char *text = "verify: false\n"
			   "devices: 64\n"
			   "model: claude\n"
			   "note: 2.10\n"
			   "speed: fast\n"
			   "limits: {wall: 90s, memory: 1048576, ratio: -1}\n"
			   "args: [a, 1.50, true, 'x y']\n"
			   "env:\n  Z: 1.50\n  A: no\n  N: 9007199254740993\n  B: false\n"
			   "methods:\n- name: m1\n- {name: m2, rounds: 7, env: {K: v}}\n"
			   "extra: {any: [thing]}\n";
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct settings s;

	(void)state;
	assert_ok(decode(text, &doc, &s, &arena, &err), err);
	assert_false(s.verify);
	assert_true(s.devices == 64);
	assert_string_equal(s.model, "claude");
	assert_string_equal(s.note, "2.10");
	assert_int_equal(s.speed, SPEED_FAST);
	assert_true(s.limits.wall_ms == 90000);
	assert_true(s.limits.memory_bytes == 1048576);
	assert_true(s.limits.ratio == -1);
	assert_int_equal(s.args.n, 4);
	assert_string_equal(s.args.items[1], "1.50");
	assert_string_equal(s.args.items[2], "true");
	assert_int_equal(s.env.n, 4);
	assert_string_equal(s.env.keys[0], "Z");
	assert_string_equal(s.env.values[0], "1.50");
	assert_string_equal(s.env.values[1], "no");
	assert_string_equal(s.env.values[2], "9007199254740993");
	assert_string_equal(s.env.values[3], "false");
	const struct method *methods = s.methods.items;
	assert_int_equal(s.methods.n, 2);
	assert_string_equal(methods[0].name, "m1");
	assert_true(methods[0].rounds == 3);
	assert_string_equal(methods[1].name, "m2");
	assert_true(methods[1].rounds == 7);
	assert_string_equal(methods[1].env.values[0], "v");
	assert_string_equal(kgb_json_str(s.extra, "any.0", NULL), "thing");
}

static void test_decoded_values_outlive_the_document(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct settings s;

	(void)state;
	assert_ok(decode("model: m\nargs: [a]\nenv: {K: v}\n", &doc, &s, &arena, &err), err);
	kgb_yaml_release(&doc);
	assert_string_equal(s.model, "m");
	assert_string_equal(s.args.items[0], "a");
	assert_string_equal(s.env.keys[0], "K");
}

static void test_absent_and_empty_values(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct settings s;

	(void)state;
	assert_ok(decode("# nothing\n", &doc, &s, &arena, &err), err);
	assert_true(s.devices == 1);
	assert_ok(decode("limits:\nargs:\nenv:\nmethods:\nmodel:\n", &doc, &s, &arena, &err), err);
	assert_true(s.limits.wall_ms == 600000);
	assert_int_equal(s.args.n, 0);
	assert_int_equal(s.env.n, 0);
	assert_int_equal(s.methods.n, 0);
	assert_null(s.model);
	assert_ok(decode("model: ''\nlimits: {ratio: 0}\n", &doc, &s, &arena, &err), err);
	assert_string_equal(s.model, "");
	assert_true(s.limits.ratio == 0);
	assert_true(s.limits.wall_ms == 600000);
}

static void test_every_message(void **state)
{
	static const struct {
		const char *text, *msg;
	} cases[] = {
		{"limits:\n  wall: 90\n",
		 "c.yaml:2:9: limits.wall: '90' needs a unit: ms, s, m, h or d"},
		{"limits: {wall: 2h}\n",
		 "c.yaml:1:16: limits.wall: '2h' is out of range: must be 1s to 1h"},
		{"limits: {wall: 999ms}\n",
		 "c.yaml:1:16: limits.wall: '999ms' is out of range: must be 1s to 1h"},
		{"limits: {memory: 5}\n",
		 "c.yaml:1:18: limits.memory: '5' is out of range: must be at least 1MiB"},
		{"limits: {memory: 5XB}\n",
		 "c.yaml:1:18: limits.memory: '5XB' has an unknown unit 'XB': use KiB, MiB, GiB, KB, MB or GB"},
		{"limits: {ratio: 2.5}\n",
		 "c.yaml:1:17: limits.ratio: '2.5' is out of range: must be -1 to 2"},
		{"limits: {ratio: -1.5}\n",
		 "c.yaml:1:17: limits.ratio: '-1.5' is out of range: must be -1 to 2"},
		{"limits: {ratio: x}\n", "c.yaml:1:17: limits.ratio: 'x' is not a number"},
		{"limits: 5\n", "c.yaml:1:9: limits: must be a mapping, not a single value"},
		{"limits: [wall]\n", "c.yaml:1:9: limits: must be a mapping, not a list"},
		{"limits: {wal: 90s}\n",
		 "c.yaml:1:10: limits: unknown key 'wal'; did you mean 'wall'?"},
		{"limits: {zzz: 90s}\n",
		 "c.yaml:1:10: limits: unknown key 'zzz': known keys are wall, memory, ratio"},
		{"devises: 1\n", "c.yaml:1:1: unknown key 'devises'; did you mean 'devices'?"},
		{"verify: yes\n", "c.yaml:1:9: verify: 'yes' must be true or false"},
		{"verify: 1\n", "c.yaml:1:9: verify: '1' must be true or false"},
		{"verify:\n", "c.yaml:1:8: verify: needs a value: true or false"},
		{"verify: []\n", "c.yaml:1:9: verify: must be true or false, not a list"},
		{"devices: 0\n", "c.yaml:1:10: devices: '0' is out of range: must be 1 to 64"},
		{"devices: 65\n", "c.yaml:1:10: devices: '65' is out of range: must be 1 to 64"},
		{"devices: 1.5\n", "c.yaml:1:10: devices: '1.5' is not a whole number"},
		{"devices: {}\n", "c.yaml:1:10: devices: must be a whole number, not a mapping"},
		{"devices: ~\n", "c.yaml:1:10: devices: needs a value: a whole number"},
		{"model: [a]\n", "c.yaml:1:8: model: must be text, not a list"},
		{"speed: fastt\n",
		 "c.yaml:1:8: speed: 'fastt' is not one of slow, normal, fast; did you mean 'fast'?"},
		{"speed: zzz\n", "c.yaml:1:8: speed: 'zzz' is not one of slow, normal, fast"},
		{"speed: [fast]\n",
		 "c.yaml:1:8: speed: must be one of the known names, not a list"},
		{"args: -x\n", "c.yaml:1:7: args: must be a list of texts, not a single value"},
		{"args: [a, [b]]\n", "c.yaml:1:11: args[1]: must be text, not a list"},
		{"args: [a, ~]\n", "c.yaml:1:11: args[1]: needs a value: text"},
		{"env: [A]\n", "c.yaml:1:6: env: must be a mapping, not a list"},
		{"env: {A: {}}\n", "c.yaml:1:10: env.A: must be text, not a mapping"},
		{"env: {A: }\n", "c.yaml:1:10: env.A: needs a value: text"},
		{"methods: {}\n",
		 "c.yaml:1:10: methods: must be a list of mappings, not a mapping"},
		{"methods: [x]\n",
		 "c.yaml:1:11: methods[0]: must be a mapping, not a single value"},
		{"methods:\n- name: a\n- rounds: 1\n",
		 "c.yaml:3:3: methods[1]: missing key 'name'"},
		{"methods:\n- name:\n", "c.yaml:2:8: methods[0].name: needs a value: text"},
		{"methods:\n- name: a\n  rounds: 0\n",
		 "c.yaml:3:11: methods[0].rounds: '0' is out of range: must be at least 1"},
		{"methods:\n- name: a\n  env: {X: []}\n",
		 "c.yaml:3:12: methods[0].env.X: must be text, not a list"},
		{"- a\n", "c.yaml:1:1: must be a mapping, not a list"},
		{"text\n", "c.yaml:1:1: must be a mapping, not a single value"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
		KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		struct settings s;
		assert_fails(decode(cases[i].text, &doc, &s, &arena, &err), err, cases[i].msg);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
	}
}

static void test_required_values_may_not_be_null(void **state)
{
	static const struct kgb_field table[] = {
		{.name = "args", .type = KGB_FIELD_STRS, .required = true},
		KGB_FIELD_END,
	};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_strs out;

	(void)state;
	assert_ok(kgb_yaml_parse("c.yaml", "args:\n", 6, &doc, &err), err);
	assert_fails(kgb_decode(table, &doc, doc.root, &out, &arena, &err), err,
		     "c.yaml:1:6: args: needs a value: a list of texts");
	kgb_yaml_release(&doc);
	assert_ok(kgb_yaml_parse("c.yaml", "", 0, &doc, &err), err);
	assert_fails(kgb_decode(table, &doc, doc.root, &out, &arena, &err), err,
		     "c.yaml:1:1: missing key 'args'");
}

static void test_bounds_of_zero(void **state)
{
	static const struct kgb_field table[] = {
		{.name = "below", .type = KGB_FIELD_I64, .min = -5},
		KGB_FIELD_END,
	};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	int64_t out;

	(void)state;
	assert_ok(kgb_decode_set(table, "below", "0", "x", &out, &arena, &err), err);
	assert_ok(kgb_decode_set(table, "below", "-5", "x", &out, &arena, &err), err);
	assert_fails(kgb_decode_set(table, "below", "1", "x", &out, &arena, &err), err,
		     "x: '1' is out of range: must be -5 to 0");
	assert_fails(kgb_decode_set(table, "below", "-6", "x", &out, &arena, &err), err,
		     "x: '-6' is out of range: must be -5 to 0");
}

static void test_json_documents_decode_without_positions(void **state)
{
	const char *good = "{\"devices\":4,\"limits\":{\"wall\":\"90s\",\"memory\":1e15},"
			   "\"env\":{\"A\":0.1,\"B\":12345678901,\"C\":true}}";
	const char *bad = "{\"limits\":{\"wall\":90}}";
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(json) cJSON *good_json = NULL;
	KGB_AUTO(json) cJSON *bad_json = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	char name[] = "body";
	const struct kgb_yaml named = {.name = name};
	struct settings s;

	(void)state;
	assert_ok(kgb_json_parse(good, strlen(good), &good_json, &err), err);
	assert_ok(kgb_decode(settings_table, NULL, good_json, &s, &arena, &err), err);
	assert_true(s.devices == 4);
	assert_true(s.limits.wall_ms == 90000);
	assert_true(s.limits.memory_bytes == INT64_C(1000000000000000));
	assert_string_equal(s.env.values[0], "0.1");
	assert_string_equal(s.env.values[1], "12345678901");
	assert_string_equal(s.env.values[2], "true");
	assert_ok(kgb_json_parse(bad, strlen(bad), &bad_json, &err), err);
	assert_fails(kgb_decode(settings_table, NULL, bad_json, &s, &arena, &err), err,
		     "limits.wall: '90' needs a unit: ms, s, m, h or d");
	assert_fails(kgb_decode(settings_table, &named, bad_json, &s, &arena, &err), err,
		     "body: limits.wall: '90' needs a unit: ms, s, m, h or d");
}

static void test_single_settings(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct settings s;

	(void)state;
	kgb_decode_defaults(settings_table, &s, &arena);
	assert_ok(
		kgb_decode_set(settings_table, "limits.wall", "20m", "--timeout", &s, &arena, &err),
		err);
	assert_true(s.limits.wall_ms == 1200000);
	assert_ok(kgb_decode_set(settings_table, "limits.ratio", "2", "-r", &s, &arena, &err), err);
	assert_true(s.limits.ratio == 2);
	assert_ok(kgb_decode_set(settings_table, "verify", "false", "-n", &s, &arena, &err), err);
	assert_false(s.verify);
	assert_ok(kgb_decode_set(settings_table, "model", "[x", "--model", &s, &arena, &err), err);
	assert_string_equal(s.model, "[x");
	assert_ok(kgb_decode_set(settings_table, "speed", "slow", "-s", &s, &arena, &err), err);
	assert_int_equal(s.speed, SPEED_SLOW);
	assert_ok(kgb_decode_set(settings_table, "args", "a, b,", "-a", &s, &arena, &err), err);
	assert_int_equal(s.args.n, 2);
	assert_string_equal(s.args.items[1], "b");
	assert_ok(kgb_decode_set(settings_table, "env.X.Y", "v", "-e", &s, &arena, &err), err);
	assert_ok(kgb_decode_set(settings_table, "env.A", "2", "-e", &s, &arena, &err), err);
	assert_int_equal(s.env.n, 2);
	assert_string_equal(s.env.keys[0], "A");
	assert_string_equal(s.env.values[0], "2");
	assert_string_equal(s.env.keys[1], "X.Y");
	assert_string_equal(s.env.values[1], "v");
}

static void test_single_settings_that_are_refused(void **state)
{
	static const struct {
		const char *path, *text, *msg;
	} cases[] = {
		{"limits.wall", "90", "KGB_X: '90' needs a unit: ms, s, m, h or d"},
		{"limits.wall", "2h", "KGB_X: '2h' is out of range: must be 1s to 1h"},
		{"devices", "many", "KGB_X: 'many' is not a whole number"},
		{"speed", "", "KGB_X: '' is not one of slow, normal, fast"},
		{"limits.wal", "1s",
		 "KGB_X: unknown setting 'limits.wal'; did you mean 'limits.wall'?"},
		{"limitz.wall", "1s",
		 "KGB_X: unknown setting 'limitz.wall'; did you mean 'limits.wall'?"},
		{"", "1s", "KGB_X: unknown setting ''"},
		{"devices.x", "1", "KGB_X: unknown setting 'devices.x'; did you mean 'devices'?"},
		{"limits", "1",
		 "KGB_X: 'limits' is a group: set one of its keys, as in limits.wall"},
		{"env", "1", "KGB_X: 'env' is a mapping: set one of its keys, as in env.KEY"},
		{"methods", "1", "KGB_X: 'methods' can only be set in a file"},
		{"extra", "1", "KGB_X: 'extra' can only be set in a file"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		struct settings s;
		kgb_decode_defaults(settings_table, &s, &arena);
		assert_fails(kgb_decode_set(settings_table, cases[i].path, cases[i].text, "KGB_X",
					    &s, &arena, &err),
			     err, cases[i].msg);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_true(s.limits.wall_ms == 600000);
		assert_true(s.devices == 1);
	}
}

static void bad_default(void *payload)
{
	static const struct kgb_field table[] = {
		{.name = "wall", .type = KGB_FIELD_DURATION, .def = "90"},
		KGB_FIELD_END,
	};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	int64_t out;

	(void)payload;
	kgb_decode_defaults(table, &out, &arena);
}

static void test_a_default_that_does_not_parse_aborts(void **state)
{
	(void)state;
	assert_aborts(bad_default, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_everything_is_decoded),
		cmocka_unit_test(test_decoded_values_outlive_the_document),
		cmocka_unit_test(test_absent_and_empty_values),
		cmocka_unit_test(test_every_message),
		cmocka_unit_test(test_required_values_may_not_be_null),
		cmocka_unit_test(test_bounds_of_zero),
		cmocka_unit_test(test_json_documents_decode_without_positions),
		cmocka_unit_test(test_single_settings),
		cmocka_unit_test(test_single_settings_that_are_refused),
		cmocka_unit_test(test_a_default_that_does_not_parse_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
