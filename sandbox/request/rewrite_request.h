/* SPDX-License-Identifier: MIT */
/** \file
 * What the gateway changes in a model request before it leaves: the model is the one that the run
 * pays for, tools that the provider would run on its own machines go, and a streamed chat is asked
 * for its usage. Every other value stays byte for byte. What would be billed beyond what a budget
 * can reserve for, and content that the provider would fetch itself, is refused (unbillable.h).
 *
 * The body is read by a scanner that only knows where values begin and end, so that one of 60 MB
 * costs one pass and no tree. What it cannot read for sure (no object, a key twice, a key in
 * escapes) is refused: the provider's parser might see something else in it.
 */
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
	int64_t max_output_tokens; /* as asked, at most KGB_MAX_OUTPUT_TOKENS; that too when it is
				      no count; -1 if it does not say */
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
