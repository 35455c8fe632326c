/* SPDX-License-Identifier: MIT */
#include "verify/cases/case.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "verify/fills/fill.h"

/* ---- for readers ---- */

/* In Python's notation: the shortest digits that read back equal, always with the mark of a
 * float. */
static void describe_float(double number, struct kgb_buf *out)
{
	char digits[40];
	for (int precision = 1; precision <= 17; precision++) {
		double back = 0;
		snprintf(digits, sizeof(digits), "%.*g", precision, number);
		if (kgb_parse_double(digits, &back, NULL) == 0 && back == number)
			break;
	}
	kgb_buf_adds(out, digits);
	if (!strpbrk(digits, ".en"))
		kgb_buf_adds(out, ".0");
}

void kgb_case_value_describe(const struct kgb_case_value *value, struct kgb_buf *out)
{
	const enum kgb_case_value_kind kind = value->kind;

	if (kind == KGB_CASE_VALUE_NONE) {
		kgb_buf_adds(out, "None");
	} else if (kind == KGB_CASE_VALUE_BOOL) {
		kgb_buf_adds(out, value->boolean ? "True" : "False");
	} else if (kind == KGB_CASE_VALUE_INT) {
		kgb_buf_addf(out, "%lld", (long long)value->integer);
	} else if (kind == KGB_CASE_VALUE_FLOAT) {
		describe_float(value->number, out);
	} else if (kind == KGB_CASE_VALUE_COMPLEX) {
		kgb_buf_adds(out, "complex(");
		describe_float(value->number, out);
		kgb_buf_adds(out, ", ");
		describe_float(value->imaginary, out);
		kgb_buf_addc(out, ')');
	} else if (kind == KGB_CASE_VALUE_INTS) {
		kgb_buf_addc(out, '[');
		for (size_t i = 0; i < value->n_ints; i++)
			kgb_buf_addf(out, "%s%lld", i ? ", " : "", (long long)value->ints[i]);
		kgb_buf_addc(out, ']');
	} else if (kind == KGB_CASE_VALUE_DTYPE) {
		kgb_buf_addf(out, "torch.%s", kgb_dtype_name(value->dtype));
	} else if (kind == KGB_CASE_VALUE_DEVICE) {
		kgb_buf_adds(out, "<the device>");
	} else {
		kgb_buf_addf(out, "'%s'", value->str);
	}
}

/* "0.5" or "0.5 + 1 * k" */
static void describe_points(const struct kgb_points *points, struct kgb_buf *out)
{
	kgb_buf_addf(out, "%.6g", points->first);
	if (points->step != 0)
		kgb_buf_addf(out, " + %.6g * k", points->step);
}

/* How the elements differ from the usual ones: " times 2^-12, sorted". */
static void describe_values(const struct kgb_values *values, struct kgb_buf *out)
{
	static const char *const patterns[KGB_N_PATTERNS] = {
		[KGB_PATTERN_NONE] = "",
		[KGB_PATTERN_CONSTANT] = ", nearly constant",
		[KGB_PATTERN_TWO_VALUES] = ", two values",
		[KGB_PATTERN_ZEROS] = ", many zeros",
		[KGB_PATTERN_ZERO_BLOCKS] = ", blocks of zeros",
		[KGB_PATTERN_ZERO_REGION] = ", a region of zeros",
		[KGB_PATTERN_SORTED] = ", sorted, some elements excepted",
		[KGB_PATTERN_PERIODIC] = ", periodic",
		[KGB_PATTERN_RUNS] = ", runs of equal elements",
		[KGB_PATTERN_COARSE] = ", numbers of few bits",
		[KGB_PATTERN_POINTS] = ", at or near ",
		[KGB_PATTERN_SHARES] = ", lines with the sum ",
		[KGB_PATTERN_UNIT] = ", lines with the norm ",
		[KGB_PATTERN_MIRRORED] = ", lines with mirrored halves",
		[KGB_PATTERN_EVEN] = ", evenly spaced",
		[KGB_PATTERN_PEAK] = ", lines up and down",
		[KGB_PATTERN_OPPOSITE] = ", pairs of opposite numbers",
	};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	kgb_buf_adds(&text, patterns[values->pattern]);
	if (kgb_pattern_has_points(values->pattern))
		describe_points(&values->points, &text);
	if (values->scale != 0)
		kgb_buf_addf(&text, ", %s 2^%d",
			     values->scales_rows || values->scales_parts ? "some times" : "times",
			     values->scale);
	if (values->numbers)
		kgb_buf_adds(&text, values->is_beyond_number ? ", beyond a number of kernel.py"
							     : ", numbers of kernel.py");
	if (values->has_neighbours)
		kgb_buf_adds(&text, ", some elements next to others");
	if (text.len > 0)
		kgb_buf_addf(out, " (%s)", text.ptr + strlen(", "));
}

