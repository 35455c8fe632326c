/* SPDX-License-Identifier: MIT */
/** \file
 * Checks that the templates of an interface cover its domain. Each property of a listed case (a
 * type, a number of dimensions, a layout, the value of a flag, two flags together, a mode) must
 * also occur in drawn cases: else a kernel could recognise the listed cases by it. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "verify/cases/case.h"
#include "verify/lint/lint_parts.h"

enum { VERDICTS = 64 }; /* number of verdicts whose cases are drawn; the cases are not run */

struct property {
	const char *text; /* "self layout strided"; arena */
	size_t n_listed, n_drawn;
};

struct coverage {
	struct kgb_arena arena;
	KGB_VEC(struct property) properties;
	bool is_drawn; /* the property being recorded */
};

/* ---- properties of a case ---- */

KGB_PRINTF(2, 3)
static void note(struct coverage *coverage, const char *fmt, ...)
{
	va_list ap;
	size_t i = 0;

	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	while (i < coverage->properties.n && !kgb_str_eq(coverage->properties.items[i].text, text))
		i++;
	if (i == coverage->properties.n)
		KGB_VEC_ADD(&coverage->properties,
			    (struct property){.text = kgb_arena_strdup(&coverage->arena, text)});
	struct property *property = &coverage->properties.items[i];
	*(coverage->is_drawn ? &property->n_drawn : &property->n_listed) += 1;
}

/* Describes a value as a property: "None", "True", "'mean'", "torch.float16"; for numbers their
 * sign, for lists their length. */
static void describe_value(const struct kgb_case_value *value, struct kgb_buf *out)
{
	switch (value->kind) {
	case KGB_CASE_VALUE_INT:
		kgb_buf_adds(out, value->integer < 0 ? "negative" : "0 or more");
		break;
	case KGB_CASE_VALUE_FLOAT:
		kgb_buf_adds(out, isnan(value->number)   ? "nan"
				  : isinf(value->number) ? "infinite"
				  : value->number < 0    ? "negative"
				  : value->number > 0    ? "positive"
							 : "0.0");
		break;
	case KGB_CASE_VALUE_COMPLEX:
		kgb_buf_adds(out, "complex");
		break;
	case KGB_CASE_VALUE_INTS:
		kgb_buf_addf(out, "list of %zu", value->n_ints);
		break;
	case KGB_CASE_VALUE_NONE:
	case KGB_CASE_VALUE_BOOL:
	case KGB_CASE_VALUE_DTYPE:
	case KGB_CASE_VALUE_DEVICE:
	case KGB_CASE_VALUE_STR:
		kgb_case_value_describe(value, out);
		break;
	}
}

static void note_tensor(struct coverage *coverage, const struct kgb_arg *arg)
{
	const char *name = arg->param->name;

	note(coverage, "%s %s", name, arg->is_absent ? "absent" : "given");
	if (arg->is_absent)
		return;
	note(coverage, "%s with %d dimensions", name, arg->view.ndim);
	note(coverage, "%s of %s", name, kgb_dtype_name(arg->view.dtype));
	if (arg->layout)
		note(coverage, "%s %s", name, arg->layout);
}

static void note_arg(struct coverage *coverage, const struct kgb_arg *arg)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	if (arg->param->kind == KGB_PARAM_TENSOR) {
		note_tensor(coverage, arg);
	} else if (arg->param->kind == KGB_PARAM_OUT) {
		note(coverage, "%s %s", arg->param->name, arg->layout);
	} else {
		describe_value(&arg->value, &text);
		note(coverage, "%s %s", arg->param->name, text.ptr);
	}
}

/* A switch: a bool, or None in place of any other value. */
static bool is_flag(const struct kgb_arg *arg)
{
	if (arg->param->kind == KGB_PARAM_TENSOR)
		return arg->is_absent;
	return arg->param->kind == KGB_PARAM_VALUE &&
	       (arg->value.kind == KGB_CASE_VALUE_BOOL || arg->value.kind == KGB_CASE_VALUE_NONE);
}

static void note_pair(struct coverage *coverage, const struct kgb_arg *a, const struct kgb_arg *b)
{
	KGB_AUTO(buf) struct kgb_buf text_a = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf text_b = KGB_BUF_INIT(0);

	kgb_case_value_describe(&a->value, &text_a);
	kgb_case_value_describe(&b->value, &text_b);
	note(coverage, "%s %s with %s %s", a->param->name, text_a.ptr, b->param->name, text_b.ptr);
}

