/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <sys/time.h>

#include "agent/answers/figures.h"
#include "agent/answers/groups.h"
#include "agent/answers/outline.h"
#include "agent/answers/runs.h"
#include "agent/report/tabular.h"
#include "base/formats/json.h"
#include "base/system/fs.h"
#include "tests/unit/base/support.h"

#define FIXTURES KGB_TEST_SOURCE_DIR "/tests/fixtures/agent/"

static int remove_folder(void **state)
{
	struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	const int rc = kgb_fs_remove_tree(AT_FDCWD, dir->path, &err);
	close(dir->fd);
	kgb_free(dir);
	return rc;
}

/** A folder below the test's own, for this case. */
static char *folder(void **state, size_t i)
{
	return kgb_xasprintf("%s/%zu", ((struct tmpdir *)*state)->path, i);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	KGB_AUTO(free) char *path = kgb_path_join(dir, name);
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_fs_mkdirs(AT_FDCWD, dir, 0755, &err), err);
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, text, strlen(text), 0644, false, &err), err);
}

/* ---- outline ---- */

static const char *const nothing[] = {NULL};
static const char *const attempts[] = {"attempts", NULL};

static const struct {
	const char *const *kept;
	const char *text, *wanted;
} outlines[] = {
	{nothing, "{}", "{}"},
	{nothing, "", ""},
	{nothing, "{\"attempts\": [1, {\"a\": \"]\"}], \"b\": 1}",
	 "{\"attempts\": null, \"b\": 1}"},
	{nothing, "{\"samples\" :\n {\"x\": [[]]}}", "{\"samples\" :\n null}"},
	{nothing, "{\"attempts\": 3, \"tiers\": null}", "{\"attempts\": 3, \"tiers\": null}"},
	{nothing, "{\"a\": \"attempts\", \"b\": [1]}", "{\"a\": \"attempts\", \"b\": [1]}"},
	{nothing, "{\"a\\\"attempts\": [1]}", "{\"a\\\"attempts\": [1]}"},
	{nothing, "[\"attempts\", [1]]", "[\"attempts\", [1]]"},
	{nothing, "{\"tiers\": {\"a\": \"\\\\\"}, \"tiers\": {}}",
	 "{\"tiers\": null, \"tiers\": null}"},
	{attempts, "{\"attempts\": [1], \"tiers\": [1]}", "{\"attempts\": [1], \"tiers\": null}"},
	/* No JSON stays none. */
	{nothing, "{\"tiers\": {\"a\": [1}", "{\"tiers\": null"},
	{nothing, "{\"tiers\": {\"a\": \"x", "{\"tiers\": null"},
	{nothing, "{\"tiers", "{\"tiers"},
	{nothing, "{\"tiers\":", "{\"tiers\":"},
};

static void test_an_outline_leaves_heavy_members_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(outlines); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		/* Exactly as long as the text: a sanitizer finds a read beyond it. */
		const size_t len = strlen(outlines[i].text);
		KGB_AUTO(free) char *text = kgb_xmalloc(len + 1);
		memcpy(text, outlines[i].text, len);
		kgb_outline(text, len, outlines[i].kept, &out);
		assert_string_equal(out.ptr, outlines[i].wanted);
	}
}

/* ---- reading ---- */

static void test_a_run_is_the_same_from_its_journal_and_its_results(void **state)
{
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *dir = folder(state, 0);
	assert_ok(kgb_fs_read(AT_FDCWD, FIXTURES "results.json", 1u << 20, &text, &err), err);
	write_file(dir, "results.json", text.ptr);
	assert_ok(kgb_runs_read(&runs, dir, &err), err);
	assert_ok(kgb_runs_read(&runs, FIXTURES "run", &err), err);
	assert_int_equal(runs.list.n, 2);
	for (size_t r = 0; r < 2; r++) {
		const struct kgb_run_row *run = &runs.list.items[r];
		assert_string_equal(run->method, "normal_cc");
		assert_true(run->is_offline);
		assert_int_equal(run->ops.n, 4);
		const struct kgb_op_row *add = kgb_run_row_find(run, "aten::add", r);
		assert_true(add && add->is_correct && add->is_finished && add->speedup == 1.025);
		assert_true(add->tokens == 13420 && add->agent_seconds == 9.25);
		assert_string_equal(add->source, "aten"); /* by its name: an older run */
		const struct kgb_op_row *sum = kgb_run_row_find(run, "aten::sum", r);
		assert_true(sum && !sum->is_finished && !sum->is_correct && isnan(sum->speedup));
		const struct kgb_op_row *silu = kgb_run_row_find(run, "aten::silu", r);
		assert_true(silu && silu->is_finished && !silu->is_compiled);
		assert_null(kgb_run_row_find(run, "aten::none", r));
	}
}

