/* SPDX-License-Identifier: MIT */
#include "verify/cases/call_style.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_STYLE_STREAM = 4001 }; /* random stream of a case beside that of repeated tensors */

static bool is_end(char c)
{
	return c == ',' || c == ')';
}

/* Whether the text of a default begins with this value. "1." is 1.0, but no integer. */
static bool is_value(const char *text, const struct kgb_case_value *value)
{
	KGB_AUTO(buf) struct kgb_buf python = KGB_BUF_INIT(0);
	char *end = NULL;

	kgb_case_value_describe(value, &python);
	if (strncmp(text, python.ptr, python.len) == 0 && is_end(text[python.len]))
		return true;
	const double number = strtod(text, &end);
	return value->kind == KGB_CASE_VALUE_FLOAT && end > text && is_end(*end) &&
	       memchr(text, '.', (size_t)(end - text)) && !(number < value->number) &&
	       !(number > value->number);
}

static bool is_default(const struct kgb_case *c, const struct kgb_arg *arg)
{
	const char *end = kgb_schema_find_param(c->interface->schema, arg->param->name);

	return end && *end == '=' && (arg->is_absent || arg->param->kind == KGB_PARAM_VALUE) &&
	       is_value(end + 1, &arg->value);
}

static void leave_out_defaults(struct kgb_case *c)
{
	bool is_last = true; /* no argument behind is passed by position */

	for (size_t i = c->n_args; i-- > 0;) {
		struct kgb_arg *arg = &c->args[i];
		arg->is_left_out = (is_last || arg->param->keyword) && is_default(c, arg);
		is_last &= arg->is_left_out || arg->param->keyword;
	}
}

void kgb_case_draw_call_style(struct kgb_case *c, const struct kgb_seed *seed)
{
	static const enum kgb_grad_mode modes[] = {KGB_GRAD_ENABLED, KGB_GRAD_ENABLED,
						   KGB_GRAD_DISABLED, KGB_GRAD_INFERENCE};
	struct kgb_rng rng;

	kgb_rng_init(&rng, seed, c->name, CALL_STYLE_STREAM);
	if (kgb_rng_int(&rng, 0, 1) == 1)
		leave_out_defaults(c);
	c->passes_tuples = kgb_rng_int(&rng, 0, 1) == 1;
	c->passes_parameters = kgb_rng_int(&rng, 0, 3) == 0;
	c->grad_mode = modes[kgb_rng_int(&rng, 0, KGB_ARRAY_LEN(modes) - 1)];
}
