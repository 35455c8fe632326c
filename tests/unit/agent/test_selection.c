/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include "agent/cli/selection.h"
#include "agent/store/journal.h"
#include "agent/store/rundir.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"

/* Words and names in a row are separated by blanks; `names` may be a number of operators. A fault
 * is a part of each message, separated by '|'. */
struct row {
	const char *words;
	const char *source, *category, *failed_of, *not_in;
	const char *names;
	const char *faults;
};

/* The run `story` has add (passed), mm (timeout), silu (cheated) and sum (planned); the runs of the
 * series `both` are the same, and another one, which has mm (passed), sum (failed) and log10
 * (planned) and is also the run `later`. */
static const struct row rows[] = {
	{"", .names = "210"},
	{"all", .names = "210"},
	{"mm add", .names = "aten::mm aten::add"},
	{"add aten::add aten__add", .names = "aten::add"},
	/* patterns: of the whole name, the safe one and the bare one */
	{"aten::log*",
	 .names = "aten::log10 aten::log_sigmoid_backward aten::logaddexp2 aten::logit"},
	{"aten__log1*", .names = "aten::log10"},
	{"log1[0-9]", .names = "aten::log10"},
	{"aten::*", .names = "110"},
	{"mm log1?", .names = "aten::mm aten::log10"},
	{"x*y", .faults = "no operator matches 'x*y'"},
	/* files */
	{"@good.txt", .names = "aten::mm aten::log10 aten::add"},
	{"add @good.txt", .names = "aten::add aten::mm aten::log10"},
	{"@bad.txt",
	 .faults =
		 "bad.txt:2: unknown operator 'ad'|bad.txt:4: '@good.txt': a file names no other file"},
	{"@empty.txt", .faults = "empty.txt names no operator"},
	{"@none.txt", .faults = "none.txt"},
	/* filters */
	{"", .source = "aten", .names = "110"},
	{"", .source = "aten,CUBLAS", .names = "160"},
	{"", .category = "normalization", .source = "aten", .names = "1"},
	{"add mm", .category = "MatrixMultiply", .names = "aten::mm"},
	{"", .source = "atem", .faults = "--source: 'atem' is none of aten, cublas, vllm"},
	{"", .category = "reduces", .faults = "--category: 'reduces' is none of Activation"},
	{"", .failed_of = "story", .names = "aten::mm aten::silu aten::sum"},
	{"all", .failed_of = "story", .category = "Activation", .names = "aten::silu"},
	{"add silu log10", .not_in = "story", .names = "aten::log10"},
	{"", .not_in = "story", .names = "206"},
	{"add", .failed_of = "story",
	 .faults = "no operator is left: 1 named, 0 after --failed-of story"},
	{"", .failed_of = "stori", .faults = "--failed-of: there is no run 'stori'"},
	/* of several runs: what none of them passed, what none of them has */
	{"", .failed_of = "story,later", .names = "aten::log10 aten::silu aten::sum"},
	{"", .failed_of = "later", .names = "aten::log10 aten::sum"},
	{"", .failed_of = "both", .names = "aten::log10 aten::silu aten::sum"},
	{"", .failed_of = "both/story-1,story", .names = "aten::mm aten::silu aten::sum"},
	{"add mm log10 logit", .not_in = "later,story", .names = "aten::logit"},
	{"add mm log10 logit", .not_in = "both", .names = "aten::logit"},
	{"", .failed_of = "story,latter", .faults = "--failed-of: there is no run 'latter'"},
	{"", .not_in = ",", .faults = "--not-in: name a run, or several: RUN,RUN"},
	/* all faults at once, and no filter before the names are right */
	{"ad @bad.txt", .source = "x", .faults = "unknown operator 'ad'|bad.txt:2: |bad.txt:4: "},
};

static const struct {
	const char *type, *data;
} later[] = {
	{"run_started",
	 "{\"run\":\"later\",\"dataset\":\"KernelGenBench\",\"method\":\"kernels\"}"},
	{"planned", "{\"operators\":[{\"name\":\"aten::mm\",\"safe_name\":\"aten__mm\"},"
		    "{\"name\":\"aten::sum\",\"safe_name\":\"aten__sum\"},"
		    "{\"name\":\"aten::log10\",\"safe_name\":\"aten__log10\"}]}"},
	{"kernel_adopted",
	 "{\"operator\":\"aten::mm\",\"kernel_sha256\":\"00\",\"origin\":\"/k\"}"},
	{"kernel_adopted",
	 "{\"operator\":\"aten::sum\",\"kernel_sha256\":\"00\",\"origin\":\"/k\"}"},
	{"verify_started",
	 "{\"operator\":\"aten::mm\",\"kernel_sha256\":\"00\",\"device\":\"cpu\"}"},
	{"verified",
	 "{\"operator\":\"aten::mm\",\"verdict\":{\"status\":\"passed\",\"kernel_sha256\":\"00\"},"
	 "\"path\":\"v.json\"}"},
	{"verify_started",
	 "{\"operator\":\"aten::sum\",\"kernel_sha256\":\"00\",\"device\":\"cpu\"}"},
	{"verified",
	 "{\"operator\":\"aten::sum\",\"verdict\":{\"status\":\"failed\",\"code\":\"verify.mismatch\","
	 "\"kernel_sha256\":\"00\"},\"path\":\"v.json\"}"},
};

