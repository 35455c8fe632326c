/* SPDX-License-Identifier: MIT */
#include "verify/protocol/conditions.h"

#include <stdlib.h>

#include "base/vec.h"

#define UNITE_EVERY 4096 /* added ones, at least */

static int by_place(const void *a, const void *b)
{
	const struct kgb_exec_condition *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

void kgb_conditions_unite(struct kgb_conditions *conditions)
{
	size_t n = 0;

	if (conditions->n > 0)
		qsort(conditions->items, conditions->n, sizeof(*conditions->items), by_place);
	for (size_t i = 0; i < conditions->n; i++) {
		const struct kgb_exec_condition *one = &conditions->items[i];
		if (n > 0 && by_place(one, &conditions->items[n - 1]) == 0) {
			conditions->items[n - 1].outcomes |= one->outcomes;
			conditions->items[n - 1].outside |= one->outside;
			conditions->items[n - 1].lanes += one->lanes;
		} else {
			conditions->items[n++] = *one;
		}
	}
	conditions->n = conditions->n_united = n;
}

void kgb_conditions_add(struct kgb_conditions *conditions,
			const struct kgb_exec_condition *condition)
{
	KGB_VEC_ADD(conditions, *condition);
	if (conditions->n > 2 * conditions->n_united + UNITE_EVERY)
		kgb_conditions_unite(conditions);
}

size_t kgb_conditions_count_uncovered(struct kgb_conditions *conditions)
{
	size_t n = 0;

	kgb_conditions_unite(conditions);
	for (size_t i = 0; i < conditions->n; i++)
		n += kgb_condition_is_uncovered(&conditions->items[i]);
	return n;
}

void kgb_conditions_release(struct kgb_conditions *conditions)
{
	KGB_VEC_RELEASE(conditions);
	conditions->n_united = 0;
}
