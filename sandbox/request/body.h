/* SPDX-License-Identifier: MIT */
/** \file
 * The body of a model request, one level deep: the bounds of its object's values. No tree is made,
 * so a body of 60 MB costs one pass. An ambiguous body (no object, a repeated key, a key with
 * escapes) is an error: the provider's parser might read it differently. Internal to
 * rewrite_request.c and unbillable.c. */
#ifndef KGB_SANDBOX_REQUEST_BODY_H
#define KGB_SANDBOX_REQUEST_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/formats/json.h"

/** Real requests have a dozen. */
#define KGB_BODY_MEMBERS 128

struct kgb_member {
	size_t key, key_end; /* without the quotes */
	size_t value, value_end;
	const char *replacement; /* borrowed; NULL: unchanged */
	bool removed;
};

struct kgb_body {
	const char *bytes;
	size_t len;
	struct kgb_member members[KGB_BODY_MEMBERS];
	size_t n;
};

/** Read bytes and len; fills the members. INVALID, with a sentence for the client. */
KGB_MUST_CHECK int kgb_body_scan(struct kgb_body *body, struct kgb_err *err);
/** The member of that name, or NULL. */
struct kgb_member *kgb_body_find(struct kgb_body *body, const char *key);
bool kgb_body_key_is(const struct kgb_body *body, const struct kgb_member *member, const char *key);
/** Whether it is there and its value is written like this; texts with their quotes. */
bool kgb_body_value_is(const struct kgb_body *body, const struct kgb_member *member,
		       const char *text);
/** A text with an escape may be any text. */
bool kgb_body_has_escape(const struct kgb_body *body, const struct kgb_member *member);
/** Its value as a tree; LIMIT when it is long. */
KGB_MUST_CHECK int kgb_body_parse(const struct kgb_body *body, const struct kgb_member *member,
				  cJSON **out, struct kgb_err *err);

/** Behind the blanks at `at`. */
size_t kgb_body_skip_blanks(const struct kgb_body *body, size_t at);
/** Behind the string whose quote is at `at`, or the value that begins there; 0: it does not end. */
size_t kgb_body_skip_string(const struct kgb_body *body, size_t at);
size_t kgb_body_skip_value(const struct kgb_body *body, size_t at);
/** Find the end of the key and the beginning of the value of `"key":` at `at`. */
bool kgb_body_scan_key(const struct kgb_body *body, size_t at, struct kgb_member *out);

#endif