static void describe_tensor(const struct kgb_case *c, const struct kgb_arg *arg,
			    struct kgb_buf *out)
{
	const struct kgb_arg *rows = arg->param->into ? &c->args[arg->behind] : NULL;
	const bool is_changed = (rows ? rows : arg)->param->result >= 0;

	if (arg->is_absent)
		kgb_buf_adds(out, "None");
	else
		kgb_tensor_view_describe(&arg->view, out);
	if (rows) {
		kgb_buf_adds(out, " (addresses of rows of ");
		kgb_tensor_view_describe(&rows->view, out);
		kgb_buf_adds(out, is_changed ? ", in place)" : ")");
	} else if (is_changed) {
		kgb_buf_adds(out, arg->param->is_kept ? " (returned as it is)" : " (in place)");
	}
	describe_values(&arg->values, out);
}

/* An argument's name, or its place in the list that is passed: "tensors[0]". */
static void describe_place(const struct kgb_case *c, size_t i, struct kgb_buf *out)
{
	const char *list = c->args[i].param->list;
	size_t n = 0;

	if (!list) {
		kgb_buf_adds(out, c->args[i].param->name);
		return;
	}
	for (; i > 0 && kgb_str_eq(c->args[i - 1].param->list, list); i--)
		n += !c->args[i - 1].is_absent;
	kgb_buf_addf(out, "%s[%zu]", list, n);
}

static void describe_arg(const struct kgb_case *c, const struct kgb_arg *arg, struct kgb_buf *out)
{
	if (arg->is_left_out)
		kgb_buf_adds(out, "<not passed> ");
	if (arg->is_part) {
		describe_tensor(c, arg, out);
		kgb_buf_adds(out, " in the storage of ");
		describe_place(c, arg->same_as, out);
	} else if (arg->is_repeated) {
		describe_place(c, arg->same_as, out);
		kgb_buf_adds(out, arg->is_transposed ? ".mT" : "");
	} else if (arg->param->kind == KGB_PARAM_TENSOR)
		describe_tensor(c, arg, out);
	else if (arg->param->kind == KGB_PARAM_OUT)
		kgb_buf_addf(out, "<%s output buffer>", arg->layout);
	else
		kgb_case_value_describe(&arg->value, out);
}

/* Tensors of one list from args[*i] on, without those that are absent; *i becomes the last one's
 * number. */
static void describe_list(const struct kgb_case *c, size_t *i, struct kgb_buf *out)
{
	const char *list = c->args[*i].param->list;
	const char *between = "";

	kgb_buf_addc(out, '[');
	for (size_t k = *i; k < c->n_args && kgb_str_eq(c->args[k].param->list, list); k++) {
		*i = k;
		if (c->args[k].is_absent)
			continue;
		kgb_buf_adds(out, between);
		describe_arg(c, &c->args[k], out);
		between = ", ";
	}
	kgb_buf_addc(out, ']');
}

/* "NAME=..." of the argument at *i, or of the list that begins there; *i becomes its last number.
 */
