/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "verify/spec/spec_loader.h"

#define NO_RESULT (-1)

/* ---- what the decoder fills ---- */

struct raw_function {
	const char *aten, *python;
};

struct raw_interface {
	struct kgb_interface interface;
	struct raw_function reference, baseline;
	const char *magnitude;
	bool returns;
	const cJSON *rounded, *laid_out, *laws, *tolerance;
	struct kgb_objects params; /* kgb_param */
	struct kgb_strs cases;
	const char *bytes, *flops, *terms, *traffic;
};

struct raw_tolerance {
	struct kgb_tolerance tolerance;
	int nan;
};

static const char *const as_names[] = {"auto", "float", "complex", "dtype", "device", NULL};
static const char *const accumulate_names[] = {"float32", "result", NULL};
static const char *const zeros_names[] = {"any", "signed", "positive", NULL};
static const char *const nan_names[] = {"any", "bits", NULL};

static const struct kgb_field function_table[] = {
	KGB_FIELD_ROW(STR, raw_function, aten, "overload below torch.ops.aten: add.Tensor"),
	KGB_FIELD_ROW(STR, raw_function, python, "FILE.py:FUNCTION in <source>/reference"),
	KGB_FIELD_END,
};

#define ROW(type, member, ...) KGB_FIELD_ROW(type, kgb_param, member, __VA_ARGS__)
static const struct kgb_field param_table[] = {
	ROW(STR, name, "Python name", .required = true),
	KGB_FIELD_ROW_AS(NODE, kgb_param, "tensor", shape,
			 "input of this shape: $variable or [4, 5]"),
	ROW(NODE, value, "$variable, $variable|default or a literal"),
	KGB_FIELD_ROW_AS(I64, kgb_param, "out", result, "buffer for the result of this number",
			 .min = NO_RESULT, .max = KGB_MAX_RESULTS - 1, .def = "-1"),
	ROW(I64, result, "number of the result that is here after the call (in place)",
	    .min = NO_RESULT, .max = KGB_MAX_RESULTS - 1, .def = "-1"),
	ROW(STR, layout, "memory layout: contiguous"),
	ROW(STR, dtype, "element type: $dtype"),
	ROW(STR, fill, "distribution of the values: normal"),
	ROW(STR, read, "which elements are read: all"),
	ROW(STR, list, "name of the Python list that the tensor is passed in"),
	ROW(STR, into, "name of the tensor whose rows this one has the addresses of"),
	ROW(STR, may_be, "name of an earlier tensor that may be this one, though one is changed"),
	ROW(ENUM, as, "how a value is passed", .names = as_names),
	ROW(BOOL, keyword, "passed by name"),
	ROW(BOOL, unused, "what is passed changes no result"),
	KGB_FIELD_END,
};
#undef ROW

#define ROW(type, member, ...) KGB_FIELD_ROW(type, raw_interface, member, __VA_ARGS__)
#define OF_INTERFACE(type, key, member, ...) \
	KGB_FIELD_ROW_AS(type, raw_interface, key, interface.member, __VA_ARGS__)