static const struct {
	const char *text, *message;
} broken[] = {
	{"{\"schema\": \"kgb.results/2\"", "results.json: 1:27: "},
	{"{\"schema\": \"kgb.results/2\", \"operators\": {\"a\": {\"attempts\": [}}",
	 "results.json: 1:62: "},
	{"{\"schema\": \"kgb.results/9\", \"operators\": {}}", "schema 'kgb.results/9' is not"},
	{"{\"schema\": \"kgb.results/2\", \"operators\": []}", "it has no object 'operators'"},
	{"{\"schema\": \"kgb.results/2\", \"operators\": {\"a\": {}}}",
	 "operators.a has no status"},
	{"[]", "schema '' is not"},
};

static void test_a_broken_file_is_named(void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(broken); i++) {
		KGB_AUTO(runs) struct kgb_runs runs = {0};
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(free) char *dir = folder(state, i);
		write_file(dir, "results.json", broken[i].text);
		assert_int_equal(kgb_runs_read(&runs, dir, &err), -1);
		if (!strstr(err.msg, broken[i].message) || !strstr(err.msg, dir))
			fail_msg("%zu: %s", i, err.msg);
	}
}

static void test_runs_are_found_by_name_folder_and_pattern(void **state)
{
	KGB_AUTO(free) char *dir = folder(state, 0);
	static const char *const names[] = {"naive_1", "naive_2", "other"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		KGB_AUTO(free) char *run = kgb_path_join(dir, names[i]);
		write_file(run, "journal.jsonl", "");
	}
	KGB_AUTO(free) char *by_path = kgb_path_join(dir, "other");
	KGB_AUTO(free) char *by_pattern = kgb_path_join(dir, "n*_2");
	const struct {
		const char *word;
		size_t n;
		const char *message;
	} cases[] = {
		{"naive_1", 1, NULL},
		{"naive_*", 2, NULL},
		{dir, 3, NULL},
		{by_path, 1, NULL},
		{by_pattern, 1, NULL},
		{NULL, 1, NULL},
		{"naive_3", 0, "naive_1"},
		{"zz*", 0, "no run matches"},
		{"/nowhere/x", 0, "/nowhere"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT, paths = KGB_STRV_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		if (cases[i].word)
			kgb_strv_add(&words, cases[i].word);
		const int rc = kgb_runs_find(dir, &words, &paths, &err);
		assert_int_equal(rc, cases[i].message ? -1 : 0);
		assert_int_equal(paths.n, cases[i].n);
		if (cases[i].message && !strstr(err.msg, cases[i].message))
			fail_msg("%zu: %s", i, err.msg);
	}
}

/* ---- details ---- */

#define VERDICT(status, reached) "\"status\": \"" status "\", \"reached\": \"" reached "\""
#define TOKENS(n) "\"tokens\": {\"gateway\": {\"total_tokens\": " #n "}}"

/** An operator whose first attempt was lost, and whose second one passed a check and had rounds. */
static const char detailed[] =
	"{\"schema\": \"kgb.results/2\", \"operators\": {\"aten::a\": {" VERDICT("passed", "timed") ", \"speedup\": 3, " TOKENS(90) ", \"lost\": {" TOKENS(
		10) "}, \"cost_usd\": 9, \"time\": {\"agent_seconds\": 50}, "
		    "\"speedup_device\": 4, \"peak_share\": 0.25, "
		    "\"modes\": {\"standard\": {\"total\": 2, \"passed\": 2}, \"outlier\": {\"total\": 0, \"passed\": 0}}, "
		    "\"interfaces\": {\"a_Tensor\": {\"total\": 2, \"passed\": 2, \"reached\": \"timed\"}, "
		    "\"a_out\": {\"total\": 1, \"passed\": 0, \"reached\": \"compiles\"}}, "
		    "\"dtypes\": {\"float32\": {\"total\": 2, \"passed\": 2}, \"int64\": {\"total\": 1, \"passed\": 0}}, "
		    "\"timed_cases\": {\"a_Tensor/float32/big/benchmark\": {\"speedup\": {\"value\": 2}}, "
		    "\"a_Tensor/float32/more/benchmark\": {\"speedup\": {\"value\": 8}}}, "
		    "\"attempts\": [{\"number\": 1, " TOKENS(
			    10) ", \"cost_usd\": 1, \"duration_seconds\": 5}, "
				"{\"number\": 2, " TOKENS(
					90) ", \"start_time\": \"2026-11-21T08:00:00.000Z\", \"rounds\": ["
					    "{\"number\": 1, " VERDICT(
						    "failed",
						    "compiles") "}, "
								"{\"number\": 2, " VERDICT(
									"passed",
									"timed") ", \"speedup\": 3}]}], "
										 "\"verify_calls\": [{\"attempt\": 2, " VERDICT(
											 "failed",
											 "runs") "}, "
												 "{\"attempt\": 2, " VERDICT(
													 "passed",
													 "timed") ", \"time\": \"2026-11-21T08:00:07.500Z\", "
														  "\"spent\": {\"tokens\": {\"total_tokens\": 30}, \"cost_usd\": 2}}]}, "
														  "\"aten::b\": {" VERDICT(
															  "failed",
															  "core") ", \"modes\": {\"standard\": {\"total\": 2, \"passed\": 2}, "
																  "\"outlier\": {\"total\": 1, \"passed\": 0}}}, "
																  "\"aten::c\": {\"status\": \"running\"}}}";

static const char samples[] =
	"{\"operator\": \"aten::a\", \"sample\": 2, \"round\": 1, \"time\": \"2026-11-21T08:00:02.000Z\", "
	"\"seconds\": 4, \"cost_usd\": 0.5, \"tokens\": {\"total_tokens\": 7}, " VERDICT(
		"passed",
		"correct") "}\n"
			   "{\"operator\": \"aten::a\", \"sample\": 1, \"round\": 2, \"time\": \"2026-11-21T08:00:03.000Z\", "
			   "\"seconds\": 4, \"tokens\": {\"total_tokens\": 7}, " VERDICT(
				   "passed",
				   "correct") "}\n"
					      "{\"operator\": \"aten::a\", \"sample\": 1, \"round\": 1, \"time\": \"2026-11-21T08:00:01.000Z\", "
					      "\"seconds\": 2, \"cost_usd\": 0.25, \"tokens\": {\"total_tokens\": 5}, " VERDICT(
						      "failed",
						      "nothing") "}\n"
								 "{\"operator\": \"aten::gone\", \"sample\": 1}\n";

/** The run of these texts. \param lines of samples.jsonl; NULL: it has none */
static const struct kgb_run_row *read_run(void **state, size_t i, const char *lines,
					  unsigned details, struct kgb_runs *runs)
{
	KGB_AUTO(free) char *dir = folder(state, i);
	struct kgb_err err = KGB_ERR_INIT;
	write_file(dir, "results.json", detailed);
	if (lines)
		write_file(dir, "samples.jsonl", lines);
	runs->details = details;
	assert_ok(kgb_runs_read(runs, dir, &err), err);
	return &runs->list.items[runs->list.n - 1];
}

static void test_details_are_read_where_they_are_asked_for(void **state)
{
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	const struct kgb_op_row *a = &read_run(state, 0, NULL, 0, &runs)->ops.items[0];
	assert_true(a->n_steps == 0 && a->n_parts == 0);
	assert_true(a->is_run && a->speedup_device == 4 && a->peak_share == 0.25);
	assert_true(a->standard == 1 && isnan(a->outlier)); /* it has no such case */
	assert_true(a[1].standard == 1 && a[1].outlier == 0);
	assert_true(a[2].standard == 0 && a[2].outlier == 0); /* no verdict: not right */

	a = &read_run(state, 1, NULL, KGB_DETAIL_STEPS | KGB_DETAIL_PARTS, &runs)->ops.items[0];
	assert_true(a->n_steps == 2 && a->steps[0].chain == 2 && a->steps[1].round == 2);
	assert_true(a->steps[0].is_compiled && a->steps[0].has_rung && !a->steps[0].is_correct);
	assert_true(a->steps[1].is_correct && a->steps[1].speedup == 3);
	/* The lost attempt, and what the second had spent when its check passed. */
	assert_true(a->solved.tokens == 40 && a->solved.dollars == 3 && a->solved.seconds == 12.5);
	assert_true(isnan(a[1].solved.tokens));
	assert_true(a->n_parts == 4 && a->parts[0].is_correct && a->parts[2].is_dtype);
	assert_true(a->parts[0].speedup == 4 && a->parts[2].speedup == 4);
	assert_true(!a->parts[1].is_correct && isnan(a->parts[1].speedup));
	assert_true(!a->parts[3].is_correct && isnan(a->parts[3].speedup));
}

static void test_samples_are_chains_and_cost_in_the_order_of_their_answers(void **state)
{
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	const struct kgb_op_row *a =
		&read_run(state, 0, samples, KGB_DETAIL_STEPS, &runs)->ops.items[0];
	assert_int_equal(a->n_steps, 3);
	assert_true(a->steps[0].chain == 1 && a->steps[0].round == 1 && !a->steps[0].is_compiled);
	assert_true(a->steps[1].chain == 1 && a->steps[1].round == 2 && a->steps[1].is_correct);
	assert_true(a->steps[2].chain == 2 && a->steps[2].is_correct);
	assert_true(a->solved.tokens == 12 && a->solved.dollars == 0.75 && a->solved.seconds == 6);

	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *dir = folder(state, 0);
	write_file(dir, "samples.jsonl", "{\"operator\": \"aten::a\"}\nno JSON\n");
	assert_int_equal(kgb_runs_read(&runs, dir, &err), -1);
	if (!strstr(err.msg, "samples.jsonl, line 2") || !strstr(err.msg, dir))
		fail_msg("%s", err.msg);
}

/* ---- groups ---- */

/** Names of the groups of a key, joined by ";". */
static void assert_groups(struct kgb_runs *runs, const char *key, const char *wanted)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf found = KGB_BUF_INIT(0);
	kgb_groups_assign(runs, key, &names);
	for (size_t i = 0; i < names.n; i++)
		kgb_buf_addf(&found, "%s%s", i > 0 ? ";" : "", names.items[i]);
	assert_string_equal(found.ptr, wanted);
}