static bool has_size_of_one(const struct kgb_tensor_view *view)
{
	for (int k = 0; k < view->ndim; k++)
		if (view->sizes[k] == 1)
			return true;
	return false;
}

/* A flag together with sizes that kernels have other code for. */
static void note_flag_and_sizes(struct coverage *coverage, const struct kgb_arg *flag,
				const struct kgb_arg *arg)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	const struct kgb_tensor_view *view = &arg->view;
	const char *name = arg->param->name;

	if (arg->param->kind != KGB_PARAM_TENSOR || arg->is_absent)
		return;
	kgb_case_value_describe(&flag->value, &text);
	note(coverage, "%s %s with %d dimensions of %s", flag->param->name, text.ptr, view->ndim,
	     name);
	if (has_size_of_one(view))
		note(coverage, "%s %s with a size of 1 of %s", flag->param->name, text.ptr, name);
	if (view->ndim > 0 && view->sizes[view->ndim - 1] % 2 == 1)
		note(coverage, "%s %s with an odd last size of %s", flag->param->name, text.ptr,
		     name);
}

static void note_case(struct coverage *coverage, const struct kgb_case *c)
{
	/* Integers have special values. */
	const bool is_special = c->mode == KGB_MODE_SPECIAL && kgb_dtype_is_float(c->dtype) &&
				kgb_case_follows_mode(c);

	note(coverage, "type %s", kgb_dtype_name(c->dtype));
	note(coverage, "mode %s", kgb_mode_name(c->mode));
	for (unsigned k = 0; k < KGB_N_SPECIALS && is_special; k++)
		if (c->line->specials & 1U << k)
			note(coverage, "class %s", kgb_special_name((enum kgb_special)k));
	for (size_t i = 0; i < c->n_args; i++) {
		note_arg(coverage, &c->args[i]);
		for (size_t k = 0; k < c->n_args && is_flag(&c->args[i]); k++) {
			note_flag_and_sizes(coverage, &c->args[i], &c->args[k]);
			if (k < i && is_flag(&c->args[k]))
				note_pair(coverage, &c->args[k], &c->args[i]);
		}
	}
}

/* Listed corner cases that every verdict judges. */
static bool is_corner(const struct kgb_case *c)
{
	return kgb_case_elements(c) == 0;
}

/* ---- interfaces ---- */

static bool is_drawn(const struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->properties.n; i++)
		if (coverage->properties.items[i].n_drawn > 0)
			return true;
	return false;
}

static void settle(struct kgb_lint *lint, const struct kgb_interface *interface,
		   const struct coverage *coverage)
{
	if (!is_drawn(coverage)) {
		kgb_lint_note(lint->report, "coverage",
			      "%s: no case is drawn: its case sets need templates (drawn)",
			      interface->entry);
		return;
	}
	for (size_t i = 0; i < coverage->properties.n; i++) {
		const struct property *property = &coverage->properties.items[i];
		if (property->n_drawn == 0)
			kgb_lint_note(lint->report, "coverage",
				      "%s: %zu listed cases have %s, but none is drawn with it",
				      interface->entry, property->n_listed, property->text);
	}
}

/* The cases of a verdict, each in the coverage of its interface; listed ones are the same in all.
 */
static int note_verdict(const struct kgb_spec *spec, uint8_t number, struct coverage *all,
			struct kgb_err *err)
{
	const struct kgb_seed seed = {{number}};
	struct kgb_cases cases;

	if (kgb_cases_expand(spec, &seed, &cases, err) < 0)
		return -1;
	for (size_t i = 0; i < cases.n; i++) {
		const struct kgb_case *c = &cases.items[i];
		struct coverage *coverage = &all[c->interface - spec->interfaces];
		coverage->is_drawn = c->is_drawn;
		if (c->is_drawn || (number == 0 && !is_corner(c)))
			note_case(coverage, c);
	}
	kgb_cases_release(&cases);
	return 0;
}

int kgb_lint_coverage(struct kgb_lint *lint, struct kgb_err *err)
{
	const struct kgb_spec *spec = &lint->judge.spec;
	KGB_AUTO(free) struct coverage *all = kgb_xcalloc(spec->n_interfaces, sizeof(*all));
	int rc = 0;

	for (uint8_t i = 0; i < VERDICTS && rc == 0; i++)
		rc = note_verdict(spec, i, all, err);
	for (size_t i = 0; i < spec->n_interfaces; i++) {
		if (rc == 0)
			settle(lint, &spec->interfaces[i], &all[i]);
		KGB_VEC_RELEASE(&all[i].properties);
		kgb_arena_release(&all[i].arena);
	}
	return rc;
}
