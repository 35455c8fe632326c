/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "agent/page/document.h"
#include "agent/page/history.h"
#include "agent/page/kernels.h"
#include "agent/page/timeline.h"
#include "base/formats/json.h"
#include "base/system/fs.h"
#include "tests/unit/base/support.h"

static int remove_folder(void **state)
{
	struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	const int rc = kgb_fs_remove_tree(AT_FDCWD, dir->path, &err);
	close(dir->fd);
	kgb_free(dir);
	return rc;
}

/* ---- embedding ---- */

static const struct {
	const char *json, *wanted;
} embedded[] = {
	{"{}", "{}"},
	{"\"a > b & c\"", "\"a > b & c\""},
	{"\"</script><!--\"", "\"\\u003c/script>\\u003c!--\""},
	{"\"\xe2\x80\xae txt\"", "\"\\u202e txt\""}, /* right to left */
	{"\"\xe2\x81\xa6\xe2\x80\xa8\xd8\x9c\"", "\"\\u2066\\u2028\\u061c\""},
	{"\"\xc2\x9b\"", "\"\\u009b\""}, /* CSI in one character */
	{"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
	 "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
};

static void test_embedded_json_holds_no_markup(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(embedded); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_embed_json(&out, embedded[i].json, strlen(embedded[i].json));
		assert_string_equal(out.ptr, embedded[i].wanted);
	}
}

/* ---- kernels ---- */

/** Write kernels of these sizes, of lines of 10 bytes, and return what is shown of each. */
static cJSON *shown_kernels(const size_t *sizes, size_t n, size_t limit, int dir_fd)
{
	struct kgb_kernels kernels = {0};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_jsonw w;
	KGB_AUTO(buf) struct kgb_buf json = KGB_BUF_INIT(0);
	cJSON *array = NULL;
	for (size_t i = 0; i < n; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		size_t place = 0;
		while (text.len < sizes[i])
			kgb_buf_addf(&text, "<%08zu\n", text.len + i);
		assert_ok(
			kgb_fs_write_atomic(dir_fd, "k.py", text.ptr, text.len, 0644, false, &err),
			err);
		assert_ok(kgb_kernels_add(&kernels, dir_fd, "k.py", &place, &err), err);
		assert_ok(kgb_kernels_add(&kernels, dir_fd, "k.py", &place, &err), err);
		assert_int_equal(place, i);
	}
	kgb_jsonw_init(&w, &json, 0);
	kgb_kernels_write(&kernels, limit, &w);
	kgb_kernels_release(&kernels);
	assert_ok(kgb_json_parse(json.ptr, json.len, &array, &err), err);
	KGB_AUTO(buf) struct kgb_buf page = KGB_BUF_INIT(0);
	kgb_embed_json(&page, json.ptr, json.len);
	assert_true(page.len <= limit);
	return array;
}

static void test_kernels_are_cut_alike_and_at_lines(void **state)
{
	/* A line takes 16 bytes of a page: "<" becomes \u003c, and a line break \n. */
	static const struct {
		size_t sizes[3], limit, shown[3];
	} cases[] = {
		{{100, 200, 300}, 2000, {100, 200, 300}},
		{{100, 1000, 3000}, 2360, {100, 600, 600}},
		{{1000, 1000, 1000}, 600, {0, 0, 0}},
	};
	struct tmpdir *dir = *state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(json)
		cJSON *array = shown_kernels(cases[i].sizes, 3, cases[i].limit, dir->fd);
		const cJSON *kernel = array->child;
		for (size_t k = 0; k < 3; k++, kernel = kernel->next) {
			const size_t shown = strlen(kgb_json_str(kernel, "text", NULL));
			assert_int_equal(kgb_json_i64(kernel, "bytes", -1), cases[i].sizes[k]);
			assert_int_equal(shown % 10, 0);
			assert_true(shown <= cases[i].sizes[k]);
			assert_true(labs((long)shown - (long)cases[i].shown[k]) <= 130);
			assert_true(shown > 0 || cases[i].shown[k] == 0);
		}
	}
}

static void test_what_is_no_kernel_is_refused(void **state)
{
	static const char *const paths[] = {"../k.py", "/etc/passwd", "link.py", "none.py", "."};
	struct tmpdir *dir = *state;
	struct kgb_kernels kernels = {0};
	assert_int_equal(symlinkat("/etc/passwd", dir->fd, "link.py"), 0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(paths); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		size_t place = 0;
		assert_int_equal(kgb_kernels_add(&kernels, dir->fd, paths[i], &place, &err), -1);
	}
	assert_int_equal(kernels.list.n, 0);
	kgb_kernels_release(&kernels);
}

/* ---- history ---- */

#define ATTEMPTS                                                                                      \
	"\"attempts\": [{\"number\": 1, \"start_time\": \"2026-11-21T08:00:00.000Z\","                \
	"\"duration_seconds\": 50, \"cost_usd\": 1, \"tokens\": {\"cli\": {\"total_tokens\": 100}}}," \
	"{\"number\": 2, \"start_time\": \"2026-11-21T08:10:00.000Z\"}]"