static const struct kgb_field interface_table[] = {
	OF_INTERFACE(STR, "entry", entry, "function that kernel.py defines", .required = true),
	OF_INTERFACE(STR, "schema", schema, "signature for the prompt", .required = true),
	OF_INTERFACE(STR, "doc", doc, "what this interface adds to the semantics"),
	OF_INTERFACE(STR, "same_as", same_as, "entry of another interface, the same function"),
	ROW(OBJECT, reference, "ground truth", .required = true, .sub = function_table),
	ROW(OBJECT, baseline, "what kernels are timed against: the reference",
	    .sub = function_table),
	ROW(STR, magnitude, "none, abs or FILE.py:FUNCTION: size of the terms that are added up"),
	ROW(BOOL, returns, "false: returns None", .def = "true"),
	OF_INTERFACE(I64, "results", n_results, "number of results", .min = 1,
		     .max = KGB_MAX_RESULTS, .def = "1"),
	OF_INTERFACE(I64, "returned", n_returned,
		     "how many of the results are returned, the first ones: all of them", .min = 1,
		     .max = KGB_MAX_RESULTS),
	OF_INTERFACE(I64, "nones", n_nones, "so many None are returned behind the results",
		     .max = KGB_MAX_RESULTS),
	ROW(NODE, rounded, "numbers of results that are rounded to a coarse type"),
	ROW(NODE, laid_out, "numbers of results whose strides must be the reference's"),
	OF_INTERFACE(BOOL, "number", is_number, "a Python number is returned, no tensor"),
	OF_INTERFACE(BOOL, "unwritten", is_unwritten,
		     "unwritten memory is returned: its elements do not count"),
	OF_INTERFACE(BOOL, "any_order", any_order,
		     "the reference adds up in any order: another process may give other bits"),
	ROW(NODE, laws, "how the elements of each result are distributed"),
	ROW(OBJECTS, params, "parameters in call order", .required = true, .sub = param_table,
	    .sub_size = sizeof(struct kgb_param)),
	ROW(STRS, cases, "names of case sets", .required = true),
	ROW(NODE, tolerance, "overrides parts of the spec's"),
	ROW(STR, bytes, "memory that a call must read and write: bytes(self)"),
	ROW(STR, flops, "arithmetic that a call must do: numel(self)"),
	ROW(STR, terms, "numbers that an element of the result adds up: dim(self, -1)"),
	ROW(STR, traffic, "memory that a call reads and writes, about"),
	KGB_FIELD_END,
};
#undef ROW
_Static_assert(sizeof(size_t) == sizeof(int64_t), "counts are decoded as int64_t, never negative");

#define ROW(type, key, member, ...) \
	KGB_FIELD_ROW_AS(type, raw_tolerance, key, tolerance.member, __VA_ARGS__)
static const struct kgb_field tolerance_table[] = {
	ROW(NUM, "factor", factor, "allowed error in units of the native implementation's own",
	    .max = 64),
	ROW(NUM, "ulps", ulps, "allowed error in units of eps", .max = 64),
	ROW(ENUM, "accumulate", accumulate, "precision in which terms are added up",
	    .names = accumulate_names),
	ROW(ENUM, "before_rounding", before_rounding,
	    "precision of what 'rounded' results are rounded from", .names = accumulate_names),
	ROW(ENUM, "zeros", zeros, "whether the sign of a zero counts", .names = zeros_names),
	KGB_FIELD_ROW(ENUM, raw_tolerance, nan, "whether the bits of a NaN count",
		      .names = nan_names),
	ROW(BOOL, "exact", is_exact, "every element must be the exact one, rounded once"),
	ROW(BOOL, "flushed", is_flushed, "subnormal arguments count as 0 on some hardware"),
	KGB_FIELD_END,
};
#undef ROW

/* ---- tolerance ---- */

/* Overrides the keys that are given in `node`, so that an interface can change one of them. */
static int load_tolerance(struct kgb_spec_loader *l, const cJSON *node, struct kgb_tolerance *out)
{
	struct raw_tolerance raw = {*out, out->has_nan_bits};

	if (!node)
		return 0;
	if (kgb_decode_over(tolerance_table, &l->spec->doc, node, &raw, &l->spec->arena, l->err) <
	    0)
		return kgb_ctx(l->err, "tolerance");
	if (raw.tolerance.factor <= 0 || raw.tolerance.ulps <= 0)
		return fail_at(l, node, "tolerance: factor and ulps must be greater than 0");
	*out = raw.tolerance;
	out->has_nan_bits = raw.nan != 0;
	if (out->has_nan_bits && !out->is_exact)
		return fail_at(l, node, "tolerance: 'nan: bits' needs 'exact'");
	return 0;
}

/* ---- references ---- */

