/* SPDX-License-Identifier: MIT */
/** \file
 * Strided views into a storage, as in torch: layouts by name, and moving their elements. */
#ifndef KGB_VERIFY_TENSOR_TENSOR_VIEW_H
#define KGB_VERIFY_TENSOR_TENSOR_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "verify/tensor/dtype.h"

#define KGB_MAX_DIMS 8

/** A strided view: element (i0, i1, ...) lies at offset + sum(i_k * stride_k), in elements of
 * `dtype`. */
struct kgb_tensor_view {
	enum kgb_dtype dtype;
	int ndim;
	int64_t sizes[KGB_MAX_DIMS];
	int64_t strides[KGB_MAX_DIMS];
	int64_t offset;
	int64_t storage_elements; /* of the storage that the view looks into, >= offset + reach */
};
int64_t kgb_tensor_view_numel(const struct kgb_tensor_view *view);
/** Bytes of all elements, one behind the other. */
size_t kgb_tensor_view_bytes(const struct kgb_tensor_view *view);
/** Bytes of the whole storage. */
size_t kgb_tensor_view_storage_bytes(const struct kgb_tensor_view *view);
/** Row-major without gaps (dims of size 1 do not count), whatever the offset. */
bool kgb_tensor_view_is_contiguous(const struct kgb_tensor_view *view);
/** Lay out `sizes` by a layout name: contiguous, transposed (last two dims swapped in memory),
 * strided (every stride doubled: `base[..., ::2]`), row_strided (rows with a gap of 7 elements:
 * `base[..., :n]`), sliced (the same gap behind each dim but the first and the last:
 * `base[:, :n]`), permuted (all dims but the last in reverse order: `base.permute(1, 0, 2)`),
 * offset (3 elements into the storage), expanded (dim 0 has stride 0), expanded_last (the last one
 * has), channels_last (4-d), ones(NUMBER) (row-major; dims of size 1 have any stride), view(NUMBER)
 * (one of all that slices and permutations of a larger tensor give), overlapping(NUMBER) (such a
 * view in which several elements lie at one place). INVALID if unknown or not applicable to that
 * many dims; LIMIT over KGB_LIMIT_TENSOR_BYTES or KGB_MAX_DIMS. */
KGB_MUST_CHECK int kgb_tensor_view_layout(struct kgb_tensor_view *view, enum kgb_dtype dtype,
					  const int64_t *sizes, int ndim, const char *layout,
					  struct kgb_err *err);
/** For complex numbers a view of their real and imaginary parts, which are the last dim, of size 2;
 * for others the same view. */
struct kgb_tensor_view kgb_tensor_view_parts(const struct kgb_tensor_view *view);
/** Names of the layouts that take no number; the first one is contiguous. */
enum { KGB_N_LAYOUTS = 20 };
const char *kgb_layout_name(size_t i);
/** INVALID if `layout` is unknown, or, for something that results are written to, lets elements
 * overlap (expanded, expanded_last, overlapping). */
KGB_MUST_CHECK int kgb_layout_check(const char *layout, bool is_written, struct kgb_err *err);
/** The view with its last two dims, which it has, swapped. */
struct kgb_tensor_view kgb_tensor_view_transposed(const struct kgb_tensor_view *view);
/** Repeat the view along dimensions to the sizes of `like`, as torch expands it. False, with *out
 * undefined: it has those sizes already, or cannot have them. */
bool kgb_tensor_view_expand(const struct kgb_tensor_view *view, const struct kgb_tensor_view *like,
			    struct kgb_tensor_view *out);
/** Row-major element number -> multi-index. */
void kgb_unravel(int64_t i, const int64_t *sizes, int ndim, int64_t *index);
/** Storage index, in elements, of the i-th element in row-major order. */
int64_t kgb_tensor_view_element(const struct kgb_tensor_view *view, int64_t i);
/** The same for all elements in turn: `at` is the storage index of the current element, at first
 * element 0. */
struct kgb_tensor_view_walk {
	const struct kgb_tensor_view *view; /* borrowed */
	int64_t index[KGB_MAX_DIMS];
	int64_t at;
};
void kgb_tensor_view_walk_init(struct kgb_tensor_view_walk *walk,
			       const struct kgb_tensor_view *view);
/** Begin at the i-th element. */
void kgb_tensor_view_walk_to(struct kgb_tensor_view_walk *walk, const struct kgb_tensor_view *view,
			     int64_t i);
void kgb_tensor_view_walk_next(struct kgb_tensor_view_walk *walk);
/** Whether two elements may share a place. (Also true for some views where they do not.) */
bool kgb_tensor_view_may_overlap(const struct kgb_tensor_view *view);

/** Elements first to first + n - 1, row-major, from `storage` to `out`, one behind the other. */
void kgb_tensor_view_gather_part(const struct kgb_tensor_view *view, const void *storage,
				 int64_t first, int64_t n, void *out);
/** Copy these elements back from `elements`, where they lie one behind the other. */
void kgb_tensor_view_scatter_part(const struct kgb_tensor_view *view, const void *elements,
				  int64_t first, int64_t n, void *storage);
/** All elements, by several threads where there are many. */
void kgb_tensor_view_gather(const struct kgb_tensor_view *view, const void *storage, void *out);
/** Whether the view's elements are, bit by bit, the consecutive elements of `elements`. */
bool kgb_tensor_view_equal(const struct kgb_tensor_view *view, const void *storage,
			   const void *elements);
/** The elements, and nothing between them, from one storage to the same places of another. */
void kgb_tensor_view_copy(const struct kgb_tensor_view *view, const void *from, void *to);

/** "float32[33, 17] strides (1, 33) storage_offset 3" (strides only if they are not row-major, also
 * of dims of size 1; offset only if not 0); appends. */
void kgb_tensor_view_describe(const struct kgb_tensor_view *view, struct kgb_buf *out);

#endif
