/* SPDX-License-Identifier: MIT */
#include "verify/cases/case_args.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "verify/cases/read_mask.h"
#include "verify/fills/fill.h"

/* Fails at the case's line in its set, naming set, case, interface and parameter. */
KGB_PRINTF(2, 3)
static int fail_case(const struct kgb_case_expander *x, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	return kgb_yaml_fail(&x->set->doc, x->line->node, x->err,
			     "case '%s' of '%s': %s of %s %s: %s", x->line->id, x->set->name,
			     x->param->name, x->spec->name, x->interface->entry, text);
}

/* ---- variables ---- */

/* The value of "$name", "$name|default" or "$name|$other|...". *out borrows from the documents
 * or from *literal, which the caller releases; it is NULL when the last variable is absent and
 * there is no default. */
static int look_up(const struct kgb_case_expander *x, const char *text, struct kgb_yaml *literal,
		   const cJSON **out)
{
	const char *at = text;
	struct kgb_err why = KGB_ERR_INIT;

	*out = NULL;
	while (at && at[0] == '$') {
		const char *bar = strchr(at, '|');
		KGB_AUTO(free)
		char *name =
			bar ? kgb_xstrndup(at + 1, (size_t)(bar - at - 1)) : kgb_xstrdup(at + 1);
		*out = cJSON_GetObjectItemCaseSensitive(x->line->vars, name);
		if (*out)
			return 0;
		at = kgb_str_eq(name, "dtype") ? kgb_dtype_name(x->dtype) : bar ? bar + 1 : NULL;
	}
	if (!at)
		return 0;
	if (kgb_yaml_parse("default", at, strlen(at), literal, &why) < 0)
		return fail_case(x, "'%.80s': %s", text, why.msg);
	*out = literal->root;
	return 0;
}

static int resolve(const struct kgb_case_expander *x, const cJSON *node, struct kgb_yaml *literal,
		   const cJSON **out)
{
	*out = NULL;
	if (!cJSON_IsString(node) || node->valuestring[0] != '$') {
		*out = node;
		return 0;
	}
	if (look_up(x, node->valuestring, literal, out) < 0)
		return -1;
	if (!*out)
		return fail_case(x, "variable '%.80s' is not set and has no default",
				 node->valuestring + 1);
	return 0;
}

/* A text setting (layout, dtype, fill). An absent variable means `absent`, or is an error where
 * that is NULL. */
static int resolve_text(const struct kgb_case_expander *x, const char *text, const char *absent,
			const char **out)
{
	KGB_AUTO(yaml) struct kgb_yaml literal = KGB_YAML_INIT;
	const cJSON *node = NULL;

	*out = text;
	if (text[0] != '$')
		return 0;
	if (look_up(x, text, &literal, &node) < 0)
		return -1;
	if (!node && !absent)
		return fail_case(x, "variable '%.80s' is not set and has no default", text + 1);
	if (node && !cJSON_IsString(node))
		return fail_case(x, "'%.80s' must be text", text);
	*out = node ? kgb_arena_strdup(x->arena, node->valuestring) : absent;
	return 0;
}

/* ---- values ---- */

static int ints_value(const struct kgb_case_expander *x, const cJSON *list,
		      struct kgb_case_value *out)
{
	const cJSON *item = NULL;
	int64_t *ints =
		kgb_arena_array(x->arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*ints));

	cJSON_ArrayForEach(item, list) {
		if (!kgb_yaml_whole(item, &ints[out->n_ints]))
			return fail_case(x, "a list may hold whole numbers only");
		out->n_ints++;
	}
	out->kind = KGB_CASE_VALUE_INTS;
	out->ints = ints;
	return 0;
}

static int number_value(const struct kgb_case_expander *x, const cJSON *node,
			struct kgb_case_value *out)
{
	bool whole = kgb_yaml_whole(node, &out->integer);

	if (whole && x->param->as != KGB_AS_FLOAT) {
		out->kind = KGB_CASE_VALUE_INT;
		return 0;
	}
	out->kind = KGB_CASE_VALUE_FLOAT;
	out->integer = 0;
	out->number = node->valuedouble;
	return 0;
}

