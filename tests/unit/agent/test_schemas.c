/* SPDX-License-Identifier: MIT */
/** \file
 * The tables of counters and records describe the same members as docs/schemas/. On a difference
 * the test prints the part of the schema that the table asks for.
 */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>

#include "agent/store/events_json.h"
#include "base/formats/json.h"
#include "base/formats/rows.h"
#include "base/system/fs.h"
#include "sandbox/meter/usage.h"

/** The type that the schema gives to a row. */
static const char *type_of(const struct kgb_row *row)
{
	switch (row->type) {
	case KGB_ROW_TEXT:
	case KGB_ROW_KEPT_TEXT:
	case KGB_ROW_CHARS:
		return "[\"string\",\"null\"]";
	case KGB_ROW_OPTIONAL_TEXT:
		return "\"string\"";
	case KGB_ROW_COUNT:
		return "[\"integer\",\"null\"]";
	case KGB_ROW_I64:
	case KGB_ROW_INT:
	case KGB_ROW_INDEX:
		return "\"integer\"";
	case KGB_ROW_BOOL:
		return "\"boolean\"";
	case KGB_ROW_POSITIVE:
		return "[\"number\",\"null\"]";
	case KGB_ROW_TREE:
		return "[\"object\",\"null\"]";
	}
	KGB_UNREACHABLE();
}

static void describe(struct kgb_buf *out, const struct kgb_row *row)
{
	kgb_buf_addf(out, "{\"type\":%s%s}", type_of(row),
		     row->type == KGB_ROW_COUNT || row->type == KGB_ROW_I64 ||
				     row->type == KGB_ROW_POSITIVE
			     ? ",\"minimum\":0"
			     : "");
}

/** Whether a property of the schema allows what its row writes. An enumeration narrows a text. */
static bool agrees(const cJSON *property, const struct kgb_row *row)
{
	KGB_AUTO(buf) struct kgb_buf is = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	if (!property)
		return false;
	if (kgb_json_get(property, "enum"))
		return row->type <= KGB_ROW_CHARS;
	kgb_jsonw_init(&w, &is, 0);
	kgb_jsonw_tree(&w, kgb_json_get(property, "type"));
	return kgb_str_eq(is.ptr, type_of(row)) ||
	       (row->type == KGB_ROW_KEPT_TEXT && kgb_str_eq(is.ptr, "\"string\""));
}

/** The object at `path` in the data of an event, or in the schema; of alternatives the object. */
static const cJSON *find(const cJSON *doc, const char *event, const char *path)
{
	const cJSON *one = NULL;
	cJSON_ArrayForEach(one, kgb_json_get(doc, "oneOf"))
		if (event && kgb_str_eq(kgb_json_str(one, "properties.type.const", ""), event))
			doc = kgb_json_get(one, "properties.data");
	doc = *path ? kgb_json_get(doc, path) : doc;
	cJSON_ArrayForEach(one, kgb_json_get(doc, "anyOf"))
		if (kgb_json_get(one, "properties"))
			return one;
	return doc;
}

/** How many members differ between schema and table; each is printed. `others` are the members that
 * no row writes. */
static int compare(const char *name, const cJSON *object, const struct kgb_row *rows,
		   const char *others)
{
	const cJSON *properties = kgb_json_get(object, "properties"), *property = NULL;
	KGB_AUTO(strv) struct kgb_strv known = KGB_STRV_INIT;
	int n_bad = 0;
	kgb_strv_split(&known, others, ' ');
	for (; rows->name; rows++) {
		KGB_AUTO(buf) struct kgb_buf part = KGB_BUF_INIT(0);
		kgb_strv_add(&known, rows->name);
		if (agrees(cJSON_GetObjectItemCaseSensitive(properties, rows->name), rows))
			continue;
		describe(&part, rows);
		print_error("%s needs \"%s\": %s\n", name, rows->name, part.ptr);
		n_bad++;
	}
	cJSON_ArrayForEach(property, properties)
		if (!kgb_strv_has(&known, property->string)) {
			print_error("%s has \"%s\", which no row writes\n", name, property->string);
			n_bad++;
		}
	return n_bad;
}

static void test_schemas_and_tables_agree(void **state)
{
	static const struct {
		const char *schema, *event, *path;
		const struct kgb_row *rows;
		const char *others;
	} cases[] = {
		{"journal", NULL, "$defs.gateway", kgb_totals_rows, "models"},
		{"journal", NULL, "$defs.gateway.properties.models.items", kgb_model_total_rows,
		 "name"},
		{"journal", NULL, "$defs.cli", kgb_report_rows, ""},
		{"journal", NULL, "$defs.verdict_summary", kgb_verdict_summary__rows, ""},
		{"journal", "run_started", "", kgb_run_started__rows,
		 "method model gateway endpoint sampling prompts host version"},
		{"journal", "attempt_started", "properties.price_nanos", kgb_price__rows, ""},
		{"journal", "round_finished", "", kgb_round__rows,
		 "operator attempt verdict gateway cli"},
		{"journal", "round_finished", "properties.gateway", kgb_usage_rows, ""},
		{"journal", "round_finished", "properties.cli", kgb_usage_rows, ""},
		{"journal", "sample", "", kgb_sample__rows, "operator attempt gateway"},
		{"journal", "sample_judged", "", kgb_sample_verdict__rows, "operator sample round"},
		{"journal", "sample_checked", "", kgb_sample_check__rows, "operator sample round"},
		{"journal", "attempt_finished", "", kgb_attempt_finished__rows,
		 "operator attempt end gateway cli sandbox"},
		{"journal", NULL, "$defs.gpu_times", kgb_gpu_times__rows, ""},
		{"results", NULL, "$defs.usage", kgb_usage_long_rows, "total_tokens"},
		{"progress", NULL, "$defs.usage", kgb_usage_long_rows, "total_tokens"},
	};
	int n_bad = 0;
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(free)
		char *file = kgb_xasprintf(KGB_TEST_SOURCE_DIR "/docs/schemas/%s.schema.json",
					   cases[i].schema);
		KGB_AUTO(free)
		char *name = kgb_xasprintf("%s: %s %s", file, cases[i].event ? cases[i].event : "",
					   cases[i].path);
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		KGB_AUTO(json) cJSON *doc = NULL;
		assert_ok(kgb_fs_read(AT_FDCWD, file, 1 << 20, &text, err));
		assert_ok(kgb_json_parse(text.ptr, text.len, &doc, err));
		n_bad += compare(name, find(doc, cases[i].event, cases[i].path), cases[i].rows,
				 cases[i].others);
	}
	assert_int_equal(n_bad, 0);
}

static void test_a_difference_is_found(void **state)
{
	static const char json[] =
		"{\"properties\":{\"input\":{\"type\":[\"integer\",\"null\"]},"
		"\"output\":{\"type\":\"integer\"},\"stranger\":{\"type\":\"integer\"}}}";
	KGB_AUTO(json) cJSON *doc = NULL;
	(void)state;
	assert_ok(kgb_json_parse(json, sizeof(json) - 1, &doc, err));
	/* The type of output, cache_creation, cache_read, and a stranger. */
	assert_int_equal(compare("example", doc, kgb_usage_rows, ""), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schemas_and_tables_agree),
		cmocka_unit_test(test_a_difference_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