/* A Python target must exist as a file; its bytes count as part of the spec. */
static int load_python_target(struct kgb_spec_loader *l, const cJSON *node, const char *target,
			      const char **out)
{
	struct kgb_spec *spec = l->spec;

	if (!kgb_spec__is_python_target(target))
		return fail_at(l, node,
			       "'%.80s' is not FILE.py:FUNCTION, with a file in %s/reference",
			       target, spec->source);
	*out = kgb_arena_printf(&spec->arena, "python:%s", target);
	KGB_AUTO(free) char *file = kgb_xstrndup(target, (size_t)(strchr(target, ':') - target));
	if (kgb_strv_has(&spec->reference_files, file))
		return 0;
	KGB_AUTO(free) char *path = kgb_path_join(spec->reference_dir, file);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	if (kgb_spec__read(l, "reference", file, path, &text) < 0) {
		struct kgb_err why = *l->err;
		return fail_at(l, node, "reference '%.80s': %s", target, why.msg);
	}
	kgb_strv_add(&spec->reference_files, file);
	return 0;
}

static int load_function(struct kgb_spec_loader *l, const cJSON *interface, const char *key,
			 const struct raw_function *raw, const char **out)
{
	const cJSON *node = kgb_json_get(interface, key);

	if (!raw->aten == !raw->python)
		return fail_at(l, node, "%s: give one of aten and python", key);
	if (raw->python)
		return load_python_target(l, node, raw->python, out);
	if (!kgb_spec__is_aten_target(raw->aten))
		return fail_at(l, node, "%s: '%.80s' is not an overload like add.Tensor", key,
			       raw->aten);
	*out = kgb_arena_printf(&l->spec->arena, "aten:%s", raw->aten);
	return 0;
}

/* Copy the hash of a Python function's file from the evidence. */
static void take_hash(const struct kgb_spec_loader *l, const char *python, char *out)
{
	KGB_AUTO(free)
	char *head = kgb_xasprintf("\nreference %.*s ", (int)strcspn(python, ":"), python);
	const char *found = strstr(l->evidence.ptr, head);

	KGB_ASSERT(found); /* load_python_target read it; the spec is the first line */
	memcpy(out, found + strlen(head), KGB_SHA256_HEX_LEN - 1);
}

static int load_functions(struct kgb_spec_loader *l, const struct raw_interface *raw,
			  struct kgb_interface *out)
{
	if (load_function(l, out->node, "reference", &raw->reference, &out->target) < 0)
		return -1;
	out->baseline = out->target;
	if (kgb_json_get(out->node, "baseline") &&
	    load_function(l, out->node, "baseline", &raw->baseline, &out->baseline) < 0)
		return -1;
	if (kgb_str_starts(out->baseline, "python:"))
		take_hash(l, out->baseline + strlen("python:"), out->baseline_sha256);
	return 0;
}

static int load_magnitude(struct kgb_spec_loader *l, const struct raw_interface *raw,
			  struct kgb_interface *out)
{
	const cJSON *node = kgb_json_get(out->node, "magnitude");

	if (!raw->magnitude || kgb_str_eq(raw->magnitude, "none"))
		return 0;
	if (kgb_str_eq(raw->magnitude, "abs")) {
		out->magnitude = raw->magnitude;
		return 0;
	}
	if (!strchr(raw->magnitude, ':'))
		return fail_at(l, node,
			       "magnitude: '%.80s' is none of: none, abs, FILE.py:FUNCTION",
			       raw->magnitude);
	return load_python_target(l, node, raw->magnitude, &out->magnitude);
}

/* ---- parameters ---- */

/* Keys that mean nothing for a kind of parameter are errors, else a typing slip changes what is
 * tested. */
static int refuse_keys(struct kgb_spec_loader *l, const struct kgb_param *p, const char *kind,
		       const char *const *keys)
{
	for (; *keys; keys++) {
		const cJSON *node = kgb_json_get(p->node, *keys);
		if (node)
			return fail_at(l, node, "parameter '%s': '%s' does not go with '%s'",
				       p->name, *keys, kind);
	}
	return 0;
}

static int load_tensor_param(struct kgb_spec_loader *l, struct kgb_param *out)
{
	static const char *const foreign[] = {"out", "value", "as", NULL};

	out->kind = KGB_PARAM_TENSOR;
	if (refuse_keys(l, out, "tensor", foreign) < 0)
		return -1;
	if (!cJSON_IsArray(out->shape) &&
	    !(cJSON_IsString(out->shape) && out->shape->valuestring[0] == '$'))
		return fail_at(l, out->shape,
			       "parameter '%s': tensor must be $variable or a list of sizes",
			       out->name);
	return 0;
}