/* YAML's notation of numbers that JSON lacks. */
static bool is_special_number(const cJSON *node, double *out)
{
	static const struct {
		const char *text;
		double number;
	} numbers[] = {
		{".inf", (double)INFINITY}, {"-.inf", -(double)INFINITY}, {".nan", (double)NAN}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(numbers); i++) {
		if (cJSON_IsString(node) && kgb_str_eq(node->valuestring, numbers[i].text)) {
			*out = numbers[i].number;
			return true;
		}
	}
	return false;
}

static int complex_value(const struct kgb_case_expander *x, const cJSON *node,
			 struct kgb_case_value *out)
{
	const cJSON *re = cJSON_IsArray(node) ? cJSON_GetArrayItem(node, 0) : node;
	const cJSON *im = cJSON_IsArray(node) ? cJSON_GetArrayItem(node, 1) : NULL;

	if (!cJSON_IsNumber(re) ||
	    (cJSON_IsArray(node) && (!cJSON_IsNumber(im) || cJSON_GetArraySize(node) != 2)))
		return fail_case(x, "expected a number or [real part, imaginary part]");
	out->kind = KGB_CASE_VALUE_COMPLEX;
	out->number = re->valuedouble;
	out->imaginary = im ? im->valuedouble : 0;
	return 0;
}

static int dtype_value(const struct kgb_case_expander *x, const cJSON *node,
		       struct kgb_case_value *out)
{
	struct kgb_err why = KGB_ERR_INIT;

	if (!cJSON_IsString(node))
		return fail_case(x, "expected the name of a dtype");
	if (kgb_dtype_parse(node->valuestring, &out->dtype, &why) < 0)
		return fail_case(x, "%s", why.msg);
	out->kind = KGB_CASE_VALUE_DTYPE;
	return 0;
}

/* A verification has one device; the spec does not name it. */
static int device_value(const struct kgb_case_expander *x, const cJSON *node,
			struct kgb_case_value *out)
{
	if (!cJSON_IsString(node) || !kgb_str_eq(node->valuestring, "here"))
		return fail_case(x, "expected 'here' or null");
	out->kind = KGB_CASE_VALUE_DEVICE;
	return 0;
}

static int expand_value(const struct kgb_case_expander *x, struct kgb_arg *arg)
{
	KGB_AUTO(yaml) struct kgb_yaml literal = KGB_YAML_INIT;
	const cJSON *node = NULL;
	struct kgb_case_value *out = &arg->value;

	if (resolve(x, arg->param->value, &literal, &node) < 0)
		return -1;
	if (cJSON_IsNull(node)) {
		out->kind = KGB_CASE_VALUE_NONE;
		return 0;
	}
	if (arg->param->as == KGB_AS_DTYPE)
		return dtype_value(x, node, out);
	if (arg->param->as == KGB_AS_DEVICE)
		return device_value(x, node, out);
	if (arg->param->as == KGB_AS_COMPLEX)
		return complex_value(x, node, out);
	if (cJSON_IsNumber(node))
		return number_value(x, node, out);
	if (is_special_number(node, &out->number)) {
		out->kind = KGB_CASE_VALUE_FLOAT;
		return 0;
	}
	if (arg->param->as == KGB_AS_FLOAT)
		return fail_case(x, "expected a number");
	if (cJSON_IsBool(node)) {
		out->kind = KGB_CASE_VALUE_BOOL;
		out->boolean = cJSON_IsTrue(node);
		return 0;
	}
	if (cJSON_IsArray(node))
		return ints_value(x, node, out);
	if (!cJSON_IsString(node))
		return fail_case(
			x, "expected a number, true, false, null, text or a list of whole numbers");
	out->kind = KGB_CASE_VALUE_STR;
	out->str = kgb_arena_strdup(x->arena, node->valuestring);
	return 0;
}

/* ---- tensors ---- */

/* Parse "(low,high)", or, if `n_bounds` is 1, "(number)", which becomes both bounds. */
static int parse_bounds(const char *args, size_t n_bounds, double *lo, double *hi)
{
	KGB_AUTO(strv) struct kgb_strv parts = KGB_STRV_INIT;

	if (kgb_split_args(args, &parts) < 0 || parts.n != n_bounds ||
	    kgb_parse_double(parts.items[0], lo, NULL) < 0 ||
	    kgb_parse_double(parts.items[n_bounds - 1], hi, NULL) < 0)
		return -1;
	return 0;
}

