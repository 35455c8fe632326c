/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "verify/spec/spec_loader.h"

/* ---- what the YAML says, before it is checked ---- */

struct raw_reference {
	const char *aten, *python;
};

struct raw_param {
	const char *name;
	const cJSON *tensor, *value;
	int64_t out, result;
	const char *layout, *dtype, *fill, *read, *list, *into;
	int as;
	bool keyword, unused;
};

struct raw_interface {
	const char *entry, *schema, *doc, *same_as;
	struct raw_reference reference, baseline;
	const char *magnitude;
	bool returns;
	bool number, unwritten, any_order;
	int64_t results, returned, nones;
	const cJSON *rounded, *laid_out, *laws;
	struct kgb_objects params;
	struct kgb_strs cases;
	const cJSON *tolerance;
	const char *bytes, *flops, *traffic;
};

struct raw_tolerance {
	double factor, ulps;
	int accumulate, before_rounding, zeros;
	bool exact;
};

static const char *const as_names[] = {"auto", "float", "complex", "dtype", "device", NULL};
static const char *const accumulate_names[] = {"float32", "result", NULL};
static const char *const zeros_names[] = {"any", "signed", NULL};

static const struct kgb_field reference_table[] = {
	FIELD(STR, raw_reference, aten, "overload below torch.ops.aten: add.Tensor",
	      .required = false),
	FIELD(STR, raw_reference, python, "FILE.py:FUNCTION in <source>/reference",
	      .required = false),
	KGB_FIELD_END,
};

static const struct kgb_field param_table[] = {
	FIELD(STR, raw_param, name, "Python name", .required = true),
	FIELD(NODE, raw_param, tensor, "input of this shape: $variable or [4, 5]",
	      .required = false),
	FIELD(NODE, raw_param, value, "$variable, $variable|default or a literal",
	      .required = false),
	FIELD(I64, raw_param, out, "buffer for the result of this number",
	      .max = KGB_MAX_RESULTS - 1),
	FIELD(I64, raw_param, result, "number of the result that is here after the call (in place)",
	      .max = KGB_MAX_RESULTS - 1),
	FIELD(STR, raw_param, layout, "memory layout: contiguous", .required = false),
	FIELD(STR, raw_param, dtype, "element type: $dtype", .required = false),
	FIELD(STR, raw_param, fill, "distribution of the values: normal", .required = false),
	FIELD(STR, raw_param, read, "which elements are read: all", .required = false),
	FIELD(STR, raw_param, list, "name of the Python list that the tensor is passed in",
	      .required = false),
	FIELD(STR, raw_param, into, "name of the tensor whose rows this one has the addresses of",
	      .required = false),
	FIELD(ENUM, raw_param, as, "how a value is passed", .names = as_names),
	FIELD(BOOL, raw_param, keyword, "passed by name", .required = false),
	FIELD(BOOL, raw_param, unused, "what is passed changes no result", .required = false),
	KGB_FIELD_END,
};

static const struct kgb_field interface_table[] = {
	FIELD(STR, raw_interface, entry, "function that kernel.py defines", .required = true),
	FIELD(STR, raw_interface, schema, "signature for the prompt", .required = true),
	FIELD(STR, raw_interface, doc, "what this interface adds to the semantics",
	      .required = false),
	FIELD(STR, raw_interface, same_as, "entry of another interface that is the same function",
	      .required = false),
	FIELD(OBJECT, raw_interface, reference, "ground truth", .required = true,
	      .sub = reference_table),
	FIELD(OBJECT, raw_interface, baseline, "what kernels are timed against: the reference",
	      .sub = reference_table),
	FIELD(STR, raw_interface, magnitude,
	      "none, abs or FILE.py:FUNCTION: size of the terms that are added up",
	      .required = false),
	FIELD(BOOL, raw_interface, returns, "false: returns None", .def = "true"),
	FIELD(I64, raw_interface, results, "number of results", .min = 1, .max = KGB_MAX_RESULTS,
	      .def = "1"),
	FIELD(I64, raw_interface, returned,
	      "how many of the results are returned, the first ones: all of them", .min = 1,
	      .max = KGB_MAX_RESULTS),
	FIELD(I64, raw_interface, nones, "so many None are returned behind the results",
	      .max = KGB_MAX_RESULTS),
	FIELD(NODE, raw_interface, rounded, "numbers of results that are rounded to a coarse type",
	      .required = false),
	FIELD(NODE, raw_interface, laid_out,
	      "numbers of results whose strides must be the reference's", .required = false),
	FIELD(BOOL, raw_interface, number, "a Python number is returned, no tensor",
	      .required = false),
	FIELD(BOOL, raw_interface, unwritten,
	      "memory that nobody has written is returned: its elements do not count",
	      .required = false),
	FIELD(BOOL, raw_interface, any_order,
	      "the reference adds up in any order: another process may give other bits",
	      .required = false),
	FIELD(NODE, raw_interface, laws, "how the elements of each result are distributed",
	      .required = false),
	FIELD(OBJECTS, raw_interface, params, "parameters in call order", .required = true,
	      .sub = param_table, .sub_size = sizeof(struct raw_param)),
	FIELD(STRS, raw_interface, cases, "names of case sets", .required = true),
	FIELD(NODE, raw_interface, tolerance, "overrides parts of the spec's", .required = false),
	FIELD(STR, raw_interface, bytes, "memory that a call must read and write: bytes(self)",
	      .required = false),
	FIELD(STR, raw_interface, flops, "arithmetic that a call must do: numel(self)",
	      .required = false),
	FIELD(STR, raw_interface, traffic, "memory that a call reads and writes, about",
	      .required = false),
	KGB_FIELD_END,
};