static void write_file(const struct scratch *scratch, const char *folder, const char *name,
		       const struct kgb_buf *text)
{
	KGB_AUTO(free) char *path = kgb_path_join(folder, name);
	assert_ok(kgb_fs_mkdirs(scratch->fd, folder, 0755, err));
	assert_ok(kgb_fs_write_atomic(scratch->fd, path, text->ptr, text->len, 0644, false, err));
}

static void write_runs(const struct scratch *scratch)
{
	KGB_AUTO(run_state) struct kgb_run_state state = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf of_story = KGB_BUF_INIT(0), of_later = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf series = KGB_BUF_INIT(0);
	fold_story(&state, &of_story);
	for (size_t i = 0; i < KGB_ARRAY_LEN(later); i++)
		add_line(&of_later, (int64_t)i + 1, "2026-11-22T08:00:00.000Z", later[i].type,
			 later[i].data);
	kgb_buf_adds(&series, "{\"schema\":\"kgb.series/1\",\"runs\":[\"story-1\",\"later-1\"]}\n");
	write_file(scratch, "story", KGB_JOURNAL_NAME, &of_story);
	write_file(scratch, "later", KGB_JOURNAL_NAME, &of_later);
	write_file(scratch, "both", KGB_SERIES_NAME, &series);
	write_file(scratch, "both/story-1", KGB_JOURNAL_NAME, &of_story);
	write_file(scratch, "both/later-1", KGB_JOURNAL_NAME, &of_later);
}

static void write_files(const struct scratch *scratch)
{
	static const char *const files[][2] = {
		{"good.txt", "# a list\nmm\r\n  log1? # a pattern\n\nadd\nmm"},
		{"bad.txt", "mm\nad\n#\n@good.txt\n"},
		{"empty.txt", "\n# nothing\n"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(files); i++)
		assert_ok(kgb_fs_write_atomic(scratch->fd, files[i][0], files[i][1],
					      strlen(files[i][1]), 0644, false, err));
}

static void check_names(const struct row *row, const struct kgb_strv *names,
			const struct kgb_strv *paths)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	int64_t n = 0;
	assert_int_equal(names->n, paths->n);
	if (kgb_parse_i64(row->names, 0, 1000, &n, NULL) == 0) {
		if (names->n != (size_t)n)
			fail_msg("'%s': %zu operators, wanted %s", row->words, names->n,
				 row->names);
		return;
	}
	for (size_t i = 0; i < names->n; i++)
		kgb_buf_addf(&got, "%s%s", i > 0 ? " " : "", names->items[i]);
	assert_string_equal(got.ptr, row->names);
}

static void check_faults(const struct row *row, const struct kgb_faults *faults)
{
	KGB_AUTO(strv) struct kgb_strv wanted = KGB_STRV_INIT;
	kgb_strv_split(&wanted, row->faults ? row->faults : "", '|');
	for (size_t i = 0; i < faults->list.n || i < wanted.n; i++) {
		const char *got = i < faults->list.n ? faults->list.items[i].msg : "(none)";
		const char *part = i < wanted.n ? wanted.items[i] : "(none)";
		if (i >= wanted.n || !strstr(got, part))
			fail_msg("'%s': '%s', wanted '%s'", row->words, got, part);
	}
}

static void test_words_choose_and_filters_leave_out(void **state)
{
	(void)state;
	struct scratch scratch;
	struct kgb_spec_index index = {0};
	make_scratch(&scratch);
	write_files(&scratch);
	write_runs(&scratch);
	assert_ok(kgb_spec_index_load(KGB_TEST_SOURCE_DIR, "KernelGenBench", &index, err));
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(strv) struct kgb_strv bare = KGB_STRV_INIT, words = KGB_STRV_INIT;
		KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT, paths = KGB_STRV_INIT;
		struct kgb_faults faults = {0};
		kgb_strv_split(&bare, rows[i].words, ' ');
		for (size_t k = 0; k < bare.n; k++)
			kgb_strv_addf(&words, "%s%s%s%s", *bare.items[k] == '@' ? "@" : "",
				      *bare.items[k] == '@' ? scratch.path : "",
				      *bare.items[k] == '@' ? "/" : "",
				      bare.items[k] + (*bare.items[k] == '@'));
		const struct kgb_selection selection = {.words = &words,
							.source = rows[i].source,
							.category = rows[i].category,
							.failed_of = rows[i].failed_of,
							.not_in = rows[i].not_in,
							.runs_dir = scratch.path};
		kgb_select(&selection, &index, &names, &paths, &faults);
		check_faults(&rows[i], &faults);
		if (rows[i].names)
			check_names(&rows[i], &names, &paths);
		KGB_VEC_RELEASE(&faults.list);
	}
	kgb_spec_index_release(&index);
	drop_scratch(&scratch);
}

static void test_who_names_each_operator_wants_none_left_out(void **state)
{
	(void)state;
	static const struct {
		const char *words, *source;
		bool is_open;
	} cases[] = {{"", NULL, true},        {"add", NULL, false}, {"add mm", "aten", true},
		     {"add all", NULL, true}, {"lo*", NULL, true},  {"@file", NULL, false}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT;
		kgb_strv_split(&words, cases[i].words, ' ');
		const struct kgb_selection selection = {.words = &words, .source = cases[i].source};
		assert_int_equal(kgb_selection_is_open(&selection), cases[i].is_open);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_choose_and_filters_leave_out),
		cmocka_unit_test(test_who_names_each_operator_wants_none_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
