/* SPDX-License-Identifier: MIT */
/** \file
 * Groups of operators: by one key ("source"), by several at once ("precision+api"), or by a part of
 * operators ("dtype", "interface"), where each part counts as an operator.
 */
#ifndef KGB_AGENT_ANSWERS_GROUPS_H
#define KGB_AGENT_ANSWERS_GROUPS_H

#include "agent/answers/runs.h"

/** The group of operators of which the key is not known; it comes last. */
#define KGB_GROUP_UNKNOWN "unknown"

/** Add the keys of a comma-separated list, which may be NULL. INVALID lists the valid keys. */
KGB_MUST_CHECK int kgb_keys_parse(const char *text, struct kgb_strv *out, struct kgb_err *err);
/** The details that the keys need. */
unsigned kgb_keys_details(const struct kgb_strv *list);
/** Whether the key has a row for each part of an operator. */
bool kgb_key_splits(const char *key);
/** Append the names of all keys: "source, category, ...". */
void kgb_keys_names(struct kgb_buf *out);

/** Set the group of each operator, and add the names of the groups in alphabetical order. */
void kgb_groups_assign(struct kgb_runs *runs, const char *key, struct kgb_strv *names);
/** Runs with a row for each interface or element type of an operator, by the first of the two in
 * the key. An operator that has no verdict in one run fails in the parts that it has in another
 * run; if it has none, in one unknown part. Its cost is not divided: the rows have none. The words
 * are those of `runs`. */
void kgb_runs_split(const struct kgb_runs *runs, const char *key, struct kgb_runs *out);

/** The row of the same operator, and the same part of it, in another run; NULL: it has none.
 * \param likely its place there, where it is looked for first */
const struct kgb_op_row *kgb_op_find_same(const struct kgb_run_row *run,
					  const struct kgb_op_row *op, size_t likely);
/** Whether the operator counts in the group. \param group NULL: all */
static inline bool kgb_op_is_in(const struct kgb_op_row *op, const char *group)
{
	return !op->is_replaced && (!group || op->group == group || kgb_str_eq(op->group, group));
}

#endif