/* "(name)" of an earlier tensor. */
static int parse_sibling(const struct kgb_case_expander *x, const char *args, struct kgb_arg *arg)
{
	const struct kgb_arg *first = arg - (x->param - x->interface->params);
	size_t len = strlen(args);

	for (const struct kgb_arg *a = first; len > 2 && a < arg; a++) {
		const char *name = a->param->name;
		if (a->param->kind == KGB_PARAM_TENSOR && !a->is_absent && a->view.ndim == 1 &&
		    !kgb_dtype_is_float(a->view.dtype) && a->view.sizes[0] >= 2 &&
		    strlen(name) == len - 2 && strncmp(args + 1, name, len - 2) == 0) {
			arg->sibling = (size_t)(a - first);
			return 0;
		}
	}
	return -1;
}

/* The hash of a benchmark contains the names: do not change one. */
static const struct fill_form {
	const char *name;
	const char *args; /* as written; NULL: none */
	size_t n_bounds; /* of them; 0 with args: the name of a parameter */
	bool is_free; /* the modes `outlier` and `special` may leave the fill's range */
	bool has_order; /* the first bound is not above the second one */
} fill_forms[] = {
	[KGB_FILL_NORMAL] = {"normal", .is_free = true},
	[KGB_FILL_POSITIVE] = {"positive", .is_free = true},
	[KGB_FILL_UNIFORM] = {"uniform", "(low,high) with low <= high", 2, .has_order = true},
	[KGB_FILL_INT] = {"int", "(low,high) with low <= high", 2, .has_order = true},
	[KGB_FILL_BOOL] = {"bool"},
	[KGB_FILL_ONES] = {"ones"},
	[KGB_FILL_NAN] = {"nan"},
	[KGB_FILL_SIGNS] = {"signs"},
	[KGB_FILL_TRIANGLE] = {"triangle", "(rows)", 1},
	[KGB_FILL_CHAIN] = {"chain", "(rows)", 1},
	[KGB_FILL_LATE] = {"late", "(first)", 1},
	[KGB_FILL_UNIT] = {"unit"},
	[KGB_FILL_IDENTITY] = {"identity"},
	[KGB_FILL_PADDED] = {"padded", "(first)", 1},
	[KGB_FILL_BESIDE] = {"beside", "(point,step)", 2},
	[KGB_FILL_DISTINCT] = {"distinct", "(low,high) with low <= high", 2, .has_order = true},
	[KGB_FILL_SLOTS] = {"slots", "(low,high) with low <= high", 2, .has_order = true},
	[KGB_FILL_CHOICE] = {"choice", "(low,high) with low <= high", 2, .has_order = true},
	[KGB_FILL_SORTED] = {"sorted", "(low,high) with low <= high", 2, .has_order = true},
	[KGB_FILL_SORTED_DOWN] = {"sorted_down", "(low,high) with low <= high", 2,
				  .has_order = true},
	[KGB_FILL_OFFSETS] = {"offsets", "(total)", 1},
	[KGB_FILL_STEPS] = {"steps", "(length)", 1},
	[KGB_FILL_BLOCKS] = {"blocks", "(bytes)", 1},
	[KGB_FILL_PAIRS] = {"pairs"},
	[KGB_FILL_OWNERS] = {"owners", "(name of an earlier tensor of offsets)", 0},
};

const char *kgb_fill_name(enum kgb_fill_kind fill)
{
	return fill_forms[fill].name;
}

static int parse_fill(const struct kgb_case_expander *x, const char *text, struct kgb_arg *arg)
{
	size_t len = strcspn(text, "(");

	for (size_t i = 0; i < KGB_ARRAY_LEN(fill_forms); i++) {
		const struct fill_form *form = &fill_forms[i];
		if (strlen(form->name) != len || strncmp(form->name, text, len) != 0)
			continue;
		arg->fill = (enum kgb_fill_kind)i;
		arg->bounded = !form->is_free;
		bool good = !form->args      ? text[len] == '\0'
			    : form->n_bounds ? parse_bounds(text + len, form->n_bounds, &arg->lo,
							    &arg->hi) == 0
					     : parse_sibling(x, text + len, arg) == 0;
		good = good && (!form->has_order || arg->lo <= arg->hi);
		return good ? 0
			    : fail_case(x, "fill '%.80s' must read %s%s", text, form->name,
					form->args ? form->args : "");
	}
	return fail_case(
		x,
		"fill '%.80s' is none of: normal, positive, uniform(low,high), int(low,high), bool, ones, "
		"signs, or a structured one (docs/operator-spec.md)",
		text);
}