#define CALL(time, status, tokens, speedup)                                                 \
	"{\"attempt\": 2, \"time\": \"2026-11-21T08:" time ".000Z\", \"status\": \"" status \
	"\", \"speedup\": " speedup ", \"spent\": {\"tokens\": {\"total_tokens\": " tokens  \
	"}, \"cost_usd\": 2}}"
#define OPERATOR                                                                 \
	"{\"verdict\": \"v.json\", \"speedup\": 1.8, " ATTEMPTS                  \
	", \"verify_calls\": [" CALL("10:10", "failed", "10", "null") ", " CALL( \
		"10:20", "passed", "20", "0.9") ", " CALL("10:30", "passed", "30", "2.5") "]}"

static const struct {
	double target;
	bool correct;
	double speedup; /* of the final verdict */
	double wanted[KGB_N_COSTS];
} costs[] = {
	/* The lost attempt cost 100 tokens, 1 USD, 50 s; when it passed is read with the row. */
	{0, true, 1.8, {11, 12, 13}},
	{0.5, true, 1.8, {120, 3, 70}},
	{1, true, 1.8, {130, 3, 80}},
	/* No check was so fast as the final verdict asks for, or the final verdict was slower. */
	{1.7, true, 1.8, {130, 3, 80}},
	{2, true, 1.8, {(double)NAN, (double)NAN, (double)NAN}},
	{2.6, true, 2.7, {500, 9, 400}},
	/* The final verdict did not confirm the checks. */
	{0, false, (double)NAN, {(double)NAN, (double)NAN, (double)NAN}},
};

static void test_a_kernel_costs_what_was_spent_when_it_was_seen(void **state)
{
	(void)state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *node = NULL;
	assert_ok(kgb_json_parse(OPERATOR, strlen(OPERATOR), &node, &err), err);
	for (size_t i = 0; i < KGB_ARRAY_LEN(costs); i++) {
		const struct kgb_op_row op = {.name = "aten::add",
					      .status = costs[i].correct ? "passed" : "failed",
					      .is_correct = costs[i].correct,
					      .speedup = costs[i].speedup,
					      .solved = {11, 12, 13},
					      .tokens = 500,
					      .dollars = 9,
					      .agent_seconds = 400};
		KGB_AUTO(history) struct kgb_history history = {0};
		kgb_history_read(node, &op, &history);
		assert_int_equal(history.steps.n, 4);
		for (enum kgb_history_cost cost = 0; cost < KGB_N_COSTS; cost++) {
			const double got = kgb_history_cost(&history, &op, costs[i].target, cost);
			const double wanted = costs[i].wanted[cost];
			assert_true(isnan(wanted) ? isnan(got) : got == wanted);
		}
	}
}

#define SAMPLE(time, number, status, speedup)                        \
	"{\"sample\": " number ", \"time\": \"2026-11-21T08:" time   \
	".000Z\", \"status\": \"" status "\", \"speedup\": " speedup \
	", \"tokens\": {\"total_tokens\": 10}, \"cost_usd\": 1, "    \
	"\"seconds\": 5}"

/** Samples are read as they lie in their file, and paid in the order of their answers. */
static void test_a_sample_costs_what_came_before_it_too(void **state)
{
	static const char *const lines[] = {SAMPLE("00:03", "1", "passed", "1.2"),
					    SAMPLE("00:01", "2", "failed", "null"),
					    SAMPLE("00:02", "3", "passed", "0.9")};
	static const int order[] = {2, 3, 1};
	const struct kgb_op_row op = {.is_correct = true, .speedup = 1.2};
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(history) struct kgb_history history = {0};
	cJSON *nodes[KGB_ARRAY_LEN(lines)];
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(lines); i++) {
		assert_ok(kgb_json_parse(lines[i], strlen(lines[i]), &nodes[i], &err), err);
		kgb_history_add_sample(nodes[i], &history);
	}
	kgb_history_order(&history);
	for (size_t i = 0; i < KGB_ARRAY_LEN(lines); i++) {
		assert_int_equal(history.steps.items[i].number, order[i]);
		assert_true(history.steps.items[i].cost[KGB_COST_TOKENS] == 10.0 * (double)(i + 1));
	}
	assert_true(kgb_history_cost(&history, &op, 0.8, KGB_COST_SECONDS) == 10);
	assert_true(kgb_history_cost(&history, &op, 1, KGB_COST_USD) == 3);
	for (size_t i = 0; i < KGB_ARRAY_LEN(lines); i++)
		kgb_auto_json(&nodes[i]);
}

/* ---- what a document leaves out ---- */

