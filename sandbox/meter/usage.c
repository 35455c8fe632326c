/* SPDX-License-Identifier: MIT */
#include "sandbox/meter/usage.h"

#include <stdio.h>
#include <string.h>

#include "base/formats/json.h"

#define SHORT(count, long_name) KGB_ROW(COUNT, struct kgb_usage, count, #count),
const struct kgb_row kgb_usage_rows[] = {KGB_USAGE_COUNTS(SHORT) KGB_ROWS_END};

#define LONG(count, long_name) KGB_ROW(COUNT, struct kgb_usage, count, long_name),
const struct kgb_row kgb_usage_long_rows[] = {KGB_USAGE_COUNTS(LONG) KGB_ROWS_END};

#define OF_TOTALS(count, long_name) KGB_ROW(COUNT, struct kgb_totals, usage.count, #count),
#define TOTAL(field, name) KGB_ROW(I64, struct kgb_totals, field, name)
const struct kgb_row kgb_totals_rows[] = {
	KGB_USAGE_COUNTS(OF_TOTALS) TOTAL(n_exchanges, "exchanges"),
	TOTAL(n_errors, "errors"),
	TOTAL(n_incomplete, "incomplete"),
	TOTAL(n_repeated, "repeated"),
	TOTAL(n_open, "open"),
	TOTAL(n_batched, "batched"),
	TOTAL(n_verify, "verify_calls"),
	TOTAL(n_probes, "probes"),
	TOTAL(busy_ms, "busy_ms"),
	TOTAL(wait_ms, "wait_ms"),
	TOTAL(n_retries, "retries"),
	TOTAL(n_calls, "calls"),
	TOTAL(n_calls_unsure, "calls_unsure"),
	TOTAL(cost_nanos, "cost_nanos"),
	TOTAL(n_unpriced, "unpriced"),
	TOTAL(charged_tokens, "charged_tokens"),
	TOTAL(charged_nanos, "charged_nanos"),
	TOTAL(n_misses, "misses"),
	KGB_ROWS_END,
};

#define OF_MODEL(count, long_name) KGB_ROW(COUNT, struct kgb_model_total, usage.count, #count),
const struct kgb_row kgb_model_total_rows[] = {
	KGB_USAGE_COUNTS(OF_MODEL) KGB_ROW(I64, struct kgb_model_total, n_messages, "messages"),
	KGB_ROWS_END,
};

bool kgb_usage_complete(const struct kgb_usage *usage)
{
	return kgb_usage_total(usage) >= 0;
}

int64_t kgb_usage_total(const struct kgb_usage *usage)
{
	int64_t total = 0;
#define ADD(count, long_name)                                    \
	if (usage->count < 0)                                    \
		return -1;                                       \
	if (__builtin_add_overflow(total, usage->count, &total)) \
		total = INT64_MAX;
	KGB_USAGE_COUNTS(ADD)
	return total;
}

bool kgb_usage_equal(const struct kgb_usage *a, const struct kgb_usage *b)
{
#define SAME(count, long_name) &&a->count == b->count
	return true KGB_USAGE_COUNTS(SAME);
}

void kgb_usage_add(struct kgb_usage *total, const struct kgb_usage *part)
{
	kgb_rows_add(kgb_usage_rows, total, part);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void kgb_usage_max(struct kgb_usage *usage, const struct kgb_usage *other)
{
#define MAX(count, long_name) usage->count = larger(usage->count, other->count);
	KGB_USAGE_COUNTS(MAX)
}

struct kgb_model_total *kgb_totals_model(struct kgb_totals *totals, const char *model)
{
	char name[KGB_USAGE_MODEL_LEN];
	snprintf(name, sizeof(name), "%s", model);
	for (size_t i = 0; i < totals->n_models; i++)
		if (strcmp(totals->models[i].name, name) == 0)
			return &totals->models[i];
	bool full = totals->n_models + 1 >= KGB_USAGE_MODELS;
	if (totals->n_models < KGB_USAGE_MODELS)
		totals->models[totals->n_models++] = (struct kgb_model_total){0};
	struct kgb_model_total *last = &totals->models[totals->n_models - 1];
	snprintf(last->name, sizeof(last->name), "%s", full ? "(other)" : name);
	return last;
}

void kgb_totals_add(struct kgb_totals *total, const struct kgb_totals *part)
{
	const int64_t tokens = larger(total->charged_tokens, part->charged_tokens);
	const int64_t nanos = larger(total->charged_nanos, part->charged_nanos);
	kgb_rows_add(kgb_totals_rows, total, part);
	total->charged_tokens = tokens;
	total->charged_nanos = nanos;
	for (size_t i = 0; i < part->n_models; i++)
		kgb_rows_add(kgb_model_total_rows, kgb_totals_model(total, part->models[i].name),
			     &part->models[i]);
}

void kgb_totals_write(struct kgb_jsonw *w, const struct kgb_totals *totals)
{
	kgb_jsonw_object(w);
	kgb_rows_write(w, kgb_totals_rows, totals);
	kgb_jsonw_put(w, "models: [");
	for (size_t i = 0; i < totals->n_models; i++) {
		kgb_jsonw_put(w, "{name: %s", totals->models[i].name);
		kgb_rows_write(w, kgb_model_total_rows, &totals->models[i]);
		kgb_jsonw_object_end(w);
	}
	kgb_jsonw_put(w, "]}");
}

void kgb_totals_read(const cJSON *node, struct kgb_totals *out)
{
	const cJSON *model = NULL;
	*out = (struct kgb_totals){0};
	kgb_rows_read(node, kgb_totals_rows, NULL, out);
	/* Old journals have no prices. */
	out->n_unpriced = kgb_json_i64(node, "unpriced", out->n_exchanges);
	/* Older ones have no counts of calls. */
	out->n_calls = kgb_json_i64(node, "calls", -1);
	cJSON_ArrayForEach(model, kgb_json_get(node, "models")) {
		if (out->n_models == KGB_USAGE_MODELS)
			break;
		struct kgb_model_total *total = &out->models[out->n_models++];
		snprintf(total->name, sizeof(total->name), "%s", kgb_json_str(model, "name", ""));
		kgb_rows_read(model, kgb_model_total_rows, NULL, total);
	}
}
