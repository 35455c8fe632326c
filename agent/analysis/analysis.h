/* SPDX-License-Identifier: MIT */
/** \file
 * The tables of `analyze`. Each is a view: its columns, the details that it needs, and a function
 * that adds its rows. A view is one file, NAME.c. */
#ifndef KGB_AGENT_ANALYSIS_ANALYSIS_H
#define KGB_AGENT_ANALYSIS_ANALYSIS_H

#include "agent/answers/groups.h"
#include "agent/report/tabular.h"

struct kgb_analysis {
	struct kgb_runs *runs;
	struct kgb_strv labels; /* of each run */
	struct kgb_strv keys; /* of --by */
	struct kgb_strv *notes; /* lines for people; a view may add some */
	const char *python; /* interpreter with radon; borrowed */
	const char *data_dir; /* of the installation; borrowed */
};

struct kgb_view {
	const char *member; /* of the JSON document */
	unsigned details; /* enum kgb_detail */
	const struct kgb_table_column *columns;
	size_t n_columns;
	int (*add)(struct kgb_analysis *a, struct kgb_table *table, struct kgb_err *err);
};

/** The views that an option asks for, with its help. */
#define KGB_VIEWS(X)                                                                   \
	X(curve, "fast_p as a curve with a bootstrap band: each threshold a row")      \
	X(failures, "codes of the operators that did not pass, with their blame")      \
	X(unsolved, "operators that all runs fail")                                    \
	X(rounds, "round by round: what compiles, what is right, what was rescued")    \
	X(anytime, "operators solved within so many tokens, dollars and seconds")      \
	X(attribution, "how much category and method explain, with permutation tests") \
	X(quality, "maintainability index and cyclomatic complexity of kernels, by radon")
extern const struct kgb_view kgb_view_figures; /* without an option */
#define KGB_VIEW_DECLARED(id, doc) extern const struct kgb_view kgb_view_##id;
KGB_VIEWS(KGB_VIEW_DECLARED)
#undef KGB_VIEW_DECLARED

/** One group of operators. */
struct kgb_group {
	const struct kgb_runs *runs; /* with a row for each member, all runs in their order */
	const char *by; /* the key; "all": all operators */
	const char *name; /* for kgb_op_is_in; NULL: all */
};
typedef void (*kgb_group_fn)(struct kgb_analysis *a, const struct kgb_group *group,
			     struct kgb_table *table);
/** Call `fn` for all operators, then for each group of each key. */
void kgb_analysis_each(struct kgb_analysis *a, kgb_group_fn fn, struct kgb_table *table);
/** Begin a row: run, label, key and group. */
void kgb_analysis_begin(const struct kgb_analysis *a, const struct kgb_group *group, size_t run,
			struct kgb_table *table);
#define KGB_ANALYSIS_COLUMNS                                                \
	{"run", NULL, NULL}, {"label", "method", NULL}, {"by", NULL, NULL}, \
	{                                                                   \
		"group", "group", NULL                                      \
	}

#endif