/** A run with the journal of tests/fixtures/agent/run and two kernels. */
static void write_run(int dir_fd)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf journal = KGB_BUF_INIT(0), kernel = KGB_BUF_INIT(0);
	const char *const files[] = {"kernels/aten__add.py", "kernels/aten__silu.py"};
	assert_ok(kgb_fs_read(AT_FDCWD,
			      KGB_TEST_SOURCE_DIR "/tests/fixtures/agent/run/journal.jsonl",
			      1 << 20, &journal, &err),
		  err);
	assert_ok(kgb_fs_write_atomic(dir_fd, "journal.jsonl", journal.ptr, journal.len, 0644,
				      false, &err),
		  err);
	assert_ok(kgb_fs_mkdirs(dir_fd, "kernels", 0755, &err), err);
	for (size_t i = 0; i < KGB_ARRAY_LEN(files); i++) {
		while (kernel.len < 3000 * (i + 1))
			kgb_buf_addf(&kernel, "x = %zu\n", kernel.len);
		assert_ok(kgb_fs_write_atomic(dir_fd, files[i], kernel.ptr, kernel.len, 0644, false,
					      &err),
			  err);
	}
}

/** Check a document against what it says that it leaves out. */
static void check_document(const struct kgb_buf *text, const struct kgb_strv *left_out)
{
	static const char *const names[] = {"histories", "timelines", "kernels"};
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *document = NULL;
	size_t n_steps = 0, n_bars = 0, n_kernels = 0, n_notes = 0;
	const cJSON *node = NULL;
	assert_ok(kgb_json_parse(text->ptr, text->len, &document, &err), err);
	cJSON_ArrayForEach(node, kgb_json_get(document, "cells"))
		n_steps += (size_t)cJSON_GetArraySize(kgb_json_get(node, "steps"));
	cJSON_ArrayForEach(node, kgb_json_get(document, "runs"))
		n_bars += (size_t)cJSON_GetArraySize(kgb_json_get(node, "timeline.bars"));
	n_kernels = (size_t)cJSON_GetArraySize(kgb_json_get(document, "kernels"));
	cJSON_ArrayForEach(node, kgb_json_get(document, "warnings"))
		n_notes += kgb_str_starts(node->valuestring, "To keep this page small, ");
	assert_int_equal(n_steps, left_out->n > 0 ? 0 : 4);
	assert_int_equal(n_bars, left_out->n > 1 ? 0 : 6);
	assert_int_equal(n_kernels, left_out->n > 2 ? 0 : 2);
	assert_int_equal(n_notes, left_out->n);
	assert_int_equal(cJSON_GetArraySize(kgb_json_get(document, "left_out")), left_out->n);
	for (size_t i = 0; i < left_out->n; i++)
		assert_string_equal(left_out->items[i], names[i]);
}

static void test_a_document_keeps_its_limit_and_says_what_it_left_out(void **state)
{
	struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {.details = KGB_DETAIL_STEPS};
	KGB_AUTO(strv) struct kgb_strv labels = KGB_STRV_INIT;
	KGB_AUTO(collected) struct kgb_collected collected = {0};
	size_t n_before = 0, seen[4] = {0};
	write_run(dir->fd);
	assert_ok(kgb_runs_read(&runs, dir->path, &err), err);
	kgb_runs_label(&runs, &labels);
	assert_ok(kgb_collect(&runs, &labels, &collected, &err), err);
	for (size_t limit = 40000; limit > 1000; limit -= 100) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0), page = KGB_BUF_INIT(0);
		KGB_AUTO(strv) struct kgb_strv left_out = KGB_STRV_INIT;
		if (kgb_report_document(&runs, &collected, 1, limit, &text, &left_out, &err) < 0) {
			assert_int_equal(err.kind, KGB_ERR_LIMIT);
			assert_int_equal(text.len, 0);
			break;
		}
		kgb_embed_json(&page, text.ptr, text.len);
		assert_true(page.len <= limit + 10); /* the ends of the array and the object */
		assert_true(left_out.n >= n_before);
		check_document(&text, &left_out);
		n_before = left_out.n;
		seen[left_out.n]++;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(seen); i++)
		assert_true(seen[i] > 0);
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
}

static void test_numbers_are_cut_to_five_digits(void **state)
{
	static const double cases[][2] = {
		{0, 0},
		{1.0 / 3, 0.33333},
		{123456.7, 123456.7},
		{-2.00004999, -2},
		{1e-7 / 3, 3.3333e-8},
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		assert_true(kgb_shortened(cases[i][0]) == cases[i][1]);
	assert_true(isnan(kgb_shortened((double)NAN)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_embedded_json_holds_no_markup),
		cmocka_unit_test_setup_teardown(test_kernels_are_cut_alike_and_at_lines,
						tmpdir_setup, remove_folder),
		cmocka_unit_test_setup_teardown(test_what_is_no_kernel_is_refused, tmpdir_setup,
						remove_folder),
		cmocka_unit_test(test_a_kernel_costs_what_was_spent_when_it_was_seen),
		cmocka_unit_test(test_a_sample_costs_what_came_before_it_too),
		cmocka_unit_test_setup_teardown(
			test_a_document_keeps_its_limit_and_says_what_it_left_out, tmpdir_setup,
			remove_folder),
		cmocka_unit_test(test_numbers_are_cut_to_five_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