static bool is_whole_number(double value)
{
	return value == floor(value) && fabs(value) <= 0x1p53;
}

/* Whether lo .. hi has n different numbers, within a limit, because the fill allocates the whole
 * range. */
static bool has_enough(const struct kgb_arg *arg, int64_t n)
{
	return arg->hi - arg->lo + 1 >= (double)n && arg->hi - arg->lo < 0x1p24;
}

/* Structured fills need an integer type that holds the numbers they generate. */
static int fit_structured(const struct kgb_case_expander *x, const struct kgb_arg *arg)
{
	const struct kgb_tensor_view *view = &arg->view;
	int64_t n = kgb_tensor_view_numel(view),
		last = view->ndim > 0 ? view->sizes[view->ndim - 1] : 1;
	enum kgb_dtype dtype = view->dtype;
	bool good = !kgb_dtype_is_float(dtype) && dtype != KGB_DTYPE_BOOL &&
		    is_whole_number(arg->lo) && is_whole_number(arg->hi) &&
		    arg->lo >= (double)kgb_dtype_min_i64(dtype) &&
		    arg->hi <= (double)kgb_dtype_max_i64(dtype);

	if (arg->fill == KGB_FILL_DISTINCT)
		good = good && has_enough(arg, n);
	else if (arg->fill == KGB_FILL_SLOTS)
		good = good && has_enough(arg, n) && arg->lo >= 0;
	else if (arg->fill == KGB_FILL_CHOICE || arg->fill == KGB_FILL_SORTED ||
		 arg->fill == KGB_FILL_SORTED_DOWN)
		good = good && has_enough(arg, last);
	else if (arg->fill == KGB_FILL_OFFSETS)
		good = good && n >= 2 && arg->hi >= 0;
	else if (arg->fill == KGB_FILL_STEPS)
		good = good && arg->lo >= 1 &&
		       (double)n / arg->lo <= (double)kgb_dtype_max_i64(dtype);
	else if (arg->fill == KGB_FILL_BLOCKS)
		good = dtype == KGB_DTYPE_UINT8 && kgb_tensor_view_is_contiguous(view) &&
		       arg->lo >= 2 && is_whole_number(arg->lo);
	else if (arg->fill == KGB_FILL_PAIRS)
		good = dtype == KGB_DTYPE_INT16 || dtype == KGB_DTYPE_INT32;
	return good ? 0 : fail_case(x, "fill: its numbers do not suit the tensor's type and sizes");
}

static int fit_floats(const struct kgb_case_expander *x, const struct kgb_arg *arg)
{
	if ((arg->fill == KGB_FILL_TRIANGLE || arg->fill == KGB_FILL_CHAIN) &&
	    !(arg->lo >= 1 && is_whole_number(arg->lo)))
		return fail_case(x, "fill: a matrix has a whole number of rows");
	if (arg->fill == KGB_FILL_LATE && !(arg->lo >= 0 && is_whole_number(arg->lo)))
		return fail_case(x, "fill: 'late' needs the number of an element");
	if (arg->fill == KGB_FILL_PADDED && !is_whole_number(arg->lo))
		return fail_case(x, "fill: 'padded' needs a number of elements");
	if (arg->fill == KGB_FILL_IDENTITY && arg->view.ndim < 2)
		return fail_case(x, "fill: 'identity' needs matrices");
	if (arg->fill == KGB_FILL_INT && (fabs(arg->lo) > 0x1p53 || fabs(arg->hi) > 0x1p53))
		return fail_case(x, "fill: the bounds must be within 2^53");
	return 0;
}

/* Integers have no normal distribution: small whole numbers stand in, so that one spec serves all
 * its dtypes. */
