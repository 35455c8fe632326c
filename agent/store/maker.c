/* SPDX-License-Identifier: MIT */
#include "agent/store/maker.h"

#include "base/str.h"

static bool text_equal_or_missing(const char *a, const char *b)
{
	return !a || !b || kgb_str_eq(a, b);
}

bool kgb_maker_equal(const struct kgb_maker *a, const struct kgb_maker *b)
{
	return text_equal_or_missing(a->method, b->method) &&
	       text_equal_or_missing(a->gateway_mode, b->gateway_mode) &&
	       text_equal_or_missing(a->model, b->model) &&
	       text_equal_or_missing(a->endpoint, b->endpoint) &&
	       text_equal_or_missing(a->sampling, b->sampling) &&
	       text_equal_or_missing(a->prompts, b->prompts);
}

bool kgb_maker_is_offline(const struct kgb_maker *maker)
{
	return kgb_str_eq(maker->gateway_mode, "offline");
}
