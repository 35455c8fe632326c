/* SPDX-License-Identifier: MIT */
#include "agent/analysis/analysis.h"

static void each_group_of(struct kgb_analysis *a, const char *key, kgb_group_fn fn,
			  struct kgb_table *table)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(runs) struct kgb_runs split = {0};
	struct kgb_runs *runs = a->runs;
	if (kgb_key_splits(key)) {
		kgb_runs_split(a->runs, key, &split);
		runs = &split;
	}
	kgb_groups_assign(runs, key, &names);
	for (size_t i = 0; i < names.n; i++) {
		const struct kgb_group group = {runs, key, names.items[i]};
		fn(a, &group, table);
	}
}

void kgb_analysis_each(struct kgb_analysis *a, kgb_group_fn fn, struct kgb_table *table)
{
	const struct kgb_group all = {a->runs, "all", NULL};
	fn(a, &all, table);
	for (size_t i = 0; i < a->keys.n; i++)
		each_group_of(a, a->keys.items[i], fn, table);
}

void kgb_analysis_begin(const struct kgb_analysis *a, const struct kgb_group *group, size_t run,
			struct kgb_table *table)
{
	kgb_table_word(table, a->runs->list.items[run].name);
	kgb_table_word(table, a->labels.items[run]);
	kgb_table_word(table, group->by);
	kgb_table_word(table, group->name ? group->name : "all");
}