static void test_operators_are_grouped_by_one_key_or_several(void **state)
{
	(void)state;
	static const struct kgb_op_row rows[] = {
		{.name = "cublas::cublasSgemm_v2", .source = "cublas", .platform = "cuda"},
		{.name = "cublas::cublasZgemmStridedBatched", .source = "cublas"},
		{.name = "cublas::cublasDgemmStridedBatched_64", .source = "cublas"},
		{.name = "cublas::cublasHgemmBatched", .source = "cublas"},
		{.name = "cublas::cublasSgemmEx", .source = "cublas"},
		{.name = "aten::sum",
		 .source = "aten",
		 .status = "failed",
		 .code = "verify.mismatch"},
		{.name = "aten::mul", .source = "aten", .status = "planned", .is_replaced = true},
	};
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	KGB_VEC_ADD(&runs.list, (struct kgb_run_row){0});
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		KGB_VEC_ADD(&runs.list.items[0].ops, rows[i]);
	assert_groups(&runs, "source", "aten;cublas");
	assert_groups(&runs, "precision", "complex128;float16;float32;float64;unknown");
	assert_groups(&runs, "api",
		      "batched;mixed types;plain;strided batched;strided batched, 64 bits;unknown");
	assert_groups(&runs, "source+chip", "aten + unknown;cublas + cuda;cublas + unknown");
	assert_groups(&runs, "code", "verify.mismatch;unknown");
	const struct kgb_op_row *ops = runs.list.items[0].ops.items;
	assert_true(kgb_op_is_in(&ops[5], "verify.mismatch") && !kgb_op_is_in(&ops[5], "unknown"));
	assert_true(kgb_op_is_in(&ops[0], NULL) && !kgb_op_is_in(&ops[6], NULL)); /* replaced */
}