static const struct kgb_field tolerance_table[] = {
	FIELD(NUM, raw_tolerance, factor,
	      "allowed error in units of the native implementation's own", .max = 64),
	FIELD(NUM, raw_tolerance, ulps, "allowed error in units of eps", .max = 64),
	FIELD(ENUM, raw_tolerance, accumulate, "precision in which terms are added up",
	      .names = accumulate_names),
	FIELD(ENUM, raw_tolerance, before_rounding,
	      "precision of what 'rounded' results are rounded from", .names = accumulate_names),
	FIELD(ENUM, raw_tolerance, zeros, "whether the sign of a zero counts",
	      .names = zeros_names),
	FIELD(BOOL, raw_tolerance, exact, "every element must be the exact one, rounded once",
	      .required = false),
	KGB_FIELD_END,
};

/* ---- tolerance ---- */

/* Overrides the keys that are given in `node`, so that an interface can change one of them. */
static int load_tolerance(struct kgb_spec_loader *l, const cJSON *node, struct kgb_tolerance *out)
{
	struct raw_tolerance raw = {0};
	if (!node)
		return 0;
	if (kgb_decode(tolerance_table, &l->spec->doc, node, &raw, &l->spec->arena, l->err) < 0)
		return kgb_ctx(l->err, "tolerance");
	if (kgb_json_get(node, "factor"))
		out->factor = raw.factor;
	if (kgb_json_get(node, "ulps"))
		out->ulps = raw.ulps;
	if (kgb_json_get(node, "accumulate"))
		out->accumulate = (enum kgb_accumulate)raw.accumulate;
	if (kgb_json_get(node, "before_rounding"))
		out->before_rounding = (enum kgb_accumulate)raw.before_rounding;
	if (kgb_json_get(node, "zeros"))
		out->has_signed_zeros = raw.zeros != 0;
	if (kgb_json_get(node, "exact"))
		out->is_exact = raw.exact;
	if (out->factor <= 0 || out->ulps <= 0)
		return fail_at(l, node, "tolerance: factor and ulps must be greater than 0");
	return 0;
}

/* ---- references ---- */

/* A Python target must exist as a file; its bytes count as part of the spec. */
static int load_python_target(struct kgb_spec_loader *l, const cJSON *node, const char *target)
{
	if (!kgb_spec__is_python_target(target))
		return fail_at(l, node,
			       "'%.80s' is not FILE.py:FUNCTION, with a file in %s/reference",
			       target, l->spec->source);
	KGB_AUTO(free) char *file = kgb_xstrndup(target, (size_t)(strchr(target, ':') - target));
	if (kgb_strv_has(&l->seen, file))
		return 0;
	KGB_AUTO(free) char *path = kgb_path_join(l->spec->reference_dir, file);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	if (kgb_spec__read(l, "reference", file, path, &text) < 0) {
		struct kgb_err why = *l->err;
		return fail_at(l, node, "reference '%.80s': %s", target, why.msg);
	}
	kgb_strv_add(&l->seen, file);
	return 0;
}

