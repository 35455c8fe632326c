/* SPDX-License-Identifier: MIT */
/** \file
 * The texts about an operator in prompts, from its spec and its cases, and facts that choose
 * between sentences of the templates. No code here is for one operator only. */
#include <ctype.h>
#include <math.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "methods/prompt.h"
#include "verify/cases/cases.h"

/* ---- functions ---- */

/* The default that the schema gives a parameter, as Python writes it, with its "="; *len is 0 if it
 * gives none, or a name that Python does not know. */
static const char *default_of(const struct kgb_interface *interface, const struct kgb_param *param,
			      size_t *len)
{
	static const char *const names[] = {"None", "True", "False", NULL};
	const char *from = kgb_schema_find_param(interface->schema, param->name);
	int depth = 0;

	*len = 0;
	if (!from || *from != '=')
		return "";
	const char *to = from;
	for (; *to && (depth > 0 || !strchr(",)", *to)); to++)
		depth += (*to == '[') - (*to == ']');
	KGB_AUTO(free) char *value = kgb_xstrndup(from + 1, (size_t)(to - from) - 1);
	if (!isalpha((unsigned char)*value) || kgb_str_is_one_of(value, names))
		*len = (size_t)(to - from);
	return from;
}

/* Whether Python permits a default for parameter i: no positional one behind it lacks one. */
static bool may_have_default(const struct kgb_interface *interface, const struct kgb_param *params,
			     size_t n, size_t i)
{
	for (size_t k = i; k < n && !params[i].keyword && !params[k].keyword; k++) {
		size_t len;
		(void)default_of(interface, &params[k], &len);
		if (len == 0)
			return false;
	}
	return true;
}

/** "def add_Tensor(self, other, *, alpha=1)": names and order as the judge will call them. */
static void add_signature(const struct kgb_interface *interface, struct kgb_buf *out)
{
	kgb_buf_addf(out, "def %s(", interface->entry);
	bool keyword = false;
	struct kgb_param params[KGB_MAX_ARGS];
	size_t n_params = kgb_interface_called_params(interface, params);
	for (size_t i = 0; i < n_params; i++) {
		const struct kgb_param *param = &params[i];
		if (i > 0)
			kgb_buf_adds(out, ", ");
		if (param->keyword && !keyword) {
			kgb_buf_adds(out, "*, ");
			keyword = true;
		}
		kgb_buf_adds(out, param->name);
		size_t len;
		const char *value = default_of(interface, param, &len);
		if (may_have_default(interface, params, n_params, i))
			(void)kgb_buf_add(out, value, len);
	}
	kgb_buf_addc(out, ')');
}

static bool leads_to_result(const struct kgb_interface *interface, const struct kgb_param *array)
{
	for (size_t i = 0; i < interface->n_params; i++)
		if (kgb_str_eq(interface->params[i].name, array->into))
			return interface->params[i].result >= 0;
	return false;
}

/** The use of a parameter that receives a result. */
static void add_effect(const struct kgb_interface *interface, size_t i, struct kgb_buf *out)
{
	const struct kgb_param *param = &interface->params[i];
	const bool is_listed = i > 0 && param->list && kgb_str_eq(param[-1].list, param->list);

	if (param->kind == KGB_PARAM_OUT)
		kgb_buf_addf(out, "; writes its result into `%s`", param->name);
	else if (param->into && leads_to_result(interface, param))
		kgb_buf_addf(out, "; modifies the memory that `%s` has the addresses of",
			     param->name);
	else if (param->is_behind || param->result < 0)
		return;
	else if (param->is_kept)
		kgb_buf_addf(out, "; returns a given `%s` as it is, unchanged", param->name);
	else if (!param->list)
		kgb_buf_addf(out, "; modifies `%s` in place", param->name);
	else if (!is_listed)
		kgb_buf_addf(out, "; modifies the tensors in `%s` in place", param->list);
}

