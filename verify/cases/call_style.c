/* SPDX-License-Identifier: MIT */
#include "verify/cases/call_style.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static bool is_end(char c)
{
	return c == ',' || c == ')';
}

/* Whether the text of a default begins with this value. "1." is 1.0, but no integer, and "0." is
 * not -0.0. */
static bool is_value(const char *text, const struct kgb_case_value *value)
{
	KGB_AUTO(buf) struct kgb_buf python = KGB_BUF_INIT(0);
	char *end = NULL;

	kgb_case_value_describe(value, &python);
	if (strncmp(text, python.ptr, python.len) == 0 && is_end(text[python.len]))
		return true;
	const double number = strtod(text, &end);
	return value->kind == KGB_CASE_VALUE_FLOAT && end > text && is_end(*end) &&
	       memchr(text, '.', (size_t)(end - text)) && number <= value->number &&
	       number >= value->number && !signbit(number) == !signbit(value->number);
}

static bool is_default(const struct kgb_case *c, const struct kgb_arg *arg)
{
	const char *end = kgb_schema_find_param(c->interface->schema, arg->param->name);

	return end && *end == '=' && (arg->is_absent || arg->param->kind == KGB_PARAM_VALUE) &&
	       is_value(end + 1, &arg->value);
}

static bool has_default(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (is_default(c, &c->args[i]))
			return true;
	return false;
}

/* Mark the arguments that are left out. A positional one is left out only if no positional one
 * behind it is passed. */
static void mark_left_out(struct kgb_case *c)
{
	bool is_last = true;

	for (size_t i = c->n_args; i-- > 0;) {
		struct kgb_arg *arg = &c->args[i];
		const bool is_named = kgb_case_names_arg(c, i);
		arg->is_left_out =
			c->style.leaves_out_defaults && (is_last || is_named) && is_default(c, arg);
		is_last &= arg->is_left_out || is_named;
	}
}

/* Whether the case has a floating tensor: then torch's default type does not change the results. */
static bool has_float_tensor(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent &&
		    kgb_dtype_is_float(c->args[i].view.dtype))
			return true;
	return false;
}

static size_t deal(const struct kgb_call_deck *deck, const char *what, uint32_t turn, size_t n)
{
	KGB_AUTO(free) char *label = kgb_xasprintf("call %s %s", deck->interface->entry, what);

	return kgb_rng_deal(deck->seed, label, turn, n);
}

/* No call is compiled and traced at once. Export, which answers half as much, has half of the
 * compiled cases. */
static enum kgb_caller deal_caller(struct kgb_call_deck *deck, uint32_t turn)
{
	const size_t card = deal(deck, "callers", turn, 4);

	if (card == 0)
		return KGB_CALLER_TRACED;
	if (card > 1)
		return KGB_CALLER_PYTHON;
	return deal(deck, "exports", deck->n_compiled++, 2) == 0 ? KGB_CALLER_EXPORTED
								 : KGB_CALLER_COMPILED;
}

void kgb_case_deal_call_style(struct kgb_call_deck *deck, struct kgb_case *c)
{
	static const enum kgb_grad_mode modes[] = {KGB_GRAD_ENABLED, KGB_GRAD_ENABLED,
						   KGB_GRAD_DISABLED, KGB_GRAD_INFERENCE};
	static const enum kgb_gradient gradients[] = {KGB_GRADIENT_NONE, KGB_GRADIENT_NONE,
						      KGB_GRADIENT_LEAF, KGB_GRADIENT_RESULT};
	const uint32_t turn = deck->n_cases++;

	c->style.leaves_out_defaults =
		has_default(c) && deal(deck, "defaults", deck->n_with_default++, 2) == 1;
	c->style.passes_names = deal(deck, "names", turn, 4) == 0;
	c->style.passes_tuples = deal(deck, "tuples", turn, 2) == 0;
	c->style.passes_parameters = deal(deck, "parameters", turn, 4) == 0;
	c->style.gradient = gradients[deal(deck, "leaves", turn, KGB_ARRAY_LEN(gradients))];
	c->style.grad_mode = modes[deal(deck, "gradients", turn, KGB_ARRAY_LEN(modes))];
	if (has_float_tensor(c) && deal(deck, "type", deck->n_with_float, 4) == 0)
		c->style.default_type = (enum kgb_default_type)(
			1 + deal(deck, "types", deck->n_with_float / 4, KGB_N_DEFAULT_TYPES - 1));
	deck->n_with_float += has_float_tensor(c);
	c->style.caller = deal_caller(deck, turn);
	c->style.without_asserts = deal(deck, "asserts", turn, 2) == 0;
	mark_left_out(c);
}

void kgb_case_copy_call_style(struct kgb_case *c, const struct kgb_case *from)
{
	c->style = from->style;
	mark_left_out(c);
}