static int load_function(struct kgb_spec_loader *l, const cJSON *interface, const char *key,
			 const struct raw_reference *raw, enum kgb_reference_kind *kind,
			 const char **target)
{
	const cJSON *node = kgb_json_get(interface, key);

	if (!raw->aten == !raw->python)
		return fail_at(l, node, "%s: give one of aten and python", key);
	*kind = raw->aten ? KGB_REFERENCE_ATEN : KGB_REFERENCE_PYTHON;
	*target = raw->aten ? raw->aten : raw->python;
	if (raw->aten && !kgb_spec__is_aten_target(raw->aten))
		return fail_at(l, node, "%s: '%.80s' is not an overload like add.Tensor", key,
			       raw->aten);
	return raw->python ? load_python_target(l, node, raw->python) : 0;
}

/* What the evidence has of a Python function's file. */
static void take_hash(const struct kgb_spec_loader *l, const char *target, char *out)
{
	KGB_AUTO(free)
	char *head = kgb_xasprintf("\nreference %.*s ", (int)strcspn(target, ":"), target);
	const char *found = strstr(l->evidence.ptr, head);

	KGB_ASSERT(found); /* load_python_target read it; the spec is the first line */
	memcpy(out, found + strlen(head), KGB_SHA256_HEX_LEN - 1);
}

static int load_functions(struct kgb_spec_loader *l, const struct raw_interface *raw,
			  struct kgb_interface *out)
{
	if (load_function(l, out->node, "reference", &raw->reference, &out->reference,
			  &out->target) < 0)
		return -1;
	out->baseline = out->reference;
	out->baseline_target = out->target;
	if (!kgb_json_get(out->node, "baseline"))
		return 0;
	return load_function(l, out->node, "baseline", &raw->baseline, &out->baseline,
			     &out->baseline_target);
}

static int load_reference(struct kgb_spec_loader *l, const struct raw_interface *raw,
			  struct kgb_interface *out)
{
	if (load_functions(l, raw, out) < 0)
		return -1;
	if (out->baseline == KGB_REFERENCE_PYTHON)
		take_hash(l, out->baseline_target, out->baseline_sha256);
	return 0;
}

