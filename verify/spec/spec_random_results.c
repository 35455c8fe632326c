/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/str.h"
#include "verify/spec/spec_loader.h"

static const struct distribution_form {
	size_t n_args;
	const char *text;
} forms[KGB_N_RANDOM_KINDS] = {
	[KGB_RANDOM_NONE] = {0, "none"},
	[KGB_RANDOM_BERNOULLI] = {1, "bernoulli(p)"},
	[KGB_RANDOM_EXPONENTIAL] = {1, "exponential(rate)"},
	[KGB_RANDOM_POISSON] = {1, "poisson(rate)"},
	[KGB_RANDOM_RRELU] = {3, "rrelu(x, low, high)"},
	[KGB_RANDOM_PRODUCT] = {2, "product(x, draws)"},
};

static int find_param(const struct kgb_interface *interface, const char *name, size_t *out)
{
	for (size_t i = 0; i < interface->n_params; i++) {
		const struct kgb_param *p = &interface->params[i];
		if (!kgb_str_eq(p->name, name) || p->kind == KGB_PARAM_OUT || p->list)
			continue;
		*out = i;
		return 0;
	}
	return -1;
}

/* Find the numbers of the parameters in "(name, name)". */
static int parse_args(const struct kgb_interface *interface, const char *text, size_t n_args,
		      size_t *args)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	size_t len = strlen(text);

	if (n_args == 0)
		return len == 0 ? 0 : -1;
	if (len < 3 || text[0] != '(' || text[len - 1] != ')')
		return -1;
	KGB_AUTO(free) char *inside = kgb_xstrndup(text + 1, len - 2);
	kgb_strv_split(&names, inside, ',');
	if (names.n != n_args)
		return -1;
	for (size_t i = 0; i < n_args; i++)
		if (find_param(interface, names.items[i] + strspn(names.items[i], " "), &args[i]) <
		    0)
			return -1;
	return 0;
}

static bool is_tensor(const struct kgb_interface *interface, size_t param)
{
	return interface->params[param].kind == KGB_PARAM_TENSOR;
}

/* Whether the parameters suit the distribution: of rrelu x is a tensor and its bounds are numbers;
 * of a product x is a tensor, and `draws` holds another result. */
static bool suits(const struct kgb_interface *interface,
		  const struct kgb_random_result *distribution, size_t result)
{
	const struct kgb_param *draws = &interface->params[distribution->args[1]];

	if (distribution->kind == KGB_RANDOM_RRELU)
		return is_tensor(interface, distribution->args[0]) &&
		       !is_tensor(interface, distribution->args[1]) &&
		       !is_tensor(interface, distribution->args[2]);
	return distribution->kind != KGB_RANDOM_PRODUCT ||
	       (is_tensor(interface, distribution->args[0]) && draws->result >= 0 &&
		(size_t)draws->result != result);
}

static int parse_distribution(struct kgb_spec_loader *l, const cJSON *node, size_t result,
			      struct kgb_interface *out)
{
	struct kgb_random_result *distribution = &out->random_results[result];
	const char *text = cJSON_IsString(node) ? node->valuestring : "";
	size_t len = strcspn(text, "(");

	for (int kind = 0; kind < KGB_N_RANDOM_KINDS; kind++) {
		const struct distribution_form *form = &forms[kind];
		if (strcspn(form->text, "(") != len || strncmp(form->text, text, len) != 0)
			continue;
		distribution->kind = (enum kgb_random_kind)kind;
		distribution->text = text;
		out->is_random |= kind != KGB_RANDOM_NONE;
		if (parse_args(out, text + len, form->n_args, distribution->args) < 0 ||
		    !suits(out, distribution, result))
			return fail_at(l, node,
				       "laws: '%.80s' must read %s, with names of parameters", text,
				       form->text);
		return 0;
	}
	return fail_at(l, node,
		       "laws: '%.80s' is none of: none, bernoulli(p), exponential(rate), "
		       "poisson(rate), rrelu(x, low, high), product(x, draws)",
		       text);
}

int kgb_spec__load_random_results(struct kgb_spec_loader *l, const cJSON *list,
				  struct kgb_interface *out)
{
	if (!list)
		return 0;
	if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != out->n_results)
		return fail_at(l, list, "laws: expected a list with one law for each result");
	for (size_t i = 0; i < out->n_results; i++)
		if (parse_distribution(l, cJSON_GetArrayItem(list, (int)i), i, out) < 0)
			return -1;
	return 0;
}
