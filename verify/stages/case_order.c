/* SPDX-License-Identifier: MIT */
#include "verify/stages/case_order.h"

#include <stdlib.h>

#include "base/mem.h"

static bool is_cheaper(const struct kgb_case *c, const struct kgb_case *than)
{
	return c->mode == KGB_MODE_STANDARD && kgb_case_elements(c) > 0 &&
	       (kgb_case_elements(than) == 0 || kgb_case_elements(c) < kgb_case_elements(than));
}

/* The types of the tensors: cases that share them share most of their compiled kernels. */
static uint64_t types_of(const struct kgb_case *c)
{
	uint64_t types = 0;

	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent)
			types = types * KGB_N_DTYPES + (uint64_t)c->args[i].view.dtype;
	return types;
}

struct place {
	size_t index;
	uint64_t types;
	bool is_smoke;
};

static int by_types(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	if (x->is_smoke != y->is_smoke)
		return x->is_smoke ? -1 : 1;
	if (x->types != y->types)
		return x->types < y->types ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void kgb_case_order(const struct kgb_cases *cases, size_t *order)
{
	KGB_AUTO(free) struct place *places = kgb_xcalloc(cases->n + 1, sizeof(*places));
	size_t smoke = 0;

	for (size_t i = 0; i < cases->n; i++) {
		if (is_cheaper(&cases->items[i], &cases->items[smoke]))
			smoke = i;
		places[i] = (struct place){.index = i, .types = types_of(&cases->items[i])};
	}
	places[smoke].is_smoke = true;
	qsort(places, cases->n, sizeof(*places), by_types);
	for (size_t i = 0; i < cases->n; i++)
		order[i] = places[i].index;
}
