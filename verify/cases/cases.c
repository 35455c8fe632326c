/* SPDX-License-Identifier: MIT */
#include "verify/cases/cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/str.h"
#include "base/vec.h"
#include "verify/cases/case_args.h"
#include "verify/cases/cases_drawn.h"
#include "verify/cases/tier.h"

/* Of a template: no round draws so many, with repeated tensors and twins. */
enum { LINES_OF_A_ROUND = 4096 };

static int expand_case(struct kgb_case_expander *x, struct kgb_cases *cases)
{
	if (cases->n == KGB_MAX_CASES)
		return kgb_yaml_fail(&x->spec->doc, x->interface->node, x->err,
				     "%s has more than %d cases", x->spec->name, KGB_MAX_CASES);
	KGB_VEC_ADD(cases,
		    (struct kgb_case){
			    .name = kgb_arena_printf(&cases->arena, "%s/%s/%s/%s",
						     x->interface->entry, kgb_dtype_name(x->dtype),
						     x->line->id, kgb_mode_name(x->line->mode)),
			    .interface = x->interface,
			    .line = x->line,
			    .dtype = x->dtype,
			    .mode = x->line->mode,
		    });
	struct kgb_case *c = &cases->items[cases->n - 1];
	if (kgb_case_args_expand(x, c) < 0)
		return -1;
	c->tier = kgb_case_tier(x->spec, c);
	return 0;
}

int kgb_cases__expand_line(struct kgb_case_expander *x, struct kgb_cases *cases)
{
	const struct kgb_strs *dtypes = x->line->dtypes.n ? &x->line->dtypes : &x->spec->dtypes;

	for (size_t i = 0; i < dtypes->n; i++) {
		if (kgb_dtype_parse(dtypes->items[i], &x->dtype, x->err) < 0 ||
		    expand_case(x, cases) < 0)
			return -1;
	}
	return 0;
}

static int expand_interface(struct kgb_case_expander *x, struct kgb_cases *cases)
{
	for (size_t s = 0; s < x->interface->n_sets; s++) {
		x->set = x->interface->sets[s];
		for (size_t i = 0; i < x->set->n_cases; i++) {
			x->line = &x->set->cases[i];
			if (kgb_cases__expand_line(x, cases) < 0)
				return -1;
		}
	}
	return 0;
}

/* ---- all cases ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Verdicts and seeds go by case name, so two cases may not share one. */
static int check_names(const struct kgb_spec *spec, const struct kgb_cases *cases,
		       struct kgb_err *err)
{
	KGB_AUTO(free) const char **names = kgb_xcalloc(cases->n + 1, sizeof(*names));

	for (size_t i = 0; i < cases->n; i++)
		names[i] = cases->items[i].name;
	qsort(names, cases->n, sizeof(*names), compare_names);
	for (size_t i = 1; i < cases->n; i++)
		if (kgb_str_eq(names[i - 1], names[i]))
			return kgb_fail(err, KGB_ERR_INVALID,
					"%s: two cases are named '%s': give them different ids",
					spec->path, names[i]);
	return 0;
}

/* If the rule leaves an interface without a core case (a copy that only other layouts need), its
 * cases with ordinary values are core. */
static void give_core_cases(const struct kgb_interface *interface, struct kgb_cases *cases)
{
	for (size_t i = 0; i < cases->n; i++)
		if (cases->items[i].interface == interface &&
		    cases->items[i].tier == KGB_TIER_CORE &&
		    cases->items[i].mode != KGB_MODE_BENCHMARK)
			return;
	for (size_t i = 0; i < cases->n; i++)
		if (cases->items[i].interface == interface &&
		    cases->items[i].mode != KGB_MODE_SPECIAL)
			cases->items[i].tier = KGB_TIER_CORE;
}

/* Move the benchmarks behind all other cases; both groups keep their order. They are recorded with
 * the runner that lanes have when they are through with the other cases (kgb_case_order). */
static void benchmarks_last(struct kgb_cases *cases)
{
	struct kgb_case *sorted = kgb_xcalloc(cases->n + 1, sizeof(*sorted));
	size_t n = 0, n_all = cases->n;

	for (int benchmark = 0; benchmark <= 1; benchmark++) {
		for (size_t i = 0; i < n_all; i++)
			if ((cases->items[i].mode == KGB_MODE_BENCHMARK) == (benchmark == 1))
				sorted[n++] = cases->items[i];
		if (benchmark == 0)
			cases->n = n;
	}
	cases->n_benchmarks = n_all - cases->n;
	for (size_t i = cases->n; i < n_all; i++)
		sorted[i].style.without_asserts = true;
	kgb_free(cases->items);
	cases->items = sorted;
}

static int expand_all(struct kgb_case_expander *x, const struct kgb_seed *seed,
		      struct kgb_cases *cases)
{
	for (size_t i = 0; i < x->spec->n_interfaces; i++) {
		const size_t first = cases->n;
		size_t n_listed = 0;
		x->interface = &x->spec->interfaces[i];
		if (expand_interface(x, cases) < 0)
			return -1;
		for (size_t k = first; k < cases->n; k++)
			n_listed += cases->items[k].mode != KGB_MODE_BENCHMARK;
		if (seed && kgb_cases__draw(x, seed, n_listed, cases) < 0)
			return -1;
		give_core_cases(x->interface, cases);
	}
	return 0;
}

static int expand_round(const struct kgb_spec *spec, const struct kgb_seed *seed,
			const struct kgb_dictionary *numbers, uint32_t round, struct kgb_cases *out,
			struct kgb_err *err)
{
	struct kgb_cases cases = {.arena = KGB_ARENA_INIT};
	struct kgb_case_expander x = {.spec = spec,
				      .numbers = numbers,
				      .first_line = round * LINES_OF_A_ROUND,
				      .arena = &cases.arena,
				      .err = err};

	if (expand_all(&x, seed, &cases) < 0 || check_names(spec, &cases, err) < 0) {
		kgb_cases_release(&cases);
		return -1;
	}
	benchmarks_last(&cases);
	*out = cases;
	return 0;
}

int kgb_cases_expand(const struct kgb_spec *spec, const struct kgb_seed *seed,
		     struct kgb_cases *out, struct kgb_err *err)
{
	return kgb_cases_expand_for(spec, seed, NULL, out, err);
}

int kgb_cases_expand_for(const struct kgb_spec *spec, const struct kgb_seed *seed,
			 const struct kgb_dictionary *numbers, struct kgb_cases *out,
			 struct kgb_err *err)
{
	return expand_round(spec, seed, numbers, 0, out, err);
}

int kgb_cases_expand_further(const struct kgb_spec *spec, const struct kgb_seed *seed,
			     const struct kgb_dictionary *numbers, uint32_t round,
			     struct kgb_cases *out, struct kgb_err *err)
{
	size_t n = 0;

	if (expand_round(spec, seed, numbers, round, out, err) < 0)
		return -1;
	for (size_t i = 0; i < out->n; i++)
		if (out->items[i].is_drawn)
			out->items[n++] = out->items[i];
	out->n = n;
	out->n_benchmarks = 0;
	return 0;
}

void kgb_cases_release(struct kgb_cases *cases)
{
	kgb_free(cases->items);
	kgb_arena_release(&cases->arena);
	*cases = (struct kgb_cases){.arena = KGB_ARENA_INIT};
}

void kgb_cases_hash_benchmarks(const struct kgb_cases *cases, char out[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	for (size_t i = cases->n; i < cases->n + cases->n_benchmarks; i++)
		kgb_case_identify(&cases->items[i], &text);
	kgb_sha256_hex(text.ptr, text.len, out);
}
