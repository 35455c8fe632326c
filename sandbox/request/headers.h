/* SPDX-License-Identifier: MIT */
/** \file
 * The headers of a request or an answer, in their order: a name may come twice.
 */
#ifndef KGB_SANDBOX_REQUEST_HEADERS_H
#define KGB_SANDBOX_REQUEST_HEADERS_H

#include "base/str.h"

/** Zero at first. */
struct kgb_headers {
	struct kgb_strv names, values; /* pairwise */
};

void kgb_headers_add(struct kgb_headers *headers, const char *name, const char *value);
void kgb_headers_add_all(struct kgb_headers *headers, const struct kgb_headers *more);
/** Replace the first value of that name, or add it. Names are compared byte by byte. */
void kgb_headers_set(struct kgb_headers *headers, const char *name, const char *value);
/** The first value of that name, or NULL. */
const char *kgb_headers_find(const struct kgb_headers *headers, const char *name);
/** Empty afterwards. */
void kgb_headers_release(struct kgb_headers *headers);

#endif