/* The decoder has filled *out but for its kind. A key that is absent or null has its default. */
static int load_param(struct kgb_spec_loader *l, struct kgb_param *out)
{
	static const char *const foreign_to_out[] = {"value",  "as",     "dtype", "fill",
						     "result", "read",   "list",  "into",
						     "unused", "may_be", NULL};
	static const char *const foreign_to_value[] = {
		"layout", "dtype", "fill", "result", "read", "list", "into", "may_be", NULL};

	out->layout = out->layout ? out->layout : "contiguous";
	out->dtype = out->dtype ? out->dtype : "$dtype";
	out->fill = out->fill ? out->fill : "normal";
	if (!kgb_spec__is_identifier(out->name))
		return fail_at(l, kgb_json_get(out->node, "name"),
			       "name: '%.80s' is not a Python name", out->name);
	if (out->shape)
		return load_tensor_param(l, out);
	if (kgb_json_get(out->node, "out")) {
		out->kind = KGB_PARAM_OUT;
		return refuse_keys(l, out, "out", foreign_to_out);
	}
	if (!out->value)
		return fail_at(l, out->node, "parameter '%s': give one of tensor, out and value",
			       out->name);
	out->kind = KGB_PARAM_VALUE;
	return refuse_keys(l, out, "value", foreign_to_value);
}

const char *kgb_schema_find_param(const char *schema, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = strchr(schema, '('); at && (at = strchr(at, ' ')); at++)
		if (strncmp(at + 1, name, len) == 0 && at[1 + len] && strchr(",=)", at[1 + len]))
			return at + 1 + len;
	return NULL;
}

/* Whether the schema marks the parameter as returned ("Tensor(a)") but not written to ("(a!)"). */
static bool is_returned_unchanged(const char *schema, const char *name)
{
	const char *end = kgb_schema_find_param(schema, name);

	if (!end)
		return false;
	const char *at = end - strlen(name) - 1, *type = at;
	while (type > strchr(schema, '(') + 1 && type[-1] != ' ')
		type--;
	return memchr(type, '(', (size_t)(at - type)) && !memchr(type, '!', (size_t)(at - type));
}

/* Tensors of a list stand side by side and are passed alike; no parameter bears the list's name. */
static int check_list(struct kgb_spec_loader *l, const struct kgb_interface *out, size_t i)
{
	const struct kgb_param *p = &out->params[i];

	for (size_t k = 0; k < i; k++)
		if (kgb_str_eq(out->params[k].list, p->name))
			return fail_at(l, p->node, "parameter '%s' has the name of a list",
				       p->name);
	if (!p->list)
		return 0;
	if (!kgb_spec__is_identifier(p->list))
		return fail_at(l, p->node, "list: '%.80s' is not a Python name", p->list);
	if (p->result >= 0 && (size_t)p->result < out->n_returned)
		return fail_at(l, p->node,
			       "parameter '%s': a result that is returned cannot be in a 'list'",
			       p->name);
	for (size_t k = 0; k < i; k++) {
		const struct kgb_param *earlier = &out->params[k];
		if (kgb_str_eq(earlier->name, p->list))
			return fail_at(l, p->node, "list '%s' has the name of a parameter",
				       p->list);
		if (!earlier->list || !kgb_str_eq(earlier->list, p->list))
			continue;
		if (earlier->keyword != p->keyword || !kgb_str_eq(out->params[i - 1].list, p->list))
			return fail_at(
				l, p->node,
				"list '%s': its parameters must stand side by side and be passed alike",
				p->list);
	}
	return 0;
}

