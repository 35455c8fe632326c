/* SPDX-License-Identifier: MIT */
/** \file
 * Takes secrets out of a byte stream. A byte is held back only while it may be the start of a
 * secret, so that other bytes pass without delay. */
#ifndef KGB_SANDBOX_REQUEST_SCRUB_H
#define KGB_SANDBOX_REQUEST_SCRUB_H

#include <stddef.h>

#include "base/buf.h"

#define KGB_SCRUB_MAX 3
/** Replacement of a secret. */
#define KGB_SCRUB_MARK "<removed>"

struct kgb_scrub {
	const char *secrets[KGB_SCRUB_MAX]; /* borrowed; never empty strings */
	size_t n;
	struct kgb_buf held; /* the longest tail that some secret starts with */
};

void kgb_scrub_init(struct kgb_scrub *scrub);
/** NULL and texts under 8 bytes are ignored: replacing them would only damage the record. */
void kgb_scrub_add(struct kgb_scrub *scrub, const char *secret);
/** Append the bytes to out, each whole secret replaced by the mark. */
void kgb_scrub_feed(struct kgb_scrub *scrub, const char *bytes, size_t len, struct kgb_buf *out);
/** The stream is over: append the bytes held back, which are no secret. */
void kgb_scrub_finish(struct kgb_scrub *scrub, struct kgb_buf *out);
void kgb_scrub_release(struct kgb_scrub *scrub);

/** Append a whole text without those secrets, some of which may be NULL. */
void kgb_scrub_whole(const char *const secrets[KGB_SCRUB_MAX], const char *bytes, size_t len,
		     struct kgb_buf *out);

#endif
