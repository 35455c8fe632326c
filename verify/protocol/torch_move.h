/* SPDX-License-Identifier: MIT */
/** \file
 * A fill or a copy by torch on the CPU, as a launch of the image KGB_CPU_IMAGE_TORCH. The
 * parameters are words of 8 bytes:
 *
 *     fill   dst, dtype, value (two words), n_dims, sizes, strides of dst
 *     copy   dst, dtype of dst, src, dtype of src, n_dims, sizes, strides of dst, strides of src
 *
 * with a word for each dimension of sizes and strides. Strides count elements. Grid and block are
 * 1 x 1 x 1.
 */
#ifndef KGB_VERIFY_PROTOCOL_TORCH_MOVE_H
#define KGB_VERIFY_PROTOCOL_TORCH_MOVE_H

#include "base/err.h"
#include "verify/protocol/op_limits.h"
#include "verify/protocol/record.h"
#include "verify/tensor/dtype.h"

#define KGB_TORCH_FILL "fill" /* name of the kernel */
#define KGB_TORCH_COPY "copy"
#define KGB_TORCH_MOVE_DIMS 8
#define KGB_TORCH_MOVE_WORDS_MAX (5 + 3 * KGB_TORCH_MOVE_DIMS)
#define KGB_TORCH_MOVE_ELEMENTS_MAX (INT64_C(1) << 32)

/** One side of a move. */
struct kgb_torch_side {
	uint64_t address; /* of element (0, 0, ...) */
	enum kgb_dtype dtype;
	int64_t strides[KGB_TORCH_MOVE_DIMS]; /* in elements, not negative */
};

struct kgb_torch_move {
	bool is_copy; /* else a fill */
	uint32_t n_dims;
	int64_t sizes[KGB_TORCH_MOVE_DIMS];
	struct kgb_torch_side dst;
	struct kgb_torch_side src; /* copy */
	uint64_t value[2]; /* fill: the bits of one element, zeros behind */
};

/** INVALID: not the parameters of a fill or copy, or one of more than KGB_TORCH_MOVE_ELEMENTS_MAX
 * elements, or an address that does not fit 64 bits. */
KGB_MUST_CHECK int kgb_torch_move_parse(const struct kgb_launch *launch, struct kgb_torch_move *out,
					struct kgb_err *err);
/** Its parameters; returns the number of words. */
size_t kgb_torch_move_words(const struct kgb_torch_move *move,
			    uint64_t out[KGB_TORCH_MOVE_WORDS_MAX]);

int64_t kgb_torch_move_elements(const struct kgb_torch_move *move);
/** The memory between first and last element of each side, "destination" first; returns the number
 * of sides. */
size_t kgb_torch_move_ranges(const struct kgb_torch_move *move,
			     struct kgb_op_range out[KGB_OP_RANGES_MAX]);

#endif