static int load_magnitude(struct kgb_spec_loader *l, const struct raw_interface *raw,
			  struct kgb_interface *out)
{
	out->magnitude = KGB_MAGNITUDE_NONE;
	if (!raw->magnitude || kgb_str_eq(raw->magnitude, "none"))
		return 0;
	out->magnitude = KGB_MAGNITUDE_ABS;
	if (kgb_str_eq(raw->magnitude, "abs"))
		return 0;
	out->magnitude = KGB_MAGNITUDE_PYTHON;
	out->magnitude_target = raw->magnitude;
	const cJSON *node = kgb_json_get(out->node, "magnitude");
	if (!strchr(raw->magnitude, ':'))
		return fail_at(l, node,
			       "magnitude: '%.80s' is none of: none, abs, FILE.py:FUNCTION",
			       raw->magnitude);
	return load_python_target(l, node, raw->magnitude);
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

/* A key that is absent or null has its default. */
static const char *text_or(const char *text, const char *fallback)
{
	return text ? text : fallback;
}

static int load_tensor_param(struct kgb_spec_loader *l, const struct raw_param *raw,
			     struct kgb_param *out)
{
	static const char *const foreign[] = {"out", "value", "as", NULL};
	out->kind = KGB_PARAM_TENSOR;
	out->shape = raw->tensor;
	out->layout = text_or(raw->layout, "contiguous");
	out->dtype = text_or(raw->dtype, "$dtype");
	out->fill = text_or(raw->fill, "normal");
	out->read = raw->read;
	out->list = raw->list;
	out->into = raw->into;
	out->result = kgb_json_get(out->node, "result") ? (int)raw->result : -1;
	if (refuse_keys(l, out, "tensor", foreign) < 0)
		return -1;
	if (!cJSON_IsArray(raw->tensor) &&
	    !(cJSON_IsString(raw->tensor) && raw->tensor->valuestring[0] == '$'))
		return fail_at(l, raw->tensor,
			       "parameter '%s': tensor must be $variable or a list of sizes",
			       out->name);
	return 0;
}

static int load_param(struct kgb_spec_loader *l, const struct raw_param *raw, struct kgb_param *out)
{
	static const char *const foreign_to_out[] = {"value", "as",   "dtype", "fill",   "result",
						     "read",  "list", "into",  "unused", NULL};
	static const char *const foreign_to_value[] = {"layout", "dtype", "fill", "result",
						       "read",   "list",  "into", NULL};

	out->name = raw->name;
	out->keyword = raw->keyword;
	out->unused = raw->unused;
	out->result = -1;
	out->as = (enum kgb_value_as)raw->as;
	if (!kgb_spec__is_identifier(raw->name))
		return fail_at(l, kgb_json_get(out->node, "name"),
			       "name: '%.80s' is not a Python name", raw->name);
	if (raw->tensor)
		return load_tensor_param(l, raw, out);
	if (kgb_json_get(out->node, "out")) {
		out->kind = KGB_PARAM_OUT;
		out->result = (int)raw->out;
		out->layout = text_or(raw->layout, "contiguous");
		return refuse_keys(l, out, "out", foreign_to_out);
	}
	if (!raw->value)
		return fail_at(l, out->node, "parameter '%s': give one of tensor, out and value",
			       raw->name);
	out->kind = KGB_PARAM_VALUE;
	out->value = raw->value;
	return refuse_keys(l, out, "value", foreign_to_value);
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
	if (p->result >= (int)out->n_results)
		return fail_at(l, p->node, "parameter '%s': result %d, but the interface has %zu",
			       p->name, p->result, out->n_results);
	if (i > 0 && out->params[i - 1].keyword && !p->keyword)
		return fail_at(l, p->node,
			       "parameter '%s': positional after keyword parameter '%s'", p->name,
			       out->params[i - 1].name);
	for (size_t k = 0; k < i; k++) {
		if (kgb_str_eq(out->params[k].name, p->name))
			return fail_at(l, p->node, "parameter '%s' is there twice", p->name);
		if (p->result >= 0 && out->params[k].result == p->result)
			return fail_at(l, p->node,
				       "parameter '%s': result %d is already held by '%s'", p->name,
				       p->result, out->params[k].name);
	}
	return 0;
}

/* What is not returned must be in a parameter, or nobody could see it. */
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

/* What addresses lead into comes behind all that is passed, and is a tensor. */
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
	const struct raw_param *items = raw->params.items;

	if (raw->params.n == 0 || raw->params.n > KGB_MAX_ARGS)
		return fail_at(l, list, "params: %zu parameters, 1 to %d are possible",
			       raw->params.n, KGB_MAX_ARGS);
	out->n_params = raw->params.n;
	out->params = kgb_arena_array(&l->spec->arena, out->n_params, sizeof(*out->params));
	for (size_t i = 0; i < out->n_params; i++) {
		out->params[i].node = cJSON_GetArrayItem(list, (int)i);
		if (load_param(l, &items[i], &out->params[i]) < 0 ||
		    check_param_order(l, out, i) < 0 || check_list(l, out, i) < 0)
			return -1;
	}
	return find_behind(l, out) < 0 ? -1 : check_results_held(l, out);
}

/* ---- costs ---- */

static bool holds_tensor(const struct kgb_interface *interface, const char *name)
{
	int64_t number = 0;

	for (size_t i = 0; i < interface->n_params; i++)
		if (kgb_str_eq(interface->params[i].name, name))
			return interface->params[i].kind != KGB_PARAM_VALUE;
	return kgb_spec_is_result(name, &number) && (size_t)number < interface->n_results;
}

static bool holds_value(const struct kgb_interface *interface, const char *name)
{
	for (size_t i = 0; i < interface->n_params; i++)
		if (kgb_str_eq(interface->params[i].name, name))
			return interface->params[i].kind == KGB_PARAM_VALUE;
	return false;
}

/* Are the names there? Variables are of the case lines, and looked up there. */
static int check_name(void *payload, enum kgb_expr_ask ask, const char *name, KGB_UNUSED int64_t k,
		      KGB_UNUSED int64_t *out, struct kgb_err *err)
{
	const struct kgb_interface *interface = payload;

	if (ask == KGB_EXPR_VARIABLE)
		return 0;
	if (ask == KGB_EXPR_VALUE && !holds_value(interface, name))
		return kgb_fail(err, KGB_ERR_INVALID, "no value parameter is named '%s'", name);
	if (ask != KGB_EXPR_VALUE && !holds_tensor(interface, name))
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

static int load_case_names(struct kgb_spec_loader *l, const struct kgb_strs *names,
			   struct kgb_interface *out)
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
	out->case_sets = names->items;
	out->n_case_sets = names->n;
	return 0;
}

