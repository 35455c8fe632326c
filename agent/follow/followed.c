/* SPDX-License-Identifier: MIT */
#include "agent/follow/followed.h"

#include <string.h>

#include "agent/store/series.h"
#include "base/mem.h"

static void show(struct kgb_followed *followed, bool is_series)
{
	followed->shown_runs = kgb_xcalloc(followed->n, sizeof(*followed->shown_runs));
	for (size_t i = 0; i < followed->n; i++)
		followed->shown_runs[i] = (struct kgb_shown_run){
			.state = &followed->runs[i].state,
			.label = is_series ? followed->runs[i].dir.name : NULL,
			.is_cut_off = kgb_followed_run_is_cut_off(&followed->runs[i])};
	followed->shown = (struct kgb_shown){
		.name = is_series ? strrchr(followed->path, '/') + 1 : NULL,
		.runs = followed->shown_runs,
		.n = followed->n,
	};
}

int kgb_followed_open(struct kgb_followed *out, const char *runs_dir, const char *name,
		      struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	struct kgb_followed followed = {0};
	if (kgb_series_find(runs_dir, name, &followed.path, &paths, err) < 0)
		return -1;
	const bool is_series = followed.path != NULL;
	const size_t n = is_series ? paths.n : 1;
	followed.runs = kgb_xcalloc(n, sizeof(*followed.runs));
	for (; followed.n < n; followed.n++)
		if (kgb_followed_run_open(&followed.runs[followed.n], runs_dir,
					  is_series ? paths.items[followed.n] : name, err) < 0) {
			kgb_followed_release(&followed);
			return -1;
		}
	if (!is_series)
		followed.path = kgb_xstrdup(followed.runs[0].dir.path);
	show(&followed, is_series);
	*out = followed;
	return 0;
}

int kgb_followed_read(struct kgb_followed *followed, kgb_followed_fn fn, void *payload,
		      struct kgb_err *err)
{
	for (size_t i = 0; i < followed->n; i++) {
		if (kgb_followed_run_read(&followed->runs[i], fn, payload, err) < 0)
			return -1;
		followed->shown_runs[i].is_cut_off =
			kgb_followed_run_is_cut_off(&followed->runs[i]);
	}
	return 0;
}

bool kgb_followed_is_held(const struct kgb_followed *followed)
{
	for (size_t i = 0; i < followed->n; i++)
		if (followed->runs[i].is_held)
			return true;
	return false;
}

bool kgb_followed_is_cut_off(const struct kgb_followed *followed)
{
	for (size_t i = 0; i < followed->n; i++)
		if (kgb_followed_run_is_cut_off(&followed->runs[i]))
			return true;
	return false;
}

int64_t kgb_followed_n_records(const struct kgb_followed *followed)
{
	int64_t n = 0;
	for (size_t i = 0; i < followed->n; i++)
		n += followed->runs[i].read.n_records;
	return n;
}

void kgb_followed_release(struct kgb_followed *followed)
{
	for (size_t i = 0; i < followed->n; i++)
		kgb_followed_run_release(&followed->runs[i]);
	kgb_free(followed->runs);
	kgb_free(followed->shown_runs);
	kgb_free(followed->path);
}