static void test_keys_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"source,precision+api,dtype+source", NULL},
		{"sauce", "--by 'sauce': write one or more of source, category"},
		{"source+sauce", "--by 'sauce': "},
		{"dtype+interface", "of which one is dtype or interface"},
		{"+", "--by '+': "},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(strv) struct kgb_strv keys = KGB_STRV_INIT;
		struct kgb_err err = KGB_ERR_INIT;
		const int rc = kgb_keys_parse(cases[i].text, &keys, &err);
		assert_int_equal(rc, cases[i].message ? -1 : 0);
		if (cases[i].message && !strstr(err.msg, cases[i].message))
			fail_msg("%zu: %s", i, err.msg);
		if (rc == 0)
			assert_int_equal(kgb_keys_details(&keys), KGB_DETAIL_PARTS);
	}
}

/** A verdict in one run shows the parts of an operator that has none in the other run. */
static void test_parts_count_as_operators(void **state)
{
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	KGB_AUTO(runs) struct kgb_runs split = {0};
	(void)read_run(state, 0, NULL, KGB_DETAIL_PARTS, &runs);
	struct kgb_run_row other = runs.list.items[0];
	memset(&other.ops, 0, sizeof(other.ops));
	KGB_VEC_ADD(&other.ops, (struct kgb_op_row){.name = "aten::a", .status = "timeout"});
	KGB_VEC_ADD(&runs.list, other);
	kgb_runs_split(&runs, "dtype", &split);
	assert_groups(&split, "dtype", "float32;int64;unknown"); /* b and c have no verdict */
	struct kgb_figures f;
	kgb_figures_of(&split.list.items[0], "float32", &f);
	assert_true(f.n == 1 && f.n_correct == 1 && fabs(f.of_correct.value - 4) < 1e-12);
	assert_true(isnan(f.tokens));
	kgb_figures_of(&split.list.items[1], "float32", &f);
	assert_true(f.n == 1 && f.n_correct == 0);
	kgb_figures_of(&split.list.items[1], "unknown", &f);
	assert_int_equal(f.n, 0);
	KGB_AUTO(runs) struct kgb_runs interfaces = {0};
	kgb_runs_split(&runs, "interface+source", &interfaces);
	assert_groups(&interfaces, "interface", "a_Tensor;a_out;unknown");
	kgb_figures_of(&interfaces.list.items[0], "a_out", &f);
	assert_true(f.n == 1 && f.n_compiled == 1 && f.n_run == 0 && f.n_correct == 0);
}

