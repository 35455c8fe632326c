/* SPDX-License-Identifier: MIT */
/** \file
 * Types of Triton's IR: a scalar, a block of scalars or pointers, a tensor descriptor.
 */
#ifndef KGB_VERIFY_TTIR_TTIR_TYPE_H
#define KGB_VERIFY_TTIR_TTIR_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kgb_ttir_element {
	KGB_TTIR_NONE,
	KGB_TTIR_I1, /* a byte, 0 or 1 */
	KGB_TTIR_I8,
	KGB_TTIR_I16,
	KGB_TTIR_I32,
	KGB_TTIR_I64,
	KGB_TTIR_F8E4M3, /* 4 exponent bits, 3 of mantissa; no infinities */
	KGB_TTIR_F8E5M2,
	KGB_TTIR_BF16,
	KGB_TTIR_F16,
	KGB_TTIR_F32,
	KGB_TTIR_F64,
	KGB_TTIR_POINTER,
	KGB_TTIR_DESCRIPTOR,
	KGB_N_TTIR_ELEMENTS,
};

#define KGB_TTIR_RANK_MAX 24 /* a sort reshapes a block of 2^20 lanes to 20 dimensions */
#define KGB_TTIR_LANES_MAX (1 << 20) /* the limit of Triton's front end */

struct kgb_ttir_type {
	uint8_t element; /* enum kgb_ttir_element */
	uint8_t pointee; /* element behind the last pointer, or of a descriptor */
	uint8_t depth; /* pointers: 1, or 2 for a pointer to pointers */
	uint8_t rank; /* 0: a scalar */
	int32_t shape[KGB_TTIR_RANK_MAX]; /* powers of two; of a descriptor: of its block */
};

/** "f32", "i1", "pointer" ... */
const char *kgb_ttir_element_name(enum kgb_ttir_element element);
/** The element with this name in the text ("bf16", "f8E4M3FN", "index" as i64); NONE: there is
 * none. */
enum kgb_ttir_element kgb_ttir_element_find(const char *name, size_t len);
/** Bytes that an element takes in a block; 0 for a descriptor. */
size_t kgb_ttir_element_size(enum kgb_ttir_element element);
bool kgb_ttir_is_integer(enum kgb_ttir_element element);
bool kgb_ttir_is_float(enum kgb_ttir_element element);
/** float16, bfloat16 and the two of 8 bits: arithmetic on them rounds a float32. */
bool kgb_ttir_is_narrow(enum kgb_ttir_element element);
/** Bytes of the element, or the pointer, that a pointer points to. */
size_t kgb_ttir_pointee_size(const struct kgb_ttir_type *type);

/** Elements of a block; 1 for a scalar and for a descriptor. */
size_t kgb_ttir_lanes(const struct kgb_ttir_type *type);
bool kgb_ttir_same_shape(const struct kgb_ttir_type *a, const struct kgb_ttir_type *b);
bool kgb_ttir_same_type(const struct kgb_ttir_type *a, const struct kgb_ttir_type *b);
/** A type of the same shape with another element. */
struct kgb_ttir_type kgb_ttir_with_element(const struct kgb_ttir_type *type,
					   enum kgb_ttir_element element);
/** As in the text: "tensor<4x8xf32>"; returns out. */
#define KGB_TTIR_TYPE_NAME_LEN 160
const char *kgb_ttir_type_name(const struct kgb_ttir_type *type, char out[KGB_TTIR_TYPE_NAME_LEN]);

#endif