static void describe_named(const struct kgb_case *c, size_t *i, struct kgb_buf *out)
{
	const struct kgb_param *param = c->args[*i].param;

	kgb_buf_addf(out, "%s=", param->list ? param->list : param->name);
	if (param->list)
		describe_list(c, i, out);
	else
		describe_arg(c, &c->args[*i], out);
}

/* From the caller's view: a list is one argument; memory behind addresses is not an argument. */
void kgb_case_describe_unlike(const struct kgb_case *c, const struct kgb_case *other,
			      struct kgb_buf *out)
{
	const char *between = "";

	for (size_t i = 0; i < c->n_args; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		KGB_AUTO(buf) struct kgb_buf same = KGB_BUF_INIT(0);
		size_t k = i;
		if (c->args[i].param->is_behind)
			continue;
		if (other)
			describe_named(other, &k, &same);
		describe_named(c, &i, &text);
		if (kgb_str_eq(text.ptr, same.ptr))
			continue;
		kgb_buf_addf(out, "%s%s", between, text.ptr);
		between = ", ";
	}
}

static bool has_list(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->list || c->args[i].value.kind == KGB_CASE_VALUE_INTS)
			return true;
	return false;
}

static bool has_gradient(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (kgb_case_has_gradient(c, i))
			return true;
	return false;
}

void kgb_case_describe(const struct kgb_case *c, struct kgb_buf *out)
{
	static const char *const modes[] = {
		[KGB_GRAD_ENABLED] = "",
		[KGB_GRAD_DISABLED] = "; under torch.no_grad()",
		[KGB_GRAD_INFERENCE] = "; under torch.inference_mode()",
	};

	static const char *const gradients[] = {
		[KGB_GRADIENT_NONE] = "",
		[KGB_GRADIENT_LEAF] = "; floating tensors that are only read have requires_grad",
		[KGB_GRADIENT_RESULT] =
			"; floating tensors that are only read have requires_grad and a grad_fn",
	};

	static const char *const types[] = {
		[KGB_DEFAULT_FLOAT32] = "",
		[KGB_DEFAULT_FLOAT16] = "; under torch.set_default_dtype(torch.float16)",
		[KGB_DEFAULT_BFLOAT16] = "; under torch.set_default_dtype(torch.bfloat16)",
		[KGB_DEFAULT_FLOAT64] = "; under torch.set_default_dtype(torch.float64)",
	};

	static const char *const callers[] = {
		[KGB_CALLER_PYTHON] = "",
		[KGB_CALLER_COMPILED] = "; torch.compiler says that it compiles, by dynamo, too",
		[KGB_CALLER_EXPORTED] = "; torch.compiler.is_compiling() is true",
		[KGB_CALLER_TRACED] = "; torch.jit.is_tracing() is true",
	};

	kgb_case_describe_unlike(c, NULL, out);
	kgb_buf_adds(out, c->style.passes_names ? "; arguments by name" : "");
	kgb_buf_adds(out, c->style.passes_tuples && has_list(c) ? "; lists are tuples" : "");
	kgb_buf_adds(out,
		     c->style.passes_parameters ? "; floating tensors are torch.nn.Parameter" : "");
	kgb_buf_adds(out, has_gradient(c) ? gradients[c->style.gradient] : "");
	kgb_buf_adds(out, modes[c->style.grad_mode]);
	kgb_buf_adds(out, types[c->style.default_type]);
	kgb_buf_adds(out, callers[c->style.caller]);
	kgb_buf_adds(out, c->style.without_asserts
				  ? "; kernel.py without asserts and docstrings, as by python -OO"
				  : "");
}

/* ---- for the hash of benchmarks ---- */

