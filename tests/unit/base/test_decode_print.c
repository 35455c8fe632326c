/* SPDX-License-Identifier: MIT */
#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "tests/unit/base/decode_table.h"
#include "tests/unit/base/support.h"

static void load(const char *text, struct kgb_yaml *doc, struct settings *out,
		 struct kgb_arena *arena)
{
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_yaml_parse("c.yaml", text, strlen(text), doc, &err) < 0 ||
	    kgb_decode(settings_table, doc, doc->root, out, arena, &err) < 0) {
		fail_msg("%s\n%s", err.msg, text);
		abort(); /* not reached; for analyzers, which think that fail_msg returns */
	}
}

static void assert_maps_equal(const struct kgb_field_map *a, const struct kgb_field_map *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_string_equal(a->keys[i], b->keys[i]);
		assert_string_equal(a->values[i], b->values[i]);
	}
}

static void assert_texts_equal(const char *a, const char *b)
{
	if (!a || !b)
		assert_ptr_equal(a, b);
	else
		assert_string_equal(a, b);
}

static void tree_text(const cJSON *node, struct kgb_buf *out)
{
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_tree(&w, node);
}

static void assert_settings_equal(const struct settings *a, const struct settings *b)
{
	KGB_AUTO(buf) struct kgb_buf tree_a = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf tree_b = KGB_BUF_INIT(0);

	assert_int_equal(a->verify, b->verify);
	assert_true(a->devices == b->devices);
	assert_texts_equal(a->model, b->model);
	assert_texts_equal(a->note, b->note);
	assert_int_equal(a->speed, b->speed);
	assert_true(a->limits.wall_ms == b->limits.wall_ms);
	assert_true(a->limits.memory_bytes == b->limits.memory_bytes);
	assert_true(a->limits.ratio == b->limits.ratio);
	assert_int_equal(a->args.n, b->args.n);
	for (size_t i = 0; i < a->args.n; i++)
		assert_string_equal(a->args.items[i], b->args.items[i]);
	assert_maps_equal(&a->env, &b->env);
	assert_int_equal(a->methods.n, b->methods.n);
	const struct method *x = a->methods.items, *y = b->methods.items;
	for (size_t i = 0; i < a->methods.n; i++) {
		assert_string_equal(x[i].name, y[i].name);
		assert_true(x[i].rounds == y[i].rounds);
		assert_maps_equal(&x[i].env, &y[i].env);
	}
	tree_text(a->extra, &tree_a);
	tree_text(b->extra, &tree_b);
	assert_string_equal(tree_a.ptr, tree_b.ptr);
}

static void test_printed_settings_look_like_this(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct settings s;

	(void)state;
	load("methods: [{name: a b, env: {K: '1'}}, {name: c}]\nextra: {q: [1.50, no, 'x: y']}\n"
	     "note: \"two\\nlines\"\n",
	     &doc, &s, &arena);
	kgb_decode_print(settings_table, &s, false, &out);
	assert_string_equal(out.ptr, "verify: true\n"
				     "devices: 1\n"
				     "model: \"default: model\"\n"
				     "note: \"two\\nlines\"\n"
				     "speed: normal\n"
				     "limits:\n"
				     "  wall: 10m\n"
				     "  memory: 64MiB\n"
				     "  ratio: 0.5\n"
				     "args: [\"-x\", \"a b\"]\n"
				     "env:\n"
				     "  A: 1\n"
				     "methods:\n"
				     "  - name: \"a b\"\n"
				     "    rounds: 3\n"
				     "    env:\n"
				     "      K: 1\n"
				     "  - name: c\n"
				     "    rounds: 3\n"
				     "    env: {}\n"
				     "extra: {q: [1.50, \"no\", \"x: y\"]}\n");
}

static void test_documentation_stands_above_each_key(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct settings s;

	(void)state;
	kgb_decode_defaults(settings_table, &s, &arena);
	kgb_decode_print(settings_table, &s, true, &out);
	assert_contains(out.ptr,
			"# Run the judge.\nverify: true\n\n# Number of devices.\ndevices: 1\n");
	assert_contains(out.ptr,
			"# Limits of one attempt.\nlimits:\n  # Wall time of one attempt.\n"
			"  wall: 10m\n  # Memory of one attempt.\n  memory: 64MiB\n");
	assert_contains(out.ptr, "note: null\n");
	assert_contains(out.ptr, "methods: []\n");
	assert_contains(out.ptr, "extra: null\n");
}