static int check_param_order(struct kgb_spec_loader *l, const struct kgb_interface *out, size_t i)
{
	const struct kgb_param *p = &out->params[i];
	if (p->result >= (int64_t)out->n_results)
		return fail_at(l, p->node, "parameter '%s': result %lld, but the interface has %zu",
			       p->name, (long long)p->result, out->n_results);
	if (i > 0 && out->params[i - 1].keyword && !p->keyword)
		return fail_at(l, p->node,
			       "parameter '%s': positional after keyword parameter '%s'", p->name,
			       out->params[i - 1].name);
	for (size_t k = 0; k < i; k++) {
		if (kgb_str_eq(out->params[k].name, p->name))
			return fail_at(l, p->node, "parameter '%s' is there twice", p->name);
		if (p->result >= 0 && out->params[k].result == p->result)
			return fail_at(l, p->node,
				       "parameter '%s': result %lld is already held by '%s'",
				       p->name, (long long)p->result, out->params[k].name);
	}
	return 0;
}

/* A result that is not returned must be in a parameter. */
static int check_results_held(struct kgb_spec_loader *l, const struct kgb_interface *out)
{
	for (size_t r = out->n_returned; r < out->n_results; r++) {
		size_t k = 0;
		while (k < out->n_params && out->params[k].result != (int)r)
			k++;
		if (k == out->n_params)
			return fail_at(l, out->node,
				       "no parameter holds result %zu, which is not returned", r);
	}
	return 0;
}

/* Find the memory behind addresses: plain tensors that come after all parameters that are
 * passed. */
static int find_behind(struct kgb_spec_loader *l, struct kgb_interface *out)
{
	for (size_t i = 0; i < out->n_params; i++) {
		const struct kgb_param *p = &out->params[i];
		size_t k = i + 1;
		if (!p->into)
			continue;
		while (k < out->n_params && !kgb_str_eq(out->params[k].name, p->into))
			k++;
		if (k == out->n_params || out->params[k].kind != KGB_PARAM_TENSOR ||
		    out->params[k].keyword || out->params[k].list || out->params[k].into)
			return fail_at(l, p->node,
				       "parameter '%s': into: '%.80s' is no plain tensor behind it",
				       p->name, p->into);
		out->params[k].is_behind = true;
	}
	for (size_t i = 1; i < out->n_params; i++)
		if (out->params[i - 1].is_behind && !out->params[i].is_behind)
			return fail_at(l, out->params[i].node,
				       "parameter '%s' comes after '%s', which is not passed",
				       out->params[i].name, out->params[i - 1].name);
	return 0;
}

static int load_params(struct kgb_spec_loader *l, const struct raw_interface *raw,
		       struct kgb_interface *out)
{
	const cJSON *list = kgb_json_get(out->node, "params");

	if (raw->params.n == 0 || raw->params.n > KGB_MAX_ARGS)
		return fail_at(l, list, "params: %zu parameters, 1 to %d are possible",
			       raw->params.n, KGB_MAX_ARGS);
	out->n_params = raw->params.n;
	out->params = raw->params.items;
	for (size_t i = 0; i < out->n_params; i++) {
		out->params[i].node = cJSON_GetArrayItem(list, (int)i);
		if (load_param(l, &out->params[i]) < 0 || check_param_order(l, out, i) < 0 ||
		    check_list(l, out, i) < 0)
			return -1;
		out->params[i].is_kept = out->params[i].result >= 0 &&
					 is_returned_unchanged(out->schema, out->params[i].name);
	}
	return find_behind(l, out) < 0 ? -1 : check_results_held(l, out);
}

/* ---- costs ---- */

/* Whether the interface has such a name. Variables are looked up in the case lines. */
static int check_name(void *payload, enum kgb_expr_ask ask, const char *name, KGB_UNUSED int64_t k,
		      KGB_UNUSED int64_t *out, struct kgb_err *err)
{
	const struct kgb_interface *interface = payload;
	const struct kgb_param *param = NULL;
	int64_t number = 0;

	if (ask == KGB_EXPR_VARIABLE)
		return 0;
	for (size_t i = 0; i < interface->n_params && !param; i++)
		if (kgb_str_eq(interface->params[i].name, name))
			param = &interface->params[i];
	bool is_value = param && param->kind == KGB_PARAM_VALUE;
	bool is_tensor =
		param ? !is_value
		      : kgb_spec_is_result(name, &number) && (size_t)number < interface->n_results;
	if (ask == KGB_EXPR_VALUE && !is_value)
		return kgb_fail(err, KGB_ERR_INVALID, "no value parameter is named '%s'", name);
	if (ask != KGB_EXPR_VALUE && !is_tensor)
		return kgb_fail(err, KGB_ERR_INVALID,
				"%s: no tensor, output or result is named '%s'",
				kgb_expr_ask_name(ask), name);
	return 0;
}