static void identify_tensor(const struct kgb_arg *arg, struct kgb_buf *out)
{
	const struct kgb_tensor_view *view = &arg->view;
	const struct kgb_read *read = &arg->read;

	kgb_buf_addf(out, " %s %s(%.17g,%.17g) at %lld", kgb_dtype_name(view->dtype),
		     kgb_fill_name(arg->fill), arg->lo, arg->hi, (long long)view->offset);
	for (int k = 0; k < view->ndim; k++)
		kgb_buf_addf(out, " %lld:%lld", (long long)view->sizes[k],
			     (long long)view->strides[k]);
	if (read->shape != KGB_READ_ALL)
		kgb_buf_addf(out, " read %d %s", (int)read->shape, arg->param->read);
	if (arg->param->into)
		kgb_buf_addf(out, " into %s", arg->param->into);
}

static void identify_arg(const struct kgb_arg *arg, struct kgb_buf *out)
{
	kgb_buf_addf(out, "%s %d", arg->param->name, (int)arg->param->kind);
	if (arg->is_absent)
		kgb_buf_adds(out, " absent");
	else if (arg->param->kind == KGB_PARAM_TENSOR)
		identify_tensor(arg, out);
	else if (arg->param->kind == KGB_PARAM_OUT)
		kgb_buf_addf(out, " %s", arg->layout);
	else
		kgb_case_value_describe(&arg->value, out);
	kgb_buf_addc(out, '\n');
}

void kgb_case_identify(const struct kgb_case *c, struct kgb_buf *out)
{
	const char *baseline = c->interface->baseline;

	kgb_buf_addf(out, "%s: %d %s %s\n", c->name, kgb_str_starts(baseline, "python:"),
		     strchr(baseline, ':') + 1, c->interface->baseline_sha256);
	for (size_t i = 0; i < c->n_args; i++)
		identify_arg(&c->args[i], out);
}

/* ---- for other files ---- */

int kgb_split_args(const char *text, struct kgb_strv *out)
{
	size_t len = strlen(text);

	if (len < 2 || text[0] != '(' || text[len - 1] != ')')
		return -1;
	KGB_AUTO(free) char *inside = kgb_xstrndup(text + 1, len - 2);
	kgb_strv_split(out, inside, ',');
	return 0;
}

/* Number of the argument whose storage argument i has. */
static size_t owner_of(const struct kgb_case *c, size_t i)
{
	return c->args[i].is_repeated ? c->args[i].same_as : i;
}

bool kgb_case_changes(const struct kgb_case *c, size_t i)
{
	for (size_t k = 0; k < c->n_args; k++)
		if (owner_of(c, k) == owner_of(c, i) && c->args[k].param->result >= 0)
			return true;
	return false;
}

bool kgb_case_has_gradient(const struct kgb_case *c, size_t i)
{
	const struct kgb_arg *arg = &c->args[i];
	const bool may_change =
		c->style.gradient == KGB_GRADIENT_LEAF && c->style.grad_mode == KGB_GRAD_DISABLED;

	return c->style.gradient != KGB_GRADIENT_NONE && arg->param->kind == KGB_PARAM_TENSOR &&
	       !arg->is_absent && (may_change || !kgb_case_changes(c, i)) &&
	       (kgb_dtype_is_float(arg->view.dtype) || kgb_dtype_is_complex(arg->view.dtype));
}

bool kgb_case_names_arg(const struct kgb_case *c, size_t i)
{
	size_t n_leading = 0;

	while (n_leading < c->n_args && c->args[n_leading].param->kind == KGB_PARAM_TENSOR)
		n_leading++;
	return c->args[i].param->keyword || (c->style.passes_names && i >= n_leading);
}

int64_t kgb_case_elements(const struct kgb_case *c)
{
	int64_t n = 0;
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR)
			n += kgb_tensor_view_numel(&c->args[i].view);
	return n;
}

bool kgb_case_has_read_mask(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].read.shape != KGB_READ_ALL)
			return true;
	return false;
}

bool kgb_case_follows_mode(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		if (arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent &&
		    !arg->param->unused && kgb_fill_follows_mode(arg))
			return true;
	}
	return false;
}
