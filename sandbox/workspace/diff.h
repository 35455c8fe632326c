/* SPDX-License-Identifier: MIT */
/** \file
 * The changes from one text to another, by libgit2's diff. */
#ifndef KGB_SANDBOX_WORKSPACE_DIFF_H
#define KGB_SANDBOX_WORKSPACE_DIFF_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct kgb_text_diff {
	size_t n_kept, n_added, n_removed; /* lines */
};

/** Append the hunks of a unified diff with three lines of context ("@@ -1,7 +1,7 @@" is the first
 * line; nothing when the texts are equal), and count the lines. */
KGB_MUST_CHECK int kgb_text_diff(const struct kgb_buf *before, const struct kgb_buf *after,
				 struct kgb_buf *out, struct kgb_text_diff *count,
				 struct kgb_err *err);
/** Share of the lines of both texts that are in both: 2 kept / (2 kept + added + removed), from 0
 * to 1. Two empty texts: 1. */
double kgb_text_diff_similarity(const struct kgb_text_diff *count);

#endif
