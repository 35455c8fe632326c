/* SPDX-License-Identifier: MIT */
/** \file
 * Token counts as the wire reports them, and the totals of a session. A count is -1 until it is
 * reported: unknown is not zero. The tables of rows write, read and add the counters; the test
 * test_schemas compares them with docs/schemas/. */
#ifndef KGB_SANDBOX_METER_USAGE_H
#define KGB_SANDBOX_METER_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/formats/rows.h"

/** Anthropic's four disjoint classes, and the names of its API for them: `input` excludes tokens
 * from the cache or into it. */
#define KGB_USAGE_COUNTS(X)                              \
	X(input, "input_tokens")                         \
	X(output, "output_tokens")                       \
	X(cache_creation, "cache_creation_input_tokens") \
	X(cache_read, "cache_read_input_tokens")
struct kgb_usage {
	int64_t input, output, cache_creation, cache_read;
};
#define KGB_USAGE_UNKNOWN      \
	{                      \
		-1, -1, -1, -1 \
	}

/** Members of a struct kgb_usage: by the names of the fields, and by the API's names. */
extern const struct kgb_row kgb_usage_rows[], kgb_usage_long_rows[];

/** All four counts are known. */
bool kgb_usage_complete(const struct kgb_usage *usage);
/** Sum of the four, saturated; -1 when one is unknown. */
int64_t kgb_usage_total(const struct kgb_usage *usage);
bool kgb_usage_equal(const struct kgb_usage *a, const struct kgb_usage *b);
/** total += part, field by field; unknown parts add nothing, an unknown total becomes the part.
 * Saturates. */
void kgb_usage_add(struct kgb_usage *total, const struct kgb_usage *part);
/** Each field becomes the larger one: two reports of the same message. */
void kgb_usage_max(struct kgb_usage *usage, const struct kgb_usage *other);

#define KGB_USAGE_MODELS 16
#define KGB_USAGE_MODEL_LEN 96

/** The usage of one session (one attempt): sums of known counts. `n_incomplete` counts the answers
 * without a complete usage. */
struct kgb_totals {
	struct kgb_usage usage; /* all models; fields are 0 before the first exchange */
	int64_t n_exchanges; /* requests for a model's answer with the right token that are over */
	int64_t n_errors; /* of these, without a 2xx answer, or cut off */
	int64_t n_incomplete; /* answered with 2xx, but some count never came */
	int64_t n_repeated; /* answers whose message id was counted before */
	int64_t n_open; /* still running */
	int64_t n_batched; /* of n_exchanges, by way of a provider's batch, at half the price */
	int64_t n_verify; /* calls of /kgb/v1/verify */
	int64_t n_probes; /* requests with a bad token or an endpoint that is not offered */
	int64_t busy_ms; /* sum over exchanges of request received -> answer complete */
	int64_t wait_ms; /* of that: waiting for a turn, for a pause to end, to try again */
	int64_t n_retries; /* upstream calls that repeated an earlier one */
	int64_t n_calls; /* upstream calls, repeated ones too, that the provider got */
	int64_t n_calls_unsure; /* those that the provider may have received: cut before an answer
				   began */
	int64_t cost_nanos; /* billionths of a dollar, of the messages whose cost is known */
	int64_t n_unpriced; /* messages of unknown cost, also those without counts */
	int64_t charged_tokens; /* counted by budgets: spent, and reserved by open exchanges */
	int64_t charged_nanos;
	int64_t n_misses; /* replay: requests that the record does not hold */
	size_t n_models;
	struct kgb_model_total {
		char name[KGB_USAGE_MODEL_LEN]; /* as the answer names it */
		struct kgb_usage usage;
		int64_t n_messages;
	} models[KGB_USAGE_MODELS];
};
/** Members of a struct kgb_totals without the models, and of a model without its name. */
extern const struct kgb_row kgb_totals_rows[], kgb_model_total_rows[];

/** The row of a model, made when it is missing. The last row is "(other)" and stands for all models
 * that have no room. */
struct kgb_model_total *kgb_totals_model(struct kgb_totals *totals, const char *model);
/** total += part: two sessions of one attempt, one after the other. Both report the charges of the
 * whole attempt, so the larger charge is kept. */
void kgb_totals_add(struct kgb_totals *total, const struct kgb_totals *part);
void kgb_totals_write(struct kgb_jsonw *w, const struct kgb_totals *totals);
void kgb_totals_read(const cJSON *node, struct kgb_totals *out);

#endif