static int fit_fill(const struct kgb_case_expander *x, struct kgb_arg *arg)
{
	enum kgb_dtype dtype = arg->view.dtype;

	if (kgb_fill_is_structured(arg->fill))
		return fit_structured(x, arg);
	if (kgb_dtype_is_float(dtype))
		return fit_floats(x, arg);
	if (arg->fill == KGB_FILL_NAN || arg->fill >= KGB_FILL_TRIANGLE)
		return fail_case(x, "fill: '%s' needs a floating-point tensor",
				 kgb_fill_name(arg->fill));
	if (dtype == KGB_DTYPE_BOOL) {
		arg->fill = arg->fill == KGB_FILL_ONES ? KGB_FILL_ONES : KGB_FILL_BOOL;
		return 0;
	}
	if (arg->fill == KGB_FILL_NORMAL || arg->fill == KGB_FILL_POSITIVE) {
		arg->lo = arg->fill == KGB_FILL_POSITIVE ? 1 : dtype == KGB_DTYPE_UINT8 ? 0 : -100;
		arg->hi = 100;
	}
	if (arg->fill == KGB_FILL_SIGNS) {
		arg->lo = dtype == KGB_DTYPE_UINT8 ? 0 : -1;
		arg->hi = 1;
	}
	if (arg->fill == KGB_FILL_NORMAL || arg->fill == KGB_FILL_POSITIVE ||
	    arg->fill == KGB_FILL_UNIFORM || arg->fill == KGB_FILL_SIGNS)
		arg->fill = KGB_FILL_INT;
	if (arg->fill != KGB_FILL_INT)
		return 0;
	arg->lo = ceil(arg->lo);
	arg->hi = floor(arg->hi);
	if (arg->lo > arg->hi || fabs(arg->lo) > 0x1p53 || fabs(arg->hi) > 0x1p53 ||
	    arg->lo < (double)kgb_dtype_min_i64(dtype) ||
	    arg->hi > (double)kgb_dtype_max_i64(dtype))
		return fail_case(
			x,
			"fill: no whole numbers of %s within the bounds, or bounds outside of it",
			kgb_dtype_name(dtype));
	return 0;
}

static int expand_shape(const struct kgb_case_expander *x, const cJSON *node, int64_t *sizes,
			int *ndim, bool *is_absent)
{
	KGB_AUTO(yaml) struct kgb_yaml literal = KGB_YAML_INIT;
	const cJSON *list = NULL, *item = NULL;

	if (resolve(x, node, &literal, &list) < 0)
		return -1;
	*is_absent = cJSON_IsNull(list);
	if (*is_absent)
		return 0;
	if (!cJSON_IsArray(list))
		return fail_case(x, "expected a list of sizes");
	if (cJSON_GetArraySize(list) > KGB_MAX_DIMS)
		return fail_case(x, "%d dims, at most %d are possible", cJSON_GetArraySize(list),
				 KGB_MAX_DIMS);
	*ndim = 0;
	cJSON_ArrayForEach(item, list) {
		if (!kgb_yaml_whole(item, &sizes[*ndim]) || sizes[*ndim] < 0)
			return fail_case(x, "dim %d: expected a size, a whole number >= 0", *ndim);
		++*ndim;
	}
	return 0;
}

static int expand_layout(const struct kgb_case_expander *x, struct kgb_arg *arg)
{
	struct kgb_err why = KGB_ERR_INIT;

	if (resolve_text(x, arg->param->layout, "contiguous", &arg->layout) < 0)
		return -1;
	if (kgb_layout_check(arg->layout, arg->param->result >= 0, &why) < 0)
		return fail_case(x, "%s", why.msg);
	return 0;
}

static int expand_tensor(const struct kgb_case_expander *x, struct kgb_arg *arg)
{
	int64_t sizes[KGB_MAX_DIMS];
	int ndim = 0;
	const char *dtype_name = NULL, *fill = NULL;
	enum kgb_dtype dtype = x->dtype;
	struct kgb_err why = KGB_ERR_INIT;

	if (expand_shape(x, arg->param->shape, sizes, &ndim, &arg->is_absent) < 0)
		return -1;
	if (arg->is_absent && arg->param->result >= 0)
		return fail_case(x, "a tensor that holds a result cannot be null");
	arg->view = (struct kgb_tensor_view){.dtype = x->dtype, .ndim = 1};
	arg->specials = x->line->specials;
	arg->has_nan_bits = x->interface->tolerance.has_nan_bits;
	arg->has_subnormals =
		x->interface->tolerance.is_exact && !x->interface->tolerance.is_flushed;
	if (arg->is_absent)
		return 0;
	if (expand_layout(x, arg) < 0 ||
	    resolve_text(x, arg->param->dtype, NULL, &dtype_name) < 0 ||
	    resolve_text(x, arg->param->fill, "normal", &fill) < 0)
		return -1;
	if (kgb_dtype_parse(dtype_name, &dtype, &why) < 0 ||
	    kgb_tensor_view_layout(&arg->view, dtype, sizes, ndim, arg->layout, &why) < 0)
		return fail_case(x, "%s", why.msg);
	if (parse_fill(x, fill, arg) < 0)
		return -1;
	if (kgb_fill_is_distinct(arg->fill) && kgb_layout_check(arg->layout, true, &why) < 0)
		return fail_case(x, "fill '%s' cannot hold in layout '%s': its elements overlap",
				 fill, arg->layout);
	return fit_fill(x, arg);
}