static int load_cost(struct kgb_spec_loader *l, const char *key, const char *text,
		     struct kgb_interface *interface, const struct kgb_expr **out)
{
	struct kgb_err why = KGB_ERR_INIT;

	if (!text)
		return 0;
	if (kgb_expr_parse(text, &l->spec->arena, out, &why) < 0 ||
	    kgb_expr_check(*out, check_name, interface, &why) < 0)
		return fail_at(l, kgb_json_get(interface->node, key), "%s: %s", key, why.msg);
	return 0;
}

/* ---- interfaces ---- */

static int check_case_names(struct kgb_spec_loader *l, const struct kgb_strs *names,
			    const struct kgb_interface *out)
{
	const cJSON *list = kgb_json_get(out->node, "cases");

	if (names->n == 0)
		return fail_at(l, list, "cases: is empty");
	for (size_t i = 0; i < names->n; i++) {
		const cJSON *node = cJSON_GetArrayItem(list, (int)i);
		if (!kgb_spec__is_identifier(names->items[i]))
			return fail_at(l, node, "cases: '%.80s' is not the name of a case set",
				       names->items[i]);
		for (size_t j = 0; j < i; j++)
			if (kgb_str_eq(names->items[i], names->items[j]))
				return fail_at(l, node, "cases: '%s' is listed twice",
					       names->items[i]);
	}
	return 0;
}

/* Mark the results whose numbers are in the list in `out`. */
static int load_numbers(struct kgb_spec_loader *l, const cJSON *list, const char *key,
			size_t n_results, bool *out)
{
	const cJSON *number = NULL;

	if (list && !cJSON_IsArray(list))
		return fail_at(l, list, "%s: expected a list of results' numbers", key);
	cJSON_ArrayForEach(number, list) {
		double value = cJSON_IsNumber(number) ? number->valuedouble : -1;
		if (!(value >= 0) || value >= (double)n_results || value != floor(value))
			return fail_at(l, number, "%s: there is no such result", key);
		out[(size_t)value] = true;
	}
	return 0;
}

/* Load which results the call returns, and which of them are rounded or laid out. */
static int load_returned(struct kgb_spec_loader *l, const struct raw_interface *raw,
			 struct kgb_interface *out)
{
	const cJSON *returned = kgb_json_get(out->node, "returned");

	if (!raw->returns || !returned)
		out->n_returned = raw->returns ? out->n_results : 0;
	if (out->n_returned > out->n_results || (returned && !raw->returns))
		return fail_at(l, returned, "returned: there are not so many results to return");
	if (out->n_nones > 0 && out->n_returned == 0)
		return fail_at(l, kgb_json_get(out->node, "nones"),
			       "nones: nothing is returned before them");
	if (load_numbers(l, raw->rounded, "rounded", out->n_results, out->is_rounded) < 0)
		return -1;
	return load_numbers(l, raw->laid_out, "laid_out", out->n_results, out->is_laid_out);
}

/* A number or unwritten memory is the only result, and no parameter holds it. */
static int check_kind(struct kgb_spec_loader *l, const struct kgb_interface *out)
{
	bool is_held = false;

	for (size_t i = 0; i < out->n_params; i++)
		is_held |= out->params[i].result >= 0;
	if (!out->is_number && !out->is_unwritten)
		return 0;
	if ((out->is_number && out->is_unwritten) || out->n_results != 1 || out->n_returned != 1 ||
	    out->n_nones > 0 || is_held || l->spec->triton != KGB_TRITON_NONE)
		return fail_at(l, out->node,
			       "number, unwritten: one of them, with one result that no parameter "
			       "holds, and with 'triton: none'");
	return 0;
}

