/* SPDX-License-Identifier: MIT */
/** \file
 * The texts of kernels in a report: each text once, and cut so that all fit.
 */
#ifndef KGB_AGENT_PAGE_KERNELS_H
#define KGB_AGENT_PAGE_KERNELS_H

#include "base/buf.h"
#include "base/formats/jsonw.h"
#include "base/hash.h"
#include "base/vec.h"

struct kgb_page_kernel {
	char sha256[KGB_SHA256_HEX_LEN];
	char *text; /* owned */
	size_t len;
	size_t n_embedded; /* bytes of the whole text in a page */
};

struct kgb_kernels {
	KGB_VEC(struct kgb_page_kernel) list;
};

/** Add the kernel in a file of a run, which may be hostile. Returns its place in the list. -1: it
 * is no regular file of at most KGB_LIMIT_KERNEL bytes. */
KGB_MUST_CHECK int kgb_kernels_add(struct kgb_kernels *kernels, int run_fd, const char *path,
				   size_t *place, struct kgb_err *err);
/** Write an array of {sha256, bytes, text}, texts cut to an equal size so that they take at most
 * `limit` bytes of a page. */
void kgb_kernels_write(const struct kgb_kernels *kernels, size_t limit, struct kgb_jsonw *w);
void kgb_kernels_release(struct kgb_kernels *kernels);

/** Append JSON in the form that a script element of HTML may hold: "<", line separators and marks
 * of the reading direction only as \uXXXX. */
void kgb_embed_json(struct kgb_buf *out, const char *json, size_t len);

#endif
