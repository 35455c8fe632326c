/* SPDX-License-Identifier: MIT */
#include "sandbox/meter/usage.h"

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

/** The model's line in the table, made if it is not there. */
static size_t model_line(struct kgb_totals *totals, const char *name)
{
	size_t i = 0;
	while (i < totals->n_models && strcmp(totals->models[i].name, name) != 0)
		i++;
	if (i == KGB_USAGE_MODELS) {
		i--;
		snprintf(totals->models[i].name, sizeof(totals->models[i].name), "(other)");
	} else if (i == totals->n_models) {
		memset(&totals->models[i], 0, sizeof(totals->models[i]));
		snprintf(totals->models[i].name, sizeof(totals->models[i].name), "%s", name);
		totals->n_models++;
	}
	return i;
}

void kgb_totals_add(struct kgb_totals *total, const struct kgb_totals *part)
{
	kgb_usage_add(&total->usage, &part->usage);
	total->n_exchanges += part->n_exchanges;
	total->n_errors += part->n_errors;
	total->n_incomplete += part->n_incomplete;
	total->n_repeated += part->n_repeated;
	total->n_open += part->n_open;
	total->n_verify += part->n_verify;
	total->n_probes += part->n_probes;
	total->busy_ms += part->busy_ms;
	total->wait_ms += part->wait_ms;
	total->n_retries += part->n_retries;
	total->cost_nanos += part->cost_nanos;
	total->n_unpriced += part->n_unpriced;
	total->charged_tokens = larger(total->charged_tokens, part->charged_tokens);
	total->charged_nanos = larger(total->charged_nanos, part->charged_nanos);
	total->n_misses += part->n_misses;
	for (size_t i = 0; i < part->n_models; i++) {
		size_t k = model_line(total, part->models[i].name);
		kgb_usage_add(&total->models[k].usage, &part->models[i].usage);
		total->models[k].n_messages += part->models[i].n_messages;
	}
}
