/* SPDX-License-Identifier: MIT */
/** \file
 * Whole-number expressions of operator specs, for the least cost of a call and for drawn cases:
 * "bytes(self) + bytes(result)", "2 * dim(self, 0) * dim(self, 1) * dim(mat2, 1)".
 *
 *     sum     = product {("+" | "-") product}
 *     product = factor {("*" | "/") factor}
 *     factor  = "-" factor | number | "(" sum ")" | "$"name | name | function "(" arguments ")"
 *             | ("min" | "max") "(" sum "," sum ")"
 *
 * int64 throughout; an overflow or a division by 0 is an error, "/" rounds towards 0. No loops, no
 * side effects, no way out: text, depth and number of parts are capped.
 */
#ifndef KGB_VERIFY_SPEC_EXPR_H
#define KGB_VERIFY_SPEC_EXPR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define KGB_EXPR_TEXT_MAX 1024
#define KGB_EXPR_NODES_MAX 256
#define KGB_EXPR_DEPTH_MAX 32
#define KGB_EXPR_NAME_MAX 64

/** What may be asked of a name. */
enum kgb_expr_ask {
	KGB_EXPR_VALUE, /* name: a number that is passed */
	KGB_EXPR_VARIABLE, /* $name: a variable of the case line */
	KGB_EXPR_NUMEL, /* numel(name): elements of a tensor */
	KGB_EXPR_SIZE, /* size(name): bytes of an element */
	KGB_EXPR_BYTES, /* bytes(name): different bytes of memory that a tensor's elements lie in */
	KGB_EXPR_NDIM, /* ndim(name) */
	KGB_EXPR_DIM, /* dim(name, k): size of dimension k, negative from the end */
	KGB_EXPR_N_ASKS,
};
const char *kgb_expr_ask_name(enum kgb_expr_ask ask); /* "numel" */

struct kgb_expr;

/** Answers a question about a name (k counts for DIM only); 0 or -1. */
typedef int (*kgb_expr_ask_fn)(void *payload, enum kgb_expr_ask ask, const char *name, int64_t k,
			       int64_t *out, struct kgb_err *err);

/** The expression lives in the arena. INVALID gives the place: "column 7: expected ')'". */
KGB_MUST_CHECK int kgb_expr_parse(const char *text, struct kgb_arena *arena,
				  const struct kgb_expr **out, struct kgb_err *err);
KGB_MUST_CHECK int kgb_expr_eval(const struct kgb_expr *expr, kgb_expr_ask_fn ask, void *payload,
				 int64_t *out, struct kgb_err *err);
/** Calls `ask` for every name in the text, to check names where there are no numbers yet: its
 * answers are ignored, k is 0. Ends at the first -1. */
KGB_MUST_CHECK int kgb_expr_check(const struct kgb_expr *expr, kgb_expr_ask_fn ask, void *payload,
				  struct kgb_err *err);

#endif
