/* SPDX-License-Identifier: MIT */
/** \file
 * Internal to base: what the parts of decode.h share.
 */
#ifndef KGB_BASE_FORMATS_DECODE_INTERNAL_H
#define KGB_BASE_FORMATS_DECODE_INTERNAL_H

#include "base/formats/decode.h"

/** The field's place in the struct. */
void *kgb_decode__slot(const struct kgb_field *field, void *out);
/** The field of a table whose name is the first `len` bytes of `name`, or NULL. */
const struct kgb_field *kgb_decode__find(const struct kgb_field *table, const char *name,
					 size_t len);
/** Set one scalar field from its text. The message is about the text only: the caller says where it
 * stands. */
KGB_MUST_CHECK int kgb_decode__scalar(const struct kgb_field *field, const char *text, void *slot,
				      struct kgb_arena *arena, struct kgb_err *err);

#endif
