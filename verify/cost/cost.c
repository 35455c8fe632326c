/* SPDX-License-Identifier: MIT */
#include "verify/cost/cost.h"

#include "base/formats/json.h"
#include "base/str.h"

struct asker {
	const struct kgb_case *c;
	const struct kgb_tensor_view *results;
	size_t n_results;
};

static const struct kgb_arg *find_arg(const struct kgb_case *c, const char *name)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (kgb_str_eq(c->args[i].param->name, name))
			return &c->args[i];
	return NULL;
}

/* The view of a tensor parameter, of an output buffer's result, or of "result", "result1", ...
 * *absent: None is passed for the tensor. */
static const struct kgb_tensor_view *find_view(const struct asker *asker, const char *name,
					       bool *absent)
{
	const struct kgb_arg *arg = find_arg(asker->c, name);
	int64_t number = 0;

	*absent = arg && arg->is_absent;
	if (arg && arg->param->kind == KGB_PARAM_TENSOR)
		return &arg->view;
	if (arg && arg->param->kind == KGB_PARAM_OUT)
		number = arg->param->result;
	else if (arg || !kgb_spec_is_result(name, &number))
		return NULL;
	return number < (int64_t)asker->n_results ? &asker->results[number] : NULL;
}

/* The number of different elements: dimensions that repeat the same memory count once. */
static int64_t distinct_elements(const struct kgb_tensor_view *view)
{
	int64_t n = 1;

	for (int k = 0; k < view->ndim; k++)
		n *= view->strides[k] == 0 && view->sizes[k] > 0 ? 1 : view->sizes[k];
	return n;
}

static int ask_dim(const struct kgb_tensor_view *view, const char *name, int64_t k, int64_t *out,
		   struct kgb_err *err)
{
	int64_t at = k < 0 ? k + view->ndim : k;

	if (at < 0 || at >= view->ndim)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' has %d dims, no dim %lld", name,
				view->ndim, (long long)k);
	*out = view->sizes[at];
	return 0;
}

static int ask_view(const struct asker *asker, enum kgb_expr_ask ask, const char *name, int64_t k,
		    int64_t *out, struct kgb_err *err)
{
	bool absent;
	const struct kgb_tensor_view *view = find_view(asker, name, &absent);

	if (!view)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is no tensor and no result", name);
	if (absent)
		*out = 0;
	else if (ask == KGB_EXPR_NUMEL)
		*out = kgb_tensor_view_numel(view);
	else if (ask == KGB_EXPR_SIZE)
		*out = (int64_t)kgb_dtype_size(view->dtype);
	else if (ask == KGB_EXPR_BYTES)
		*out = distinct_elements(view) * (int64_t)kgb_dtype_size(view->dtype);
	else if (ask == KGB_EXPR_NDIM)
		*out = view->ndim;
	else
		return ask_dim(view, name, k, out, err);
	return 0;
}

static int ask_value(const struct asker *asker, const char *name, int64_t *out, struct kgb_err *err)
{
	const struct kgb_arg *arg = find_arg(asker->c, name);

	if (!arg || arg->param->kind != KGB_PARAM_VALUE || arg->value.kind != KGB_CASE_VALUE_INT)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is no whole number", name);
	*out = arg->value.integer;
	return 0;
}

static int ask_variable(const struct asker *asker, const char *name, int64_t *out,
			struct kgb_err *err)
{
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(asker->c->line->vars, name);

	if (!kgb_yaml_whole(node, out))
		return kgb_fail(err, KGB_ERR_INVALID, "variable '%s' is no whole number", name);
	return 0;
}

static int answer(void *payload, enum kgb_expr_ask ask, const char *name, int64_t k, int64_t *out,
		  struct kgb_err *err)
{
	const struct asker *asker = payload;

	switch (ask) {
	case KGB_EXPR_VALUE:
		return ask_value(asker, name, out, err);
	case KGB_EXPR_VARIABLE:
		return ask_variable(asker, name, out, err);
	case KGB_EXPR_NUMEL:
	case KGB_EXPR_SIZE:
	case KGB_EXPR_BYTES:
	case KGB_EXPR_NDIM:
	case KGB_EXPR_DIM:
		return ask_view(asker, ask, name, k, out, err);
	case KGB_EXPR_N_ASKS:
		break;
	}
	KGB_UNREACHABLE();
}

static int evaluate(const struct kgb_spec *spec, struct asker *asker, const struct kgb_expr *expr,
		    const char *key, int64_t *out, struct kgb_err *err)
{
	struct kgb_err why = KGB_ERR_INIT;
	int64_t value = 0;
	const cJSON *node = kgb_json_get(asker->c->interface->node, key);

	if (!expr)
		return 0;
	if (kgb_expr_eval(expr, answer, asker, &value, &why) < 0)
		return kgb_yaml_fail(&spec->doc, node, err, "case %s: %s: %s", asker->c->name, key,
				     why.msg);
	if (value < 0)
		return kgb_yaml_fail(&spec->doc, node, err, "case %s: %s: %lld is below 0",
				     asker->c->name, key, (long long)value);
	*out = value;
	return 0;
}

int kgb_case_cost(const struct kgb_spec *spec, const struct kgb_case *c,
		  const struct kgb_tensor_view *results, size_t n_results, struct kgb_cost *out,
		  struct kgb_err *err)
{
	struct asker asker = {.c = c, .results = results, .n_results = n_results};
	struct kgb_cost cost = {0};

	if (evaluate(spec, &asker, c->interface->bytes, "bytes", &cost.bytes, err) < 0 ||
	    evaluate(spec, &asker, c->interface->flops, "flops", &cost.flops, err) < 0)
		return -1;
	cost.traffic = cost.bytes;
	if (evaluate(spec, &asker, c->interface->traffic, "traffic", &cost.traffic, err) < 0)
		return -1;
	for (size_t i = 0; i < n_results; i++)
		cost.written_bytes += kgb_tensor_view_numel(&results[i]) *
				      (int64_t)kgb_dtype_size(results[i].dtype);
	if (cost.written_bytes > cost.bytes)
		cost.written_bytes = cost.bytes;
	*out = cost;
	return 0;
}

double kgb_case_terms(const struct kgb_case *c, const struct kgb_tensor_view *results,
		      size_t n_results, size_t i)
{
	struct asker asker = {.c = c, .results = results, .n_results = n_results};
	const int64_t n = kgb_tensor_view_numel(&results[i]);
	struct kgb_err ignored = KGB_ERR_INIT;
	const bool is_given = c->interface->terms != NULL;
	const struct kgb_expr *expr = is_given ? c->interface->terms : c->interface->flops;
	int64_t sum = 0;

	if (!expr || n == 0 || kgb_expr_eval(expr, answer, &asker, &sum, &ignored) < 0)
		return 0;
	return is_given ? (double)sum : (double)sum / (double)n;
}