static void add_interface(const struct kgb_spec *spec, size_t i_interface, struct kgb_buf *out)
{
	const struct kgb_interface *interface = &spec->interfaces[i_interface];

	kgb_buf_adds(out, "- `");
	if (i_interface > 0 && kgb_str_eq(interface[-1].entry, interface->entry))
		kgb_buf_adds(out, interface->entry);
	else
		add_signature(interface, out);
	kgb_buf_addf(out, "` for `%s`", interface->schema);
	for (size_t i = 0; i < interface->n_params; i++)
		add_effect(interface, i, out);
	kgb_buf_adds(out, interface->n_returned > 1 ? "; returns a tuple of the results"
			  : interface->n_returned   ? "; returns the result"
						    : "; returns `None`");
	if (interface->doc)
		kgb_buf_addf(out, ". %s", interface->doc);
	kgb_buf_addc(out, '\n');
}

/** The largest standard case: boundary cases are untypical. */
static void add_checked(const struct kgb_interface *interface, const struct kgb_cases *cases,
			struct kgb_buf *out)
{
	const struct kgb_case *shown = NULL;

	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i];
		if (c->interface == interface && c->mode == KGB_MODE_STANDARD &&
		    (!shown || kgb_case_elements(c) > kgb_case_elements(shown)))
			shown = c;
	}
	if (!shown)
		return;
	kgb_buf_addf(out, "- `%s`, checked for instance with `", interface->entry);
	kgb_case_describe(shown, out);
	kgb_buf_adds(out, "`\n");
}

/** All benchmarks of the interface: the first one, and the differences of the others from it. */
static void add_timed(const struct kgb_interface *interface, const struct kgb_cases *cases,
		      struct kgb_buf *out)
{
	const struct kgb_case *first = NULL;

	for (size_t i = cases->n; i < cases->n + cases->n_benchmarks; i++) {
		const struct kgb_case *c = &cases->items[i];
		if (c->interface != interface)
			continue;
		if (first)
			kgb_buf_adds(out, ", with `");
		else
			kgb_buf_addf(out, "- `%s`, timed with `", interface->entry);
		kgb_case_describe_unlike(c, first, out);
		kgb_buf_addc(out, '`');
		first = first ? first : c;
	}
	if (first)
		kgb_buf_addc(out, '\n');
}

/* ---- cases ---- */

static bool names_dtype(const struct kgb_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->dtypes.n; i++)
		if (kgb_str_eq(spec->dtypes.items[i], name))
			return true;
	return false;
}

static void note_view(struct kgb_prompt_operator *op, const struct kgb_arg *arg)
{
	const int64_t numel = kgb_tensor_view_numel(&arg->view);

	op->dtypes_seen[arg->view.dtype] = true;
	op->rank = arg->view.ndim > op->rank ? arg->view.ndim : op->rank;
	op->has_empty |= numel == 0;
	op->has_views |= !kgb_tensor_view_is_contiguous(&arg->view);
}

static void note_arg(struct kgb_prompt_operator *op, const struct kgb_arg *arg)
{
	const enum kgb_case_value_kind kind = arg->value.kind;

	if (arg->param->kind == KGB_PARAM_TENSOR) {
		if (!arg->is_absent)
			note_view(op, arg);
	} else if (arg->param->kind == KGB_PARAM_OUT) {
		op->has_views |= !kgb_str_eq(arg->layout, "contiguous");
	} else if (kind == KGB_CASE_VALUE_DTYPE) {
		op->dtypes_seen[arg->value.dtype] = true;
	} else if (kind == KGB_CASE_VALUE_FLOAT || kind == KGB_CASE_VALUE_COMPLEX) {
		op->has_float_values = true;
	}
}

/** Elements of the case's largest tensor. */
static int64_t most_elements(const struct kgb_case *c)
{
	int64_t most = 0;

	for (size_t i = 0; i < c->n_args; i++) {
		int64_t n = kgb_tensor_view_numel(&c->args[i].view);
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent && n > most)
			most = n;
	}
	return most;
}