static void test_what_is_printed_reads_back_equal(void **state)
{
	static const char *const cases[] = {
		"",
		"verify: false\ndevices: 64\nlimits: {wall: 1001ms, memory: 1048577, ratio: 0.1}\n",
		"limits: {ratio: -1e-300}\n",
		"model: null\nnote: ''\n",
		"model: 'null'\nnote: 'true'\n",
		"model: '123'\nnote: '~'\n",
		"note: \"\\x01\\x1b\\x7f\\x85\\u2028\\u2029\\ufeff\\ufffe\\t\\n\\r\\\\\\\"'\"\n",
		"note: \" leading and trailing \"\n",
		"note: '# not a comment'\n",
		"note: '- x'\n",
		"note: 'a: b'\n",
		"note: \"\xe2\x82\xac \xf0\x9f\x98\x80 \\u00a0\"\n",
		"note: |\n  line\n    indented\n\n  end\n",
		"args: []\nenv: {}\n",
		"args: ['', ' ', ',', '[', ']', '{', '}', '&a', '*a', '!a', '%a', '@a', '`', \"\\n\"]\n",
		"env: {a: 1, b: 1.50, c: true, d: 'true', e: no, f: '', g: '~', h: null_}\n",
		"env: {i: 007, j: 0x1, k: -0, l: 1e5}\n",
		"env: {'a b': x, 'true': y, '1': z, '': w, \"\\n\": v, '#': u, 'a: b': t}\n",
		"methods:\n- {name: a, rounds: 9223372036854775807, env: {A: b}}\n- {name: '- b'}\n",
		"extra: 5\n",
		"extra: [1.10, {a: null, b: [], c: {}, 'd e': true}, 'x', \"\\n\"]\n",
		"extra: {deep: {deep: {deep: [[[[1]]]]}}}\n",
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		for (int docs = 0; docs < 2; docs++) {
			KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
			KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
			KGB_AUTO(yaml) struct kgb_yaml doc_back = KGB_YAML_INIT;
			KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
			struct settings s, back;
			load(cases[i], &doc, &s, &arena);
			kgb_decode_print(settings_table, &s, docs, &out);
			load(out.ptr, &doc_back, &back, &arena);
			assert_settings_equal(&s, &back);
		}
	}
}

static void add_utf8(struct kgb_buf *out, uint32_t code)
{
	if (code < 0x80) {
		kgb_buf_addc(out, (char)code);
	} else if (code < 0x800) {
		kgb_buf_addc(out, (char)(0xc0 | code >> 6));
		kgb_buf_addc(out, (char)(0x80 | (code & 63)));
	} else if (code < 0x10000) {
		kgb_buf_addc(out, (char)(0xe0 | code >> 12));
		kgb_buf_addc(out, (char)(0x80 | (code >> 6 & 63)));
		kgb_buf_addc(out, (char)(0x80 | (code & 63)));
	} else {
		kgb_buf_addc(out, (char)(0xf0 | code >> 18));
		kgb_buf_addc(out, (char)(0x80 | (code >> 12 & 63)));
		kgb_buf_addc(out, (char)(0x80 | (code >> 6 & 63)));
		kgb_buf_addc(out, (char)(0x80 | (code & 63)));
	}
}

static void check_survive(const struct kgb_strs *texts)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct settings s, back;

	kgb_decode_defaults(settings_table, &s, &arena);
	s.args = *texts;
	kgb_decode_print(settings_table, &s, false, &out);
	load(out.ptr, &doc, &back, &arena);
	assert_int_equal(back.args.n, texts->n);
	for (size_t i = 0; i < texts->n; i++)
		assert_string_equal(back.args.items[i], texts->items[i]);
}

