/* SPDX-License-Identifier: MIT */
#include "agent/cli/selection.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "agent/store/journal.h"
#include "agent/store/rundir.h"
#include "agent/store/series.h"
#include "agent/store/state.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"

struct picks {
	const struct kgb_selection *selection;
	const struct kgb_spec_index *index;
	struct kgb_strv *names, *paths;
	struct kgb_faults *faults;
};

static bool is_pattern(const char *word)
{
	return strpbrk(word, "*?[") != NULL;
}

bool kgb_selection_has_filter(const struct kgb_selection *selection)
{
	return selection->source || selection->category || selection->failed_of ||
	       selection->not_in;
}

bool kgb_selection_is_open(const struct kgb_selection *selection)
{
	const struct kgb_strv *words = selection->words;
	for (size_t i = 0; i < words->n; i++)
		if (is_pattern(words->items[i]) || kgb_str_eq(words->items[i], "all"))
			return true;
	return words->n == 0 || kgb_selection_has_filter(selection);
}

/* ---- words ---- */

static void pick(struct picks *picks, const char *name, const char *path)
{
	if (kgb_strv_has(picks->names, name))
		return;
	kgb_strv_add(picks->names, name);
	kgb_strv_add(picks->paths, path);
}

/** A pattern is matched with the whole name, the safe one and the bare one. */
static bool matches(const char *pattern, const char *name)
{
	KGB_AUTO(free) char *safe = kgb_safe_name(name);
	const char *colons = strstr(name, "::");
	return fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, safe, 0) == 0 ||
	       (colons && fnmatch(pattern, colons + 2, 0) == 0);
}

static int pick_matches(struct picks *picks, const char *pattern, struct kgb_err *err)
{
	const struct kgb_spec_index *index = picks->index;
	size_t n = 0;
	for (size_t i = 0; i < index->names.n; i++) {
		if (!matches(pattern, index->names.items[i]))
			continue;
		pick(picks, index->names.items[i], index->paths.items[i]);
		n++;
	}
	if (n > 0)
		return 0;
	return kgb_fail(err, KGB_ERR_INVALID,
			"no operator matches '%.80s'; `kgb-agent list` lists the operators",
			pattern);
}

/** A word that is no file. */
static int pick_word(struct picks *picks, const char *word, struct kgb_err *err)
{
	const char *name = NULL, *path = NULL;
	if (kgb_str_eq(word, "all"))
		return pick_matches(picks, "*", err);
	if (is_pattern(word))
		return pick_matches(picks, word, err);
	if (kgb_spec_index_find(picks->index, word, &name, &path, err) < 0)
		return -1;
	pick(picks, name, path);
	return 0;
}

static void add_fault(struct picks *picks, const struct kgb_err *err)
{
	KGB_VEC_ADD(&picks->faults->list, *err);
}

/** The word on a line of a file, without comment and blanks around it; malloc'ed. */
static char *word_of(const char *line, size_t len)
{
	static const char blanks[] = " \t\r";
	const char *comment = memchr(line, '#', len);
	if (comment)
		len = (size_t)(comment - line);
	while (len > 0 && strchr(blanks, line[len - 1]))
		len--;
	while (len > 0 && strchr(blanks, *line)) {
		line++;
		len--;
	}
	return kgb_xstrndup(line, len);
}

/** Every line of a file that is wrong is a fault. */
static void pick_file(struct picks *picks, const char *file)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);
	struct kgb_err err = KGB_ERR_INIT;
	const size_t n_before = picks->names->n, n_faults = picks->faults->list.n;
	size_t number = 0;
	if (kgb_fs_read(AT_FDCWD, file, KGB_LIMIT_YAML, &text, &err) < 0) {
		kgb_ctx(&err, "@%s", file);
		add_fault(picks, &err);
		return;
	}
	for (const char *line = text.ptr; *line; number++) {
		const size_t len = strcspn(line, "\n");
		KGB_AUTO(free) char *word = word_of(line, len);
		struct kgb_err wrong = KGB_ERR_INIT;
		line += len + (line[len] == '\n');
		if (!*word)
			continue;
		const int rc = *word == '@' ? kgb_fail(&wrong, KGB_ERR_INVALID,
						       "'%.80s': a file names no other file", word)
					    : pick_word(picks, word, &wrong);
		if (rc == 0)
			continue;
		kgb_ctx(&wrong, "%s:%zu", file, number + 1);
		add_fault(picks, &wrong);
	}
	if (picks->names->n == n_before && n_before == 0 && picks->faults->list.n == n_faults) {
		kgb_fail(&err, KGB_ERR_INVALID, "@%s names no operator", file);
		add_fault(picks, &err);
	}
}