static void note_cases(struct kgb_prompt_operator *op, const struct kgb_cases *cases)
{
	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i];
		op->has_single |= most_elements(c) == 1;
		op->has_sizes |= most_elements(c) > 1;
		op->dtypes_seen[c->dtype] = true;
		op->has_outliers |= c->mode == KGB_MODE_OUTLIER;
		op->has_specials |= c->mode == KGB_MODE_SPECIAL;
		for (size_t k = 0; k < c->n_args; k++)
			note_arg(op, &c->args[k]);
	}
	op->is_timed = cases->n_benchmarks > 0;
}

/** The domain, as far as some seeds show it: every choice among few values is dealt within them. */
static int note_drawn_cases(struct kgb_prompt_operator *op, const struct kgb_spec *spec,
			    struct kgb_err *err)
{
	enum { SEEDS = 8 };

	for (int i = 0; i < SEEDS; i++) {
		struct kgb_cases cases;
		if (kgb_cases_expand(spec, &(struct kgb_seed){{(uint8_t)i}}, &cases, err) < 0)
			return -1;
		note_cases(op, &cases);
		kgb_cases_release(&cases);
	}
	return 0;
}

/** Those of the spec, then the others of some cases. */
static void add_dtypes(struct kgb_prompt_operator *op)
{
	const char *before = "";

	for (size_t i = 0; i < op->spec->dtypes.n; i++, before = ", ")
		kgb_buf_addf(&op->dtypes, "%s`%s`", before, op->spec->dtypes.items[i]);
	before = "; in some cases also ";
	for (enum kgb_dtype d = 0; d < KGB_N_DTYPES; d++) {
		if (!op->dtypes_seen[d] || names_dtype(op->spec, kgb_dtype_name(d)))
			continue;
		kgb_buf_addf(&op->dtypes, "%s`%s`", before, kgb_dtype_name(d));
		before = ", ";
	}
}

/* ---- accuracy ---- */

/** Whether some result of the interface is compared by numbers. */
static bool is_compared(const struct kgb_interface *interface)
{
	for (size_t i = 0; i < interface->n_results; i++)
		if (interface->random_results[i].kind == KGB_RANDOM_NONE ||
		    interface->random_results[i].kind == KGB_RANDOM_PRODUCT)
			return !interface->is_unwritten && !interface->is_number;
	return false;
}

static bool sees_float(const struct kgb_prompt_operator *op, bool wide)
{
	for (enum kgb_dtype d = 0; d < KGB_N_DTYPES; d++)
		if (op->dtypes_seen[d] && kgb_dtype_is_float(d) &&
		    (kgb_dtype_part(d) == KGB_DTYPE_FLOAT64) == wide)
			return true;
	return false;
}

/** "2^-23 for float32, 2^-10 for float16" */
static void add_spacings(struct kgb_prompt_operator *op)
{
	bool told[KGB_N_DTYPES] = {false};
	const char *before = "";

	for (enum kgb_dtype d = 0; d < KGB_N_DTYPES; d++) {
		const enum kgb_dtype part = kgb_dtype_part(d);
		if (!op->dtypes_seen[d] || !kgb_dtype_is_float(d) || told[part])
			continue;
		told[part] = true;
		kgb_buf_addf(&op->spacings, "%s2^%d in %s", before, (int)log2(kgb_dtype_eps(part)),
			     kgb_dtype_name(part));
		before = ", ";
	}
}

/** A quantised result is compared before it is rounded: kgb_compare_rounded. */
static void add_rounded(const struct kgb_tolerance *tolerance, struct kgb_buf *out)
{
	if (tolerance->before_rounding == KGB_ACCUMULATE_RESULT)
		kgb_buf_addf(out, "%g spacings of the input's type", tolerance->ulps);
	else
		kgb_buf_addf(out, "%g float32 spacings", 4 * tolerance->ulps);
}

