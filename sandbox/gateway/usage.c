/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/usage.h"

#include <stdio.h>
#include <string.h>

bool kgb_usage_complete(const struct kgb_usage *usage)
{
	return usage->input >= 0 && usage->output >= 0 && usage->cache_creation >= 0 &&
	       usage->cache_read >= 0;
}

bool kgb_usage_equal(const struct kgb_usage *a, const struct kgb_usage *b)
{
	return a->input == b->input && a->output == b->output &&
	       a->cache_creation == b->cache_creation && a->cache_read == b->cache_read;
}

static void add_count(int64_t *total, int64_t part)
{
	if (part < 0)
		return;
	if (*total < 0)
		*total = 0;
	if (__builtin_add_overflow(*total, part, total))
		*total = INT64_MAX;
}

void kgb_usage_add(struct kgb_usage *total, const struct kgb_usage *part)
{
	add_count(&total->input, part->input);
	add_count(&total->output, part->output);
	add_count(&total->cache_creation, part->cache_creation);
	add_count(&total->cache_read, part->cache_read);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void kgb_usage_max(struct kgb_usage *usage, const struct kgb_usage *other)
{
	usage->input = larger(usage->input, other->input);
	usage->output = larger(usage->output, other->output);
	usage->cache_creation = larger(usage->cache_creation, other->cache_creation);
	usage->cache_read = larger(usage->cache_read, other->cache_read);
}
