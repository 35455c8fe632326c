/* SPDX-License-Identifier: MIT */
/** \file
 * A type-safe growing array. `KGB_VEC(struct span) spans;` declares one; all zero is an empty one.
 * Elements move when the array grows: keep indexes, not pointers. An array that cannot grow aborts.
 * The macros evaluate `vec`, a pointer to the array, more than once.
 */
#ifndef KGB_BASE_VEC_H
#define KGB_BASE_VEC_H

#include <stddef.h>

#include "base/mem.h"

#define KGB_VEC(type)                                                  \
	struct {                                                       \
		type *items; /* owned; NULL while nothing was added */ \
		size_t n, cap;                                         \
	}

/** Append a value, which may be a compound literal. */
#define KGB_VEC_ADD(vec, ...) \
	((void)(KGB_VEC_GROW((vec), 1), (vec)->items[(vec)->n++] = __VA_ARGS__))
/** Make room for `more` further elements, without adding them. */
/* NOLINTBEGIN(bugprone-sizeof-expression): elements may be pointers. */
#define KGB_VEC_GROW(vec, more)                                                           \
	((void)((vec)->items = kgb__vec_grow((vec)->items, (vec)->n, (more), &(vec)->cap, \
					     sizeof(*(vec)->items))))
/* NOLINTEND(bugprone-sizeof-expression) */
/** Loop over the elements by pointer: `KGB_VEC_FOREACH(span, &spans) total += span->bytes;` */
/* NOLINTBEGIN(bugprone-macro-parentheses): the name of a variable cannot have any. */
#define KGB_VEC_FOREACH(item, vec)                                                      \
	for (__typeof__(*(vec)->items) *item = (vec)->items,                            \
				       *kgb_end_##item = item ? item + (vec)->n : NULL; \
	     item != kgb_end_##item; item++)
/* NOLINTEND(bugprone-macro-parentheses) */
/** Free the array, not what its elements own; empty afterwards. */
#define KGB_VEC_RELEASE(vec) \
	((void)(kgb_free((vec)->items), (vec)->items = NULL, (vec)->n = (vec)->cap = 0))

/* Implementation: returns `items` with room for n + more elements of `size` bytes. */
void *kgb__vec_grow(void *items, size_t n, size_t more, size_t *cap, size_t size);

#endif