/** The strictest of the interfaces that allow errors; a kernel keeps to it in all of them. */
static void note_tolerance(struct kgb_prompt_operator *op, const struct kgb_interface *interface)
{
	const struct kgb_tolerance *tolerance = &interface->tolerance;

	if (!is_compared(interface))
		return;
	op->has_signed_zeros |= tolerance->zeros != KGB_ZEROS_ANY;
	op->has_nan_bits |= tolerance->has_nan_bits;
	if (tolerance->is_exact) {
		kgb_buf_addf(&op->exact, "%s`%s`", op->exact.len ? ", " : "", interface->entry);
		return;
	}
	op->factor = op->allows_errors ? fmin(op->factor, tolerance->factor) : tolerance->factor;
	op->ulps = op->allows_errors ? fmin(op->ulps, tolerance->ulps) : tolerance->ulps;
	op->rounds_terms = (op->rounds_terms || !op->allows_errors) &&
			   tolerance->accumulate == KGB_ACCUMULATE_RESULT;
	op->allows_errors = true;
	op->adds_up |= interface->magnitude && tolerance->accumulate == KGB_ACCUMULATE_FLOAT32;
	for (size_t i = 0; i < interface->n_results; i++)
		if (interface->is_rounded[i] && op->rounded.len == 0)
			add_rounded(tolerance, &op->rounded);
}

static void note_accuracy(struct kgb_prompt_operator *op)
{
	for (size_t i = 0; i < op->spec->n_interfaces; i++)
		note_tolerance(op, &op->spec->interfaces[i]);
	op->has_narrow_floats = sees_float(op, false);
	op->has_wide_floats = sees_float(op, true);
	add_spacings(op);
	/* One line for all functions. */
	if (op->exact.len > 0 && !op->allows_errors) {
		kgb_buf_truncate(&op->exact, 0);
		kgb_buf_adds(&op->exact, "all functions");
	}
}

/* ---- for the rest of the room ---- */

int kgb_prompt_operator_init(struct kgb_prompt_operator *op, const struct kgb_spec *spec,
			     struct kgb_err *err)
{
	struct kgb_prompt_operator made = {
		.spec = spec,
		.rank = -1,
		.interfaces = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
		.checked = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
		.timed = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
		.dtypes = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
		.exact = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
		.spacings = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
		.rounded = KGB_BUF_INIT(KGB_LIMIT_PROMPT),
	};
	struct kgb_cases cases;

	if (kgb_cases_expand(spec, NULL, &cases, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->n_interfaces; i++) {
		add_interface(spec, i, &made.interfaces);
		add_checked(&spec->interfaces[i], &cases, &made.checked);
		add_timed(&spec->interfaces[i], &cases, &made.timed);
	}
	kgb_cases_release(&cases);
	if (note_drawn_cases(&made, spec, err) < 0) {
		kgb_prompt_operator_release(&made);
		return -1;
	}
	add_dtypes(&made);
	note_accuracy(&made);
	*op = made;
	return 0;
}

void kgb_prompt_operator_release(struct kgb_prompt_operator *op)
{
	struct kgb_buf *const texts[] = {&op->interfaces, &op->checked,  &op->timed,  &op->dtypes,
					 &op->exact,      &op->spacings, &op->rounded};

	for (size_t i = 0; i < KGB_ARRAY_LEN(texts); i++)
		kgb_buf_release(texts[i]);
}

void kgb_prompt_stub(const struct kgb_spec *spec, struct kgb_buf *out)
{
	kgb_buf_addf(out,
		     "# %s: nothing is written yet. TASK.md states what each function must do.\n",
		     spec->name);
	kgb_buf_adds(out, "import torch\nimport triton\nimport triton.language as tl\n");
	for (size_t i = 0; i < spec->n_interfaces; i++) {
		kgb_buf_adds(out, "\n\n");
		add_signature(&spec->interfaces[i], out);
		kgb_buf_adds(out, ":\n    raise NotImplementedError\n");
	}
}