static void test_operators_are_kept_by_pattern(void **state)
{
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	KGB_AUTO(strv) struct kgb_strv patterns = KGB_STRV_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_run_row *run = read_run(state, 0, NULL, 0, &runs);
	KGB_STRV_ADD(&patterns, "[ac]", "vllm*::b");
	assert_ok(kgb_runs_keep(&runs, &patterns, &err), err);
	assert_true(run->ops.n == 2 && kgb_str_eq(run->ops.items[1].name, "aten::c"));
	kgb_strv_release(&patterns);
	KGB_STRV_ADD(&patterns, "vllm*");
	assert_int_equal(kgb_runs_keep(&runs, &patterns, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
}

/* ---- figures ---- */

static void test_figures_count_what_has_not_ended(void **state)
{
	(void)state;
	const struct kgb_op_row rows[] = {
		{.is_finished = true,
		 .is_compiled = true,
		 .is_core = true,
		 .is_correct = true,
		 .speedup = 2,
		 .tokens = 10,
		 .dollars = (double)NAN,
		 .agent_seconds = 1},
		{.is_finished = true,
		 .is_compiled = true,
		 .is_core = true,
		 .is_correct = true,
		 .speedup = 0.5,
		 .tokens = 5,
		 .dollars = 3,
		 .agent_seconds = 1},
		{.group = "timeout",
		 .is_finished = true,
		 .is_compiled = true,
		 .speedup = (double)NAN,
		 .tokens = (double)NAN,
		 .dollars = 1,
		 .agent_seconds = 1},
		{.speedup = (double)NAN,
		 .tokens = (double)NAN,
		 .dollars = (double)NAN,
		 .agent_seconds = (double)NAN},
		{.is_replaced = true, .is_correct = true, .speedup = 9, .tokens = 9, .dollars = 9},
	};
	struct kgb_run_row run = {0};
	struct kgb_figures f;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		KGB_VEC_ADD(&run.ops, rows[i]);
	kgb_figures_of(&run, NULL, &f);
	assert_true(f.n == 4 && f.n_finished == 3 && f.n_compiled == 3 && f.n_core == 2);
	assert_true(f.n_correct == 2 && f.correct.value == 0.5 && f.n_slower == 1);
	assert_true(f.of_correct.n == 2 && fabs(f.of_correct.value - 1) < 1e-15);
	assert_true(f.with_fallback.n == 4 && f.median_speedup == 1.25);
	assert_true(f.fast[0] == 1 && f.fast[2] == 1 && f.fast[5] == 0); /* 0.5, 1, 2: strictly */
	assert_true(f.tokens == 15 && f.dollars == 4 && f.seconds == 3);
	kgb_figures_of(&run, "timeout", &f);
	assert_true(f.n == 1 && f.n_compiled == 1 && f.n_correct == 0 && f.dollars == 1);
	kgb_figures_of(&run, "none", &f);
	assert_true(f.n == 0 && isnan(f.correct.value) && isnan(f.tokens));
	KGB_VEC_RELEASE(&run.ops);
}

/* ---- tables ---- */

static const struct kgb_table_column two_parts[] = {
	{"name", "name", NULL},      {"hidden", NULL, NULL},       {"n", "count", "First"},
	{"empty", "empty", "First"}, {"share", "share", "Second"},
};

static void test_a_table_in_four_forms(void **state)
{
	(void)state;
	KGB_AUTO(table) struct kgb_table table = KGB_TABLE(two_parts);
	kgb_table_word(&table, "=a|b,\"c\"");
	kgb_table_word(&table, "x");
	kgb_table_number(&table, 1200, "%s", "1.2k");
	kgb_table_number(&table, (double)NAN, "%s", "nan");
	kgb_table_number(&table, 0.5, "%.1f %%", 50.0);
	kgb_table_word(&table, NULL);
	kgb_table_word(&table, "\033[2J");
	kgb_table_number(&table, 7, "%d", 7);
	kgb_table_word(&table, NULL);
	kgb_table_number(&table, (double)NAN, "%s", "nan");
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_table_text(&table, 80, &out);
	assert_string_equal(out.ptr, "First\n"
				     "name      count\n"
				     "=a|b,\"c\"   1.2k\n"
				     "-             7\n"
				     "\n"
				     "Second\n"
				     "name       share\n"
				     "=a|b,\"c\"  50.0 %\n"
				     "-              -\n");
	kgb_buf_clear(&out);
	kgb_table_markdown(&table, &out);
	assert_string_equal(out.ptr, "First:\n\n"
				     "| name | count |\n"
				     "|---|--:|\n"
				     "| =a\\|b,\"c\" | 1.2k |\n"
				     "| - | 7 |\n"
				     "\n"
				     "Second:\n\n"
				     "| name | share |\n"
				     "|---|--:|\n"
				     "| =a\\|b,\"c\" | 50.0 % |\n"
				     "| - | - |\n");
	kgb_buf_clear(&out);
	kgb_table_csv(&table, &out);
	assert_string_equal(out.ptr, "name,hidden,n,empty,share\n"
				     "\"'=a|b,\"\"c\"\"\",x,1200,,0.5\n"
				     ",\\x1b[2J,7,,\n");
	kgb_buf_clear(&out);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &out, 0);
	kgb_table_json(&table, &w);
	assert_string_equal(
		out.ptr,
		"[{\"name\":\"=a|b,\\\"c\\\"\",\"hidden\":\"x\",\"n\":1200,\"empty\":null,\"share\":0.5},"
		"{\"name\":null,\"hidden\":\"\\u001b[2J\",\"n\":7,\"empty\":null,\"share\":null}]");
}

static void test_what_drives_a_terminal_is_shown_in_each_table(void **state)
{
	(void)state;
	static const struct kgb_table_column columns[] = {{"a", "a", NULL}};
	static const struct {
		const char *word, *text, *markdown, *csv;
	} rows[] = {
		{"\033]0;x\007", "\\x1b]0;x\\x07", "\\\\x1b]0;x\\\\x07", "\\x1b]0;x\\x07"},
		{"a\r\nb,c", "a\\r\\nb,c", "a\\\\r\\\\nb,c", "\"a\\r\\nb,c\""},
		{"\t=1", "\\t=1", "\\\\t=1", "\\t=1"},
		{"-\n\"", "-\\n\"", "-\\\\n\"", "\"'-\\n\"\"\""},
		{"\xe2\x80\xae"
		 "abc",
		 "\\xe2\\x80\\xae"
		 "abc",
		 "\\\\xe2\\\\x80\\\\xae"
		 "abc",
		 "\\xe2\\x80\\xae"
		 "abc"},
		{"caf\xc3\xa9 \xff", "caf\xc3\xa9 \\xff", "caf\xc3\xa9 \\\\xff",
		 "caf\xc3\xa9 \\xff"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(table) struct kgb_table table = KGB_TABLE(columns);
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0), wanted = KGB_BUF_INIT(0);
		kgb_table_word(&table, rows[i].word);
		kgb_table_text(&table, 80, &out);
		kgb_table_markdown(&table, &out);
		kgb_table_csv(&table, &out);
		kgb_buf_addf(&wanted, "a\n%s\n| a |\n|---|\n| %s |\na\n%s\n", rows[i].text,
			     rows[i].markdown, rows[i].csv);
		assert_string_equal(out.ptr, wanted.ptr);
	}
}

static void test_a_wide_row_has_its_first_column_cut(void **state)
{
	(void)state;
	static const struct kgb_table_column columns[] = {{"a", "a", NULL}, {"b", "b", NULL}};
	KGB_AUTO(table) struct kgb_table table = KGB_TABLE(columns);
	kgb_table_word(&table, "a name of thirty characters...");
	kgb_table_number(&table, 5, "%s", "five");
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	kgb_table_text(&table, 24, &out);
	assert_string_equal(out.ptr, "a                      b\na name of thirty ~  five\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_outline_leaves_heavy_members_out),
		cmocka_unit_test_setup_teardown(
			test_a_run_is_the_same_from_its_journal_and_its_results, tmpdir_setup,
			remove_folder),
		cmocka_unit_test_setup_teardown(test_a_broken_file_is_named, tmpdir_setup,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_runs_are_found_by_name_folder_and_pattern,
						tmpdir_setup, remove_folder),
		cmocka_unit_test_setup_teardown(test_details_are_read_where_they_are_asked_for,
						tmpdir_setup, remove_folder),
		cmocka_unit_test_setup_teardown(
			test_samples_are_chains_and_cost_in_the_order_of_their_answers,
			tmpdir_setup, remove_folder),
		cmocka_unit_test(test_operators_are_grouped_by_one_key_or_several),
		cmocka_unit_test(test_keys_are_checked),
		cmocka_unit_test_setup_teardown(test_parts_count_as_operators, tmpdir_setup,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_operators_are_kept_by_pattern, tmpdir_setup,
						remove_folder),
		cmocka_unit_test(test_figures_count_what_has_not_ended),
		cmocka_unit_test(test_a_table_in_four_forms),
		cmocka_unit_test(test_what_drives_a_terminal_is_shown_in_each_table),
		cmocka_unit_test(test_a_wide_row_has_its_first_column_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