/* A list of numbers of results: those are marked in `out`. */
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

/* What comes back from the call, and how exact it can be. */
static int load_returned(struct kgb_spec_loader *l, const struct raw_interface *raw,
			 struct kgb_interface *out)
{
	const cJSON *returned = kgb_json_get(out->node, "returned");

	out->n_returned = !raw->returns ? 0 : returned ? (size_t)raw->returned : out->n_results;
	out->n_nones = (size_t)raw->nones;
	if (out->n_returned > out->n_results || (returned && !raw->returns))
		return fail_at(l, returned, "returned: there are not so many results to return");
	if (out->n_nones > 0 && out->n_returned == 0)
		return fail_at(l, kgb_json_get(out->node, "nones"),
			       "nones: nothing is returned before them");
	if (load_numbers(l, raw->rounded, "rounded", out->n_results, out->is_rounded) < 0)
		return -1;
	return load_numbers(l, raw->laid_out, "laid_out", out->n_results, out->is_laid_out);
}

/* A number, and memory that nobody has written, is all that comes back, and freshly made. */
static int load_kind(struct kgb_spec_loader *l, const struct raw_interface *raw,
		     struct kgb_interface *out)
{
	bool is_held = false;

	out->is_number = raw->number;
	out->is_unwritten = raw->unwritten;
	out->any_order = raw->any_order;
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

/* What is rounded to a coarse type may fall to either side of a tie. */
static int check_exact(struct kgb_spec_loader *l, const struct kgb_interface *out)
{
	const struct kgb_tolerance *tolerance = &out->tolerance;

	for (size_t i = 0; i < out->n_results; i++)
		if (out->is_rounded[i] && (tolerance->is_exact || tolerance->has_signed_zeros))
			return fail_at(l, out->node,
				       "tolerance: 'exact' and 'zeros' do not go with 'rounded'");
	return 0;
}

static int load_interface(struct kgb_spec_loader *l, struct kgb_interface *out)
{
	static const char *const texts[] = {"schema", "doc", NULL};
	struct raw_interface raw = {0};

	if (kgb_decode(interface_table, &l->spec->doc, out->node, &raw, &l->spec->arena, l->err) <
	    0)
		return -1;
	out->entry = raw.entry;
	out->schema = raw.schema;
	out->doc = raw.doc;
	out->same_as = raw.same_as;
	out->n_results = (size_t)raw.results;
	if (load_returned(l, &raw, out) < 0)
		return kgb_ctx(l->err, "interface '%.80s'", raw.entry);
	if (!kgb_spec__is_identifier(raw.entry))
		return fail_at(l, kgb_json_get(out->node, "entry"),
			       "entry: '%.80s' is not a Python name", raw.entry);
	if (kgb_spec__check_texts(l, out->node, texts) < 0 || load_reference(l, &raw, out) < 0 ||
	    load_magnitude(l, &raw, out) < 0 || load_params(l, &raw, out) < 0 ||
	    load_kind(l, &raw, out) < 0 || kgb_spec__load_laws(l, raw.laws, out) < 0 ||
	    load_case_names(l, &raw.cases, out) < 0 ||
	    load_tolerance(l, raw.tolerance, &out->tolerance) < 0 || check_exact(l, out) < 0 ||
	    load_cost(l, "bytes", raw.bytes, out, &out->bytes) < 0 ||
	    load_cost(l, "flops", raw.flops, out, &out->flops) < 0 ||
	    load_cost(l, "traffic", raw.traffic, out, &out->traffic) < 0)
		return kgb_ctx(l->err, "interface '%.80s'", raw.entry);
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
		out->node = node;
		out->tolerance = common;
		if (load_interface(l, out) < 0)
			return kgb_ctx(l->err, "interfaces[%zu]", spec->n_interfaces);
		for (size_t j = 0; j < spec->n_interfaces; j++)
			if (kgb_str_eq(spec->interfaces[j].entry, out->entry) &&
			    check_variant(l, &spec->interfaces[j], out) < 0)
				return -1;
		spec->n_interfaces++;
	}
	return 0;
}
