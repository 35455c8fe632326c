/* SPDX-License-Identifier: MIT */
#include "base/formats/yaml.h"

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "tests/unit/base/support.h"

static int parse(const char *text, struct kgb_yaml *doc, struct kgb_err *err)
{
	return kgb_yaml_parse("f.yaml", text, strlen(text), doc, err);
}

static void test_documents_become_the_tree_that_json_gives(void **state)
{
	static const struct {
		const char *yaml, *json;
	} cases[] = {
		{"", "null"},
		{"# only a comment\n", "null"},
		{"---\n...\n", "null"},
		{"a: 1", "{\"a\":1}"},
		{"%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}"},
		{"a:\n  b: [1, x]\n  c: {d: e}\n", "{\"a\":{\"b\":[1,\"x\"],\"c\":{\"d\":\"e\"}}}"},
		{"- a\n- - b\n  - c\n- d: 1\n  e: 2\n", "[\"a\",[\"b\",\"c\"],{\"d\":1,\"e\":2}]"},
		{"{\"a\": [true, null, 1.5e3, \"x\\ny\"]}", "{\"a\":[true,null,1.5e3,\"x\\ny\"]}"},
		{"a: |\n  two\n  lines\nb: >\n  folded\n  text\n",
		 "{\"a\":\"two\\nlines\\n\",\"b\":\"folded text\\n\"}"},
		{"a: 'it''s'\nb: \"\\u20ac\\x41\"\n", "{\"a\":\"it's\",\"b\":\"\xe2\x82\xac"
						      "A\"}"},
		{"\xef\xbb\xbf"
		 "a: 1",
		 "{\"a\":1}"},
		{"a: b # comment\n", "{\"a\":\"b\"}"},
		{"http: http://x:1/y#z\n", "{\"http\":\"http://x:1/y#z\"}"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		struct kgb_jsonw w;
		assert_ok(parse(cases[i].yaml, &doc, &err), err);
		kgb_jsonw_init(&w, &out, 0);
		kgb_jsonw_tree(&w, doc.root);
		assert_string_equal(out.ptr, cases[i].json);
		assert_string_equal(doc.name, "f.yaml");
	}
}

static void test_plain_scalars_resolve_as_in_json_only(void **state)
{
	static const struct {
		const char *text;
		int type;
	} cases[] = {
		{"null", cJSON_NULL},      {"~", cJSON_NULL},
		{"", cJSON_NULL},          {"''", cJSON_String},
		{"Null", cJSON_String},    {"true", cJSON_True},
		{"false", cJSON_False},    {"True", cJSON_String},
		{"yes", cJSON_String},     {"no", cJSON_String},
		{"on", cJSON_String},      {"off", cJSON_String},
		{"y", cJSON_String},       {"1", cJSON_Number},
		{"-1.5e-3", cJSON_Number}, {"0", cJSON_Number},
		{"007", cJSON_String},     {"0x10", cJSON_String},
		{"0o7", cJSON_String},     {"1_000", cJSON_String},
		{"+1", cJSON_String},      {".5", cJSON_String},
		{"1.", cJSON_String},      {"1e3x", cJSON_String},
		{".inf", cJSON_String},    {".nan", cJSON_String},
		{"1e999", cJSON_String},   {"12:30", cJSON_String},
		{"2.13.0", cJSON_String},  {"\"1\"", cJSON_String},
		{"'true'", cJSON_String},  {"2026-01-01", cJSON_String},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
		KGB_AUTO(free) char *text = kgb_xasprintf("k: %s\n", cases[i].text);
		assert_ok(parse(text, &doc, &err), err);
		const cJSON *node = kgb_json_get(doc.root, "k");
		if ((node->type & 0xff) != cases[i].type)
			fail_msg("'%s' has type %d", cases[i].text, node->type);
	}
}

static void test_numbers_and_booleans_keep_their_text(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_jsonw w;

	(void)state;
	assert_ok(parse("[2.10, 9007199254740993, true, 1.0E2]", &doc, &err), err);
	assert_string_equal(kgb_json_get(doc.root, "0")->valuestring, "2.10");
	assert_string_equal(kgb_json_get(doc.root, "1")->valuestring, "9007199254740993");
	assert_string_equal(kgb_json_get(doc.root, "2")->valuestring, "true");
	assert_true(kgb_json_num(doc.root, "3", 0) == 100);
	assert_true(kgb_json_i64(doc.root, "3", 0) == 100);
	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_tree(&w, doc.root);
	assert_string_equal(out.ptr, "[2.10,9007199254740993,true,1.0E2]");
}

#define ANCHORS \
	"anchors and aliases are not accepted: repeat the value, or quote text that starts with & or *"
#define TAGS "tags are not accepted: quote text that starts with !"

static void test_documents_that_are_refused(void **state)
{
	static const struct {
		const char *text, *msg;
	} cases[] = {
		{"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: duplicate key 'a'"},
		{"a: {b: 1, \"b\": 2}\n", "f.yaml:1:11: duplicate key 'b'"},
		{"- x: 1\n  y:\n    z: 1\n    z: 2\n", "f.yaml:4:5: duplicate key 'z'"},
		{"a: &x 1\n", "f.yaml:1:4: " ANCHORS},
		{"a: &x {}\n", "f.yaml:1:4: " ANCHORS},
		{"a: &x []\n", "f.yaml:1:4: " ANCHORS},
		{"a: *x\n", "f.yaml:1:4: " ANCHORS},
		{"- *x\n", "f.yaml:1:3: " ANCHORS},
		{"a: !!str 1\n", "f.yaml:1:4: " TAGS},
		{"a: !python/object {}\n", "f.yaml:1:4: " TAGS},
		{"a: !x [1]\n", "f.yaml:1:4: " TAGS},
		{"a: ! 1\n", "f.yaml:1:4: " TAGS},
		{"? [a]\n: 1\n", "f.yaml:1:3: a key must be plain text"},
		{"{a: 1}: 2\n", "f.yaml:1:1: a key must be plain text"},
		{"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document starts here: one is expected"},
		{"a: \"x\\0y\"\n", "f.yaml:1:4: text contains a NUL character"},
		{"\"\\0\": y\n", "f.yaml:1:1: text contains a NUL character"},
		{"a: b: c\n", "f.yaml:1:5: mapping values are not allowed in this context"},
		{"a: [1\n",
		 "f.yaml:2:1: while parsing a flow sequence: did not find expected ',' or ']'"},
		{"a:\n\t- b\n",
		 "f.yaml:2:1: while scanning for the next token: found character that cannot start any "
		 "token: indent with blanks, not tabs, and quote text that starts with % @ or `"},
		{"a: @b\n",
		 "f.yaml:1:4: while scanning for the next token: found character that cannot start any "
		 "token: indent with blanks, not tabs, and quote text that starts with % @ or `"},
		{"a: \"x\n",
		 "f.yaml:2:1: while scanning a quoted scalar: found unexpected end of stream"},
		{"a: 1\n b: 2\n", "f.yaml:2:3: mapping values are not allowed in this context"},
		{"a: \xff\n", "f.yaml: byte 3: invalid leading UTF-8 octet"},
		{"a: \x01\n", "f.yaml: byte 3: control characters are not allowed"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_yaml doc = KGB_YAML_INIT;
		assert_fails(parse(cases[i].text, &doc, &err), err, cases[i].msg);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_null(doc.root);
	}
}

static void test_other_encodings_are_refused(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_yaml doc = KGB_YAML_INIT;

	(void)state;
	assert_int_equal(kgb_yaml_parse("f",
					"\xff\xfe"
					"a\0:\0 \0001\0",
					10, &doc, &err),
			 -1);
	assert_int_equal(err.kind, KGB_ERR_INVALID);
}

static void test_depth_is_capped(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(yaml) struct kgb_yaml good = KGB_YAML_INIT;
	struct kgb_yaml bad = KGB_YAML_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	(void)state;
	for (int i = 0; i < KGB_LIMIT_JSON_DEPTH; i++)
		kgb_buf_addc(&text, '[');
	for (int i = 0; i < KGB_LIMIT_JSON_DEPTH; i++)
		kgb_buf_addc(&text, ']');
	assert_ok(parse(text.ptr, &good, &err), err);
	kgb_buf_clear(&text);
	for (int i = 0; i < 1000; i++)
		kgb_buf_adds(&text, "- ");
	assert_fails(parse(text.ptr, &bad, &err), err, "f.yaml:1:129: nested more than 64 levels");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
}

static void test_size_and_count_are_capped(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_yaml doc = KGB_YAML_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	(void)state;
	assert_fails(kgb_yaml_parse("f.yaml", "", KGB_LIMIT_YAML + 1, &doc, &err), err,
		     "f.yaml: larger than 1048576 bytes");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	kgb_buf_addc(&text, '[');
	for (unsigned i = 0; i < KGB_LIMIT_YAML_NODES; i++)
		kgb_buf_adds(&text, "1,\n");
	kgb_buf_addc(&text, ']');
	assert_fails(parse(text.ptr, &doc, &err), err,
		     "f.yaml:262144:1: document has more than 262144 values");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
}

static void test_long_keys_are_refused(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(yaml) struct kgb_yaml good = KGB_YAML_INIT;
	struct kgb_yaml bad = KGB_YAML_INIT;

	(void)state;
	KGB_AUTO(free) char *fits = kgb_xasprintf("%0*d: 1\n", KGB_LIMIT_YAML_KEY, 1);
	assert_ok(parse(fits, &good, &err), err);
	KGB_AUTO(free) char *over = kgb_xasprintf("%0*d: 1\n", KGB_LIMIT_YAML_KEY + 1, 1);
	assert_fails(parse(over, &bad, &err), err, "f.yaml:1:1: key is longer than 128 bytes");
}

static void test_positions_of_values_and_keys(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	const cJSON other = {0};
	int line, column;

	(void)state;
	assert_ok(parse("limits:\n  wall: 90\n  list: [a,\n    b]\n", &doc, &err), err);
	kgb_yaml_where(&doc, kgb_json_get(doc.root, "limits.wall"), &line, &column);
	assert_int_equal(line, 2);
	assert_int_equal(column, 9);
	kgb_yaml_where(&doc, kgb_json_get(doc.root, "limits.list.1"), &line, &column);
	assert_int_equal(line, 4);
	assert_int_equal(column, 5);
	kgb_yaml_where(&doc, doc.root, &line, &column);
	assert_int_equal(line, 1);
	assert_int_equal(column, 1);
	kgb_yaml_where(&doc, &other, &line, &column);
	assert_int_equal(line, 0);
	assert_int_equal(column, 0);
	const cJSON *wall = kgb_json_get(doc.root, "limits.wall");
	assert_fails(kgb_yaml_fail(&doc, wall, &err, "x %d", 1), err, "f.yaml:2:9: x 1");
	assert_int_equal(err.kind, KGB_ERR_INVALID);
	assert_fails(kgb_yaml_fail_key(&doc, wall, &err, "x"), err, "f.yaml:2:3: x");
	assert_fails(kgb_yaml_fail_key(&doc, doc.root, &err, "x"), err, "f.yaml:1:1: x");
	assert_fails(kgb_yaml_fail(&doc, &other, &err, "x"), err, "f.yaml: x");
	assert_fails(kgb_yaml_fail(NULL, &other, &err, "x"), err, "x");
}

static void test_files(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	char name[] = "/tmp/kgb-test-yaml-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a: [\n", 5), 5);
	KGB_AUTO(free)
	char *expected = kgb_xasprintf(
		"%s:2:1: while parsing a flow node: did not find expected node content", name);
	assert_fails(kgb_yaml_read(AT_FDCWD, name, &doc, &err), err, expected);
	assert_int_equal(pwrite(fd, "a: 1\n", 5, 0), 5);
	assert_ok(kgb_yaml_read(AT_FDCWD, name, &doc, &err), err);
	assert_string_equal(doc.name, name);
	close(fd);
	unlink(name);
	struct kgb_yaml none = KGB_YAML_INIT;
	assert_fails(kgb_yaml_read(AT_FDCWD, "/nonexistent.yaml", &none, &err), err,
		     "open '/nonexistent.yaml': No such file or directory");
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents_become_the_tree_that_json_gives),
		cmocka_unit_test(test_plain_scalars_resolve_as_in_json_only),
		cmocka_unit_test(test_numbers_and_booleans_keep_their_text),
		cmocka_unit_test(test_documents_that_are_refused),
		cmocka_unit_test(test_other_encodings_are_refused),
		cmocka_unit_test(test_depth_is_capped),
		cmocka_unit_test(test_size_and_count_are_capped),
		cmocka_unit_test(test_long_keys_are_refused),
		cmocka_unit_test(test_positions_of_values_and_keys),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