static void pick_words(struct picks *picks)
{
	const struct kgb_selection *selection = picks->selection;
	const struct kgb_strv *words = selection->words;
	struct kgb_err err = KGB_ERR_INIT;
	if (words->n == 0 && pick_word(picks, "all", &err) < 0)
		add_fault(picks, &err);
	for (size_t i = 0; i < words->n; i++) {
		struct kgb_err unknown = KGB_ERR_INIT;
		if (*words->items[i] == '@') {
			pick_file(picks, words->items[i] + 1);
			continue;
		}
		if (pick_word(picks, words->items[i], &unknown) == 0)
			continue;
		if (selection->explain && kgb_str_starts(unknown.msg, "unknown operator"))
			selection->explain(selection->payload, i, &unknown);
		add_fault(picks, &unknown);
	}
}

/* ---- filters ---- */

/** The condition of a filter: a value of the operator's spec, or its outcome in runs. */
struct filter {
	struct kgb_strv wanted; /* values, or runs and series */
	size_t offset; /* of the value in struct kgb_spec */
	KGB_VEC(struct kgb_run_state) runs;
	bool (*keeps)(const struct filter *filter, const char *name); /* NULL: the value decides */
};

static const char *field_of(const struct filter *filter, const struct kgb_spec *spec)
{
	const char *const *field =
		(const char *const *)(const void *)((const char *)spec + filter->offset);
	return *field;
}

static bool has_value(const struct filter *filter, const struct kgb_spec *spec)
{
	for (size_t i = 0; i < filter->wanted.n; i++)
		if (strcasecmp(filter->wanted.items[i], field_of(filter, spec)) == 0)
			return true;
	return false;
}

/** A run has it, and it passed in none. */
static bool has_failed(const struct filter *filter, const char *name)
{
	bool is_in_one = false;
	KGB_VEC_FOREACH(run, &filter->runs) {
		const struct kgb_op_state *op = kgb_run_state_op(run, name);
		if (op && op->status == KGB_OP_PASSED && !kgb_op_is_replaced(op))
			return false;
		is_in_one = is_in_one || op;
	}
	return is_in_one;
}

static bool is_not_in(const struct filter *filter, const char *name)
{
	KGB_VEC_FOREACH(run, &filter->runs)
		if (kgb_run_state_op(run, name))
			return false;
	return true;
}

/** A value of no operator of the dataset is a typo. */
static int check_values(const struct filter *filter, const struct kgb_strv *known,
			struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf all = KGB_BUF_INIT(0);
	for (size_t i = 0; i < known->n; i++)
		kgb_buf_addf(&all, "%s%s", i > 0 ? ", " : "", known->items[i]);
	for (size_t i = 0; i < filter->wanted.n; i++) {
		bool is_known = false;
		for (size_t k = 0; k < known->n && !is_known; k++)
			is_known = strcasecmp(known->items[k], filter->wanted.items[i]) == 0;
		if (!is_known)
			return kgb_fail(err, KGB_ERR_INVALID, "'%.80s' is none of %s",
					filter->wanted.items[i], all.ptr);
	}
	return 0;
}

static int read_run(const struct picks *picks, struct filter *filter, const char *name,
		    struct kgb_err *err)
{
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	KGB_VEC_ADD(&filter->runs, (struct kgb_run_state)KGB_RUN_STATE_INIT);
	return kgb_rundir_open(&dir, picks->selection->runs_dir, name, KGB_RUNDIR_READ, err) < 0 ||
			       kgb_journal_read(dir.fd, kgb_run_state_fold,
						&filter->runs.items[filter->runs.n - 1], NULL,
						err) < 0
		       ? -1
		       : 0;
}

/** The runs that are wanted; of a series all of its runs. */
static int read_runs(const struct picks *picks, struct filter *filter, struct kgb_err *err)
{
	if (filter->wanted.n == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "name a run, or several: RUN,RUN");
	for (size_t i = 0; i < filter->wanted.n; i++) {
		const char *word = filter->wanted.items[i];
		KGB_AUTO(strv) struct kgb_strv runs = KGB_STRV_INIT;
		KGB_AUTO(free) char *series = NULL;
		if (kgb_series_find(picks->selection->runs_dir, word, &series, &runs, err) < 0)
			return -1;
		if (!series)
			kgb_strv_add(&runs, word);
		for (size_t k = 0; k < runs.n; k++)
			if (read_run(picks, filter, runs.items[k], err) < 0)
				return -1;
	}
	return 0;
}