/* Interfaces of one entry differ in what its arguments may be, not in its signature. */
static int check_variant(struct kgb_spec_loader *l, const struct kgb_interface *a,
			 const struct kgb_interface *b)
{
	struct kgb_param ours[KGB_MAX_ARGS], theirs[KGB_MAX_ARGS];
	size_t n = kgb_interface_called_params(a, ours);
	bool same = n == kgb_interface_called_params(b, theirs);

	for (size_t i = 0; same && i < n; i++)
		same = kgb_str_eq(ours[i].name, theirs[i].name) &&
		       ours[i].keyword == theirs[i].keyword;
	return same ? 0
		    : fail_at(l, b->node,
			      "interface '%s' is there twice, with other names of parameters",
			      b->entry);
}

/* A result that is rounded to a coarse type may fall to either side of a tie, so it is never
 * exact. */
static int check_exact(struct kgb_spec_loader *l, const struct kgb_interface *out)
{
	const struct kgb_tolerance *tolerance = &out->tolerance;

	for (size_t i = 0; i < out->n_results; i++)
		if (out->is_rounded[i] && (tolerance->is_exact || tolerance->zeros))
			return fail_at(l, out->node,
				       "tolerance: 'exact' and 'zeros' do not go with 'rounded'");
	return 0;
}

static int load_interface(struct kgb_spec_loader *l, const cJSON *node,
			  const struct kgb_tolerance *common, struct kgb_interface *out)
{
	static const char *const texts[] = {"schema", "doc", NULL};
	struct raw_interface raw = {0};

	if (kgb_decode(interface_table, &l->spec->doc, node, &raw, &l->spec->arena, l->err) < 0)
		return -1;
	*out = raw.interface;
	out->node = node;
	out->tolerance = *common;
	if (load_returned(l, &raw, out) < 0)
		return kgb_ctx(l->err, "interface '%.80s'", out->entry);
	if (!kgb_spec__is_identifier(out->entry))
		return fail_at(l, kgb_json_get(node, "entry"),
			       "entry: '%.80s' is not a Python name", out->entry);
	if (kgb_spec__check_texts(l, node, texts) < 0 || load_functions(l, &raw, out) < 0 ||
	    load_magnitude(l, &raw, out) < 0 || load_params(l, &raw, out) < 0 ||
	    check_kind(l, out) < 0 || kgb_spec__load_random_results(l, raw.laws, out) < 0 ||
	    check_case_names(l, &raw.cases, out) < 0 ||
	    load_tolerance(l, raw.tolerance, &out->tolerance) < 0 || check_exact(l, out) < 0 ||
	    load_cost(l, "bytes", raw.bytes, out, &out->bytes) < 0 ||
	    load_cost(l, "flops", raw.flops, out, &out->flops) < 0 ||
	    load_cost(l, "terms", raw.terms, out, &out->terms) < 0 ||
	    load_cost(l, "traffic", raw.traffic, out, &out->traffic) < 0)
		return kgb_ctx(l->err, "interface '%.80s'", out->entry);
	return 0;
}

int kgb_spec__load_interfaces(struct kgb_spec_loader *l, const cJSON *list, const cJSON *tolerance)
{
	struct kgb_spec *spec = l->spec;
	struct kgb_tolerance common = {
		.factor = 4, .ulps = 2, .accumulate = KGB_ACCUMULATE_FLOAT32};
	const cJSON *node = NULL;

	if (load_tolerance(l, tolerance, &common) < 0)
		return -1;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0)
		return fail_at(l, list, "interfaces: expected a list with at least one interface");
	spec->interfaces = kgb_arena_array(&spec->arena, (size_t)cJSON_GetArraySize(list),
					   sizeof(*spec->interfaces));
	cJSON_ArrayForEach(node, list) {
		struct kgb_interface *out = &spec->interfaces[spec->n_interfaces];
		if (load_interface(l, node, &common, out) < 0)
			return kgb_ctx(l->err, "interfaces[%zu]", spec->n_interfaces);
		for (size_t j = 0; j < spec->n_interfaces; j++)
			if (kgb_str_eq(spec->interfaces[j].entry, out->entry) &&
			    check_variant(l, &spec->interfaces[j], out) < 0)
				return -1;
		spec->n_interfaces++;
	}
	return 0;
}
