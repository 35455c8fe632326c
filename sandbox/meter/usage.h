/* SPDX-License-Identifier: MIT */
/** \file
 * Token counts as the wire reports them. A count is -1 while nobody has reported it: unknown is not
 * zero.
 */
#ifndef KGB_SANDBOX_METER_USAGE_H
#define KGB_SANDBOX_METER_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** Anthropic's four disjoint classes: `input` excludes what came from or went into the cache. */
struct kgb_usage {
	int64_t input;
	int64_t output;
	int64_t cache_creation;
	int64_t cache_read;
};
#define KGB_USAGE_UNKNOWN      \
	{                      \
		-1, -1, -1, -1 \
	}

/** All four counts are known. */
bool kgb_usage_complete(const struct kgb_usage *usage);
bool kgb_usage_equal(const struct kgb_usage *a, const struct kgb_usage *b);
/** total += part, field by field; unknown parts add nothing, an unknown total becomes the part.
 * Saturates. */
void kgb_usage_add(struct kgb_usage *total, const struct kgb_usage *part);
/** Each field becomes the larger one: two reports of the same message. */
void kgb_usage_max(struct kgb_usage *usage, const struct kgb_usage *other);

#define KGB_USAGE_MODELS 16
#define KGB_USAGE_MODEL_LEN 96

/** What one session (one attempt) has used. Sums of what is known; `n_incomplete` says how often
 * something is missing. */
struct kgb_totals {
	struct kgb_usage usage; /* all models; fields are 0 before the first exchange */
	int64_t n_exchanges; /* requests for a model's answer with the right token that are over */
	int64_t n_errors; /* of these, without a 2xx answer, or cut off */
	int64_t n_incomplete; /* answered with 2xx, but some count never came */
	int64_t n_repeated; /* answers whose message id had been counted already */
	int64_t n_open; /* still running */
	int64_t n_verify; /* calls of /kgb/v1/verify */
	int64_t n_probes; /* requests with a bad token or an endpoint that is not offered */
	int64_t busy_ms; /* sum over exchanges of request received -> answer complete */
	int64_t wait_ms; /* of that: waiting for a turn, for a pause to end, to try again */
	int64_t n_retries; /* upstream calls that repeated an earlier one */
	int64_t cost_nanos; /* billionths of a dollar, of the messages whose cost is known */
	int64_t n_unpriced; /* messages whose cost is not known */
	int64_t charged_tokens; /* what budgets count: spent, and reserved by open exchanges */
	int64_t charged_nanos;
	int64_t n_misses; /* replay: requests that the record does not hold */
	size_t n_models;
	struct {
		char name[KGB_USAGE_MODEL_LEN]; /* as the answer names it; "(other)" once the table
						   is full */
		struct kgb_usage usage;
		int64_t n_messages;
	} models[KGB_USAGE_MODELS];
};

/** total += part: two sessions of one attempt, one after the other. Both tell what the attempt was
 * charged as a whole, so of that the larger stands. Once the table of models is full, further ones
 * go into its last line, which is called "(other)" then. */
void kgb_totals_add(struct kgb_totals *total, const struct kgb_totals *part);

#endif
