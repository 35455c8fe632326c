/* SPDX-License-Identifier: MIT */
/** \file
 * The gateway's changes of a model request before it leaves: sets the run's model, removes tools
 * that the provider would run, and requests the usage of a streamed chat. Every other value stays
 * byte for byte. Features whose bill has no bound for a reservation, and content that the provider
 * would fetch itself, are refused (unbillable.h).
 *
 * A scanner finds only the bounds of values, so that a body of 60 MB costs one pass and no tree. It
 * refuses an ambiguous body (no object, a repeated key, a key with escapes): the provider's parser
 * might read it differently. */
#ifndef KGB_SANDBOX_REQUEST_REWRITE_REQUEST_H
#define KGB_SANDBOX_REQUEST_REWRITE_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/meter/usage.h"
#include "sandbox/request/http.h"

struct kgb_rewrite_spec {
	enum kgb_endpoint endpoint; /* one that takes a body */
	const char *model; /* NULL: as asked */
	bool allow_provider_tools;
};

/** Above what any model writes. */
#define KGB_MAX_OUTPUT_TOKENS (1 << 24)
/** OpenAI's limit of `n`. */
#define KGB_MAX_CHOICES 128

struct kgb_rewritten {
	struct kgb_buf body; /* empty: the request goes out as it came */
	char model[KGB_USAGE_MODEL_LEN]; /* that it goes out with, cut to size; "" if none */
	int64_t max_output_tokens; /* as requested, at most KGB_MAX_OUTPUT_TOKENS; that too when it
				      is no count; -1: no limit given */
	int64_t n_choices; /* answers that it asks for, each of as many tokens; KGB_MAX_CHOICES when
			      it is no count */
	size_t n_tools_removed;
	size_t n_images; /* at most; not counted where the provider's tools are allowed */
};
#define KGB_REWRITTEN_INIT                                                       \
	{                                                                        \
		.body = KGB_BUF_INIT(0), .max_output_tokens = -1, .n_choices = 1 \
	}

/** INVALID, with a sentence for the client, when the body cannot be read. Touches nothing but its
 * arguments, so it may run on a worker thread. */
KGB_MUST_CHECK int kgb_rewrite_request(const struct kgb_rewrite_spec *spec, const char *body,
				       size_t len, struct kgb_rewritten *out, struct kgb_err *err);
void kgb_rewritten_release(struct kgb_rewritten *rewritten);

#endif