/** The operators of the dataset that a filter of specs keeps. */
static int find_kept(const struct picks *picks, const struct filter *filter, struct kgb_strv *kept,
		     struct kgb_err *err)
{
	const struct kgb_spec_index *index = picks->index;
	KGB_AUTO(strv) struct kgb_strv known = KGB_STRV_INIT;
	for (size_t i = 0; i < index->paths.n; i++) {
		struct kgb_spec spec;
		if (kgb_spec_load(index->paths.items[i], &spec, err) < 0)
			return -1;
		if (!kgb_strv_has(&known, field_of(filter, &spec)))
			kgb_strv_add(&known, field_of(filter, &spec));
		if (has_value(filter, &spec))
			kgb_strv_add(kept, index->names.items[i]);
		kgb_spec_release(&spec);
	}
	kgb_strv_sort(&known);
	return check_values(filter, &known, err);
}

/** Keep the picks that the filter keeps. */
static int sift(struct picks *picks, const struct filter *filter, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv kept = KGB_STRV_INIT;
	struct kgb_strv names = KGB_STRV_INIT, paths = KGB_STRV_INIT;
	if (!filter->keeps && find_kept(picks, filter, &kept, err) < 0)
		return -1;
	for (size_t i = 0; i < picks->names->n; i++) {
		const char *name = picks->names->items[i];
		if (!(filter->keeps ? filter->keeps(filter, name) : kgb_strv_has(&kept, name)))
			continue;
		kgb_strv_add(&names, name);
		kgb_strv_add(&paths, picks->paths->items[i]);
	}
	kgb_strv_release(picks->names);
	kgb_strv_release(picks->paths);
	*picks->names = names;
	*picks->paths = paths;
	return 0;
}

static void apply_filters(struct picks *picks)
{
	const struct kgb_selection *selection = picks->selection;
	const struct {
		const char *option, *value;
		size_t offset;
		bool (*keeps)(const struct filter *filter, const char *name);
	} rows[] = {{"--source", selection->source, offsetof(struct kgb_spec, source), NULL},
		    {"--category", selection->category, offsetof(struct kgb_spec, category), NULL},
		    {"--failed-of", selection->failed_of, 0, has_failed},
		    {"--not-in", selection->not_in, 0, is_not_in}};
	KGB_AUTO(buf) struct kgb_buf story = KGB_BUF_INIT(0);
	kgb_buf_addf(&story, "no operator is left: %zu named", picks->names->n);
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows) && picks->faults->list.n == 0; i++) {
		struct filter filter = {.offset = rows[i].offset, .keeps = rows[i].keeps};
		struct kgb_err err = KGB_ERR_INIT;
		if (!rows[i].value)
			continue;
		kgb_strv_split(&filter.wanted, rows[i].value, ',');
		if ((filter.keeps && read_runs(picks, &filter, &err) < 0) ||
		    sift(picks, &filter, &err) < 0) {
			kgb_ctx(&err, "%s", rows[i].option);
			add_fault(picks, &err);
		}
		kgb_buf_addf(&story, ", %zu after %s %s", picks->names->n, rows[i].option,
			     rows[i].value);
		KGB_VEC_FOREACH(run, &filter.runs)
			kgb_run_state_release(run);
		KGB_VEC_RELEASE(&filter.runs);
		kgb_strv_release(&filter.wanted);
	}
	if (picks->names->n > 0 || picks->faults->list.n > 0)
		return;
	struct kgb_err none = KGB_ERR_INIT;
	(void)kgb_fail(&none, KGB_ERR_INVALID, "%s", story.ptr);
	add_fault(picks, &none);
}

void kgb_select(const struct kgb_selection *selection, const struct kgb_spec_index *index,
		struct kgb_strv *names, struct kgb_strv *paths, struct kgb_faults *faults)
{
	struct picks picks = {.selection = selection,
			      .index = index,
			      .names = names,
			      .paths = paths,
			      .faults = faults};
	pick_words(&picks);
	if (kgb_selection_has_filter(selection))
		apply_filters(&picks);
}