/* ---- arguments ---- */

static int expand_arg(const struct kgb_case_expander *x, struct kgb_arg *arg)
{
	if (arg->param->kind == KGB_PARAM_TENSOR)
		return expand_tensor(x, arg);
	return arg->param->kind == KGB_PARAM_OUT ? expand_layout(x, arg) : expand_value(x, arg);
}

/* The tensor that row numbers point into must have that many rows. */
static int check_into(struct kgb_case_expander *x, struct kgb_case *c, size_t i)
{
	struct kgb_arg *arg = &c->args[i];
	size_t k = i + 1;

	x->param = arg->param;
	while (!kgb_str_eq(c->args[k].param->name, arg->param->into))
		k++; /* the spec's loader checked that it exists */
	const struct kgb_tensor_view *rows = &c->args[k].view;
	bool whole = arg->fill == KGB_FILL_INT || arg->fill == KGB_FILL_DISTINCT;
	if (arg->is_absent || arg->view.dtype != KGB_DTYPE_INT64 || !whole || arg->lo < 0 ||
	    !kgb_tensor_view_is_contiguous(&arg->view) || arg->view.offset != 0)
		return fail_case(x, "into: expected contiguous int64 numbers, int or distinct");
	if (c->args[k].is_absent || rows->ndim != 2 || !kgb_tensor_view_is_contiguous(rows) ||
	    rows->offset != 0 || arg->hi >= (double)rows->sizes[0])
		return fail_case(
			x, "into: '%s' must be a contiguous matrix with a row for each number",
			arg->param->into);
	arg->behind = k;
	return 0;
}

static int expand_may_be(struct kgb_case_expander *x, struct kgb_case *c, size_t i)
{
	struct kgb_arg *arg = &c->args[i];
	const char *name = NULL;

	x->param = arg->param;
	if (resolve_text(x, x->param->may_be, "none", &name) < 0)
		return -1;
	while (arg->other < i && !kgb_str_eq(c->args[arg->other].param->name, name))
		arg->other++;
	arg->may_be_other = arg->other < i && c->args[arg->other].param->kind == KGB_PARAM_TENSOR;
	return arg->may_be_other || kgb_str_eq(name, "none")
		       ? 0
		       : fail_case(x, "may_be: '%.80s' is no earlier tensor", name);
}

static int expand_read(struct kgb_case_expander *x, struct kgb_case *c, size_t i)
{
	const char *text = NULL;
	struct kgb_err why = KGB_ERR_INIT;

	x->param = c->args[i].param;
	if (resolve_text(x, x->param->read, "all", &text) < 0)
		return -1;
	if (kgb_str_eq(text, "all"))
		return 0;
	return kgb_read_parse(c, i, text, &why) < 0 ? fail_case(x, "read: %s", why.msg) : 0;
}

int kgb_case_args_expand(struct kgb_case_expander *x, struct kgb_case *c)
{
	c->n_args = x->interface->n_params;
	for (size_t i = 0; i < c->n_args; i++) {
		x->param = c->args[i].param = &x->interface->params[i];
		if (expand_arg(x, &c->args[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < c->n_args; i++) {
		if (c->args[i].param->into && check_into(x, c, i) < 0)
			return -1;
		if (c->args[i].param->may_be && expand_may_be(x, c, i) < 0)
			return -1;
		if (c->args[i].param->read && !c->args[i].is_absent && expand_read(x, c, i) < 0)
			return -1;
	}
	return 0;
}
