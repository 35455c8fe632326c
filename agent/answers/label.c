/* SPDX-License-Identifier: MIT */
#include "agent/answers/runs.h"
#include "agent/report/common.h"

/* A longer word, such as the whole name of a run, is no label. */
#define WORD_MAX 24

static bool are_equal(const char *a, const char *b)
{
	return a == b || kgb_str_eq(a, b);
}

bool kgb_run_rows_are_repeats(const struct kgb_run_row *a, const struct kgb_run_row *b)
{
	return are_equal(a->method, b->method) && are_equal(a->model, b->model) &&
	       a->is_offline == b->is_offline;
}

static void add_label(const struct kgb_run_row *const *rows, size_t n, size_t which,
		      struct kgb_strv *labels)
{
	const struct kgb_run_row *row = rows[which];
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	size_t n_of_method = 0, n_repeats = 0, n_of_word = 0, number = 0;
	for (size_t i = 0; i < n; i++) {
		const bool is_repeat = kgb_run_rows_are_repeats(rows[i], row);
		n_of_method += are_equal(rows[i]->method, row->method);
		n_of_word += are_equal(rows[i]->word, row->word);
		n_repeats += is_repeat;
		number += is_repeat && i <= which;
	}
	kgb_buf_adds(&text, row->method ? row->method : "run");
	if (n_repeats < n_of_method)
		kgb_buf_addf(&text, " %s%s", row->model ? row->model : "-",
			     row->is_offline ? " " KGB_MARK_OFFLINE : "");
	if (n_repeats > 1 && n_of_word == 1 && row->word && strlen(row->word) <= WORD_MAX)
		kgb_strv_add(labels, row->word);
	else if (n_repeats > 1)
		kgb_strv_addf(labels, "%s #%zu", text.ptr, number);
	else
		kgb_strv_add(labels, text.ptr);
}

void kgb_run_rows_label(const struct kgb_run_row *const *rows, size_t n, struct kgb_strv *labels)
{
	for (size_t i = 0; i < n; i++)
		add_label(rows, n, i, labels);
}

void kgb_runs_label(const struct kgb_runs *runs, struct kgb_strv *labels)
{
	KGB_VEC(const struct kgb_run_row *) rows = {0};
	KGB_VEC_FOREACH(run, &runs->list)
		KGB_VEC_ADD(&rows, run);
	kgb_run_rows_label(rows.items, rows.n, labels);
	KGB_VEC_RELEASE(&rows);
}
