/* SPDX-License-Identifier: MIT */
#include "verify/cases/tier.h"

#include <math.h>

#include "base/str.h"

/* No test of the reference system has tensors of more dimensions, or integers beyond 32 bits. */
enum { DIMS_MAX = 5 };
#define INTEGER_MAX 2147483647.0

enum kind { BOOL, INTEGER, FLOAT, COMPLEX };

static enum kind kind_of(enum kgb_dtype dtype)
{
	if (dtype == KGB_DTYPE_BOOL)
		return BOOL;
	if (kgb_dtype_is_complex(dtype))
		return COMPLEX;
	return kgb_dtype_is_float(dtype) ? FLOAT : INTEGER;
}

/* Whether a setting varies from case to case; a constant of the spec belongs to the operator. */
static bool is_variable(const char *text)
{
	return text[0] == '$';
}

/* Whether the argument has the case's type by default, but a type of another kind here. The types
 * of indices and masks do not follow the case's type. */
static bool is_promoted(const struct kgb_case *c, const struct kgb_arg *arg)
{
	return is_variable(arg->param->dtype) && kgb_str_ends(arg->param->dtype, "|$dtype") &&
	       kind_of(arg->view.dtype) != kind_of(c->dtype);
}

/* Whether none of the operator's types is of this kind, as for the cosine of integers. */
static bool is_odd_type(const struct kgb_spec *spec, enum kgb_dtype dtype)
{
	for (size_t i = 0; i < spec->dtypes.n; i++) {
		struct kgb_err ignored = KGB_ERR_INIT;
		enum kgb_dtype own;
		if (kgb_dtype_parse(spec->dtypes.items[i], &own, &ignored) == 0 &&
		    kind_of(own) == kind_of(dtype))
			return false;
	}
	return true;
}

/* Whether no tensor has a dimension, and no argument names one. */
static bool is_without_dims(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		if (arg->param->kind == KGB_PARAM_TENSOR ? arg->view.ndim > 0
							 : kgb_str_starts(arg->param->name, "dim"))
			return false;
	}
	return true;
}

static bool is_odd_layout(const struct kgb_arg *arg)
{
	return is_variable(arg->param->layout) && arg->layout &&
	       !kgb_str_eq(arg->layout, "contiguous");
}

static bool is_odd_tensor(const struct kgb_case *c, const struct kgb_arg *arg)
{
	const bool large = (is_variable(arg->param->fill) && arg->fill == KGB_FILL_INT &&
			    (fabs(arg->lo) > INTEGER_MAX || fabs(arg->hi) > INTEGER_MAX)) ||
			   (arg->values.is_wide && arg->view.dtype == KGB_DTYPE_INT64);

	if (arg->is_absent)
		return false;
	return kgb_tensor_view_numel(&arg->view) == 0 || arg->view.ndim > DIMS_MAX ||
	       (arg->view.ndim == 0 && cJSON_IsString(arg->param->shape) && !is_without_dims(c)) ||
	       is_odd_layout(arg) || large || is_promoted(c, arg);
}

static bool is_odd_value(const struct kgb_case *c, const struct kgb_case_value *value)
{
	const enum kind kind = kind_of(c->dtype);

	switch (value->kind) {
	case KGB_CASE_VALUE_INT:
		return fabs((double)value->integer) > INTEGER_MAX;
	case KGB_CASE_VALUE_FLOAT:
		return !isfinite(value->number) || kind < FLOAT;
	case KGB_CASE_VALUE_COMPLEX:
		return !isfinite(value->number) || !isfinite(value->imaginary) || kind < COMPLEX;
	case KGB_CASE_VALUE_NONE:
	case KGB_CASE_VALUE_BOOL:
	case KGB_CASE_VALUE_INTS:
	case KGB_CASE_VALUE_DTYPE:
	case KGB_CASE_VALUE_DEVICE:
	case KGB_CASE_VALUE_STR:
		break;
	}
	return false;
}

enum kgb_tier kgb_case_tier(const struct kgb_spec *spec, const struct kgb_case *c)
{
	if (c->line->tier != KGB_TIER_BY_RULE)
		return c->line->tier;
	if (c->mode == KGB_MODE_SPECIAL || is_odd_type(spec, c->dtype))
		return KGB_TIER_EDGE;
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		if (arg->param->kind == KGB_PARAM_TENSOR ? is_odd_tensor(c, arg)
		    : arg->param->kind == KGB_PARAM_OUT  ? is_odd_layout(arg)
							 : is_odd_value(c, &arg->value))
			return KGB_TIER_EDGE;
	}
	return KGB_TIER_CORE;
}