/* Alone, and between blanks, where line breaks would be folded. */
static void test_every_character_survives(void **state)
{
	enum { AT_A_TIME = 500 };
	uint32_t code = 1;

	(void)state;
	while (code < 0x11000) {
		KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
		const char *texts[AT_A_TIME];
		size_t n = 0;
		for (; n < AT_A_TIME && code < 0x11000;
		     code += code < 0x3100 || code > 0xfe00 ? 1 : 37) {
			KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
			if (code >= 0xd800 && code <= 0xdfff)
				continue;
			add_utf8(&text, code);
			texts[n++] = kgb_arena_strdup(&arena, text.ptr);
			texts[n++] = kgb_arena_printf(&arena, "a %s b", text.ptr);
		}
		check_survive(&(struct kgb_strs){.items = texts, .n = n});
	}
}

static void test_invisible_characters_are_written_as_escapes(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct settings s;

	(void)state;
	kgb_decode_defaults(settings_table, &s, &arena);
	s.note = "\x01\x7f\xc2\x85\xe2\x80\xa9\xef\xbb\xbf\xef\xbf\xbe\xff";
	kgb_decode_print(settings_table, &s, false, &out);
	assert_contains(out.ptr, "note: \"\\x01\\x7f\\x85\\u2029\\ufeff\\ufffe\xef\xbf\xbd\"\n");
}

static void print_bad_enum(void *payload)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);

	kgb_decode_print(settings_table, payload, false, &out);
}

static void test_values_that_cannot_be_written_abort(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct settings s;

	(void)state;
	kgb_decode_defaults(settings_table, &s, &arena);
	s.speed = 3;
	assert_aborts(print_bad_enum, &s);
	s.speed = -1;
	assert_aborts(print_bad_enum, &s);
}

static void test_the_schema(void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *json = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	kgb_decode_schema(settings_table, "Settings", &out);
	assert_ok(kgb_json_parse(out.ptr, out.len, &json, &err), err);
	assert_string_equal(kgb_json_str(json, "$schema", ""),
			    "https://json-schema.org/draft/2020-12/schema");
	assert_string_equal(kgb_json_str(json, "title", ""), "Settings");
	assert_string_equal(kgb_json_str(json, "type", ""), "object");
	assert_false(kgb_json_bool(json, "additionalProperties", true));
	const cJSON *p = kgb_json_get(json, "properties");
	assert_string_equal(kgb_json_str(p, "verify.type", ""), "boolean");
	assert_true(kgb_json_bool(p, "verify.default", false));
	assert_string_equal(kgb_json_str(p, "devices.description", ""), "Number of devices.");
	assert_true(kgb_json_i64(p, "devices.minimum", 0) == 1);
	assert_true(kgb_json_i64(p, "devices.maximum", 0) == 64);
	assert_string_equal(kgb_json_str(p, "model.type.1", ""), "null");
	assert_string_equal(kgb_json_str(p, "model.default", ""), "default: model");
	assert_string_equal(kgb_json_str(p, "speed.enum.2", ""), "fast");
	assert_string_equal(kgb_json_str(p, "limits.properties.wall.default", ""), "10m");
	assert_string_equal(kgb_json_str(p, "limits.properties.memory.default", ""), "64MiB");
	assert_true(kgb_json_num(p, "limits.properties.ratio.minimum", 0) == -1);
	assert_string_equal(kgb_json_str(p, "args.items.type", ""), "string");
	assert_string_equal(kgb_json_str(p, "args.default.0", ""), "-x");
	assert_non_null(kgb_json_get(p, "env.additionalProperties.type"));
	assert_string_equal(kgb_json_str(p, "methods.items.required.0", ""), "name");
	assert_string_equal(kgb_json_str(p, "methods.items.properties.name.type", ""), "string");
	assert_true(kgb_json_i64(p, "methods.items.properties.rounds.minimum", 0) == 1);
	assert_null(kgb_json_get(p, "methods.items.properties.rounds.maximum"));
	assert_null(kgb_json_get(p, "extra.type"));
	assert_null(kgb_json_get(json, "required"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_printed_settings_look_like_this),
		cmocka_unit_test(test_documentation_stands_above_each_key),
		cmocka_unit_test(test_what_is_printed_reads_back_equal),
		cmocka_unit_test(test_every_character_survives),
		cmocka_unit_test(test_invisible_characters_are_written_as_escapes),
		cmocka_unit_test(test_values_that_cannot_be_written_abort),
		cmocka_unit_test(test_the_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
