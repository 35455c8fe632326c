/* SPDX-License-Identifier: MIT */
/** \file
 * Checks that the specs are those of the operators in the set's operators.yaml.
 */
#include "verify/lint/lint.h"

static void note_others(struct kgb_lint_report *report, const struct kgb_strv *these,
			const struct kgb_strv *those, const char *what)
{
	for (size_t i = 0; i < these->n; i++)
		if (!kgb_strv_has(those, these->items[i]))
			kgb_lint_note(report, "names", "%s: %s", these->items[i], what);
}

void kgb_lint_names(const struct kgb_spec_index *index, struct kgb_lint_report *report)
{
	report->n_cases = index->listed.n;
	note_others(report, &index->listed, &index->names, "has no spec");
	note_others(report, &index->names, &index->listed, "is no operator of this dataset");
}
