/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/mem.h"
#include "verify/comparator/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Results are bytes from a process that nobody trusts. The native result here is foreign too, and
 * so are the doubles. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	enum kgb_dtype dtype = data[0] % KGB_DTYPE_COMPLEX64; /* complex ones are two of these */
	struct kgb_tolerance tolerance = {.factor = 4,
					  .ulps = 2,
					  .zeros = (enum kgb_zeros)(data[1] / 4 % 2),
					  .is_exact = data[1] / 8 % 2,
					  .accumulate = data[1] % 2 ? KGB_ACCUMULATE_RESULT
								    : KGB_ACCUMULATE_FLOAT32};
	size_t element = 2 * kgb_dtype_size(dtype) + 2 * sizeof(double), n = (size - 2) / element;
	size_t bytes = n * kgb_dtype_size(dtype);
	struct kgb_tensor_view view = {.dtype = dtype,
				       .ndim = 1,
				       .sizes = {(int64_t)n},
				       .strides = {1},
				       .storage_elements = (int64_t)n};
	KGB_AUTO(free) double *doubles = kgb_xcalloc(2 * n + 1, sizeof(double));
	struct kgb_compare out;

	const uint8_t *candidate = data + 2, *native = candidate + bytes;
	memcpy(doubles, native + bytes, 2 * n * sizeof(double));
	kgb_compare(&view, candidate, native, doubles, data[1] % 4 < 2 ? doubles + n : NULL,
		    &tolerance, &out);
	KGB_ASSERT(out.n_elements == (int64_t)n && out.n_wrong >= 0 &&
		   out.n_wrong <= out.n_elements);
	KGB_ASSERT((out.n_wrong > 0) == (out.first_wrong >= 0));
	KGB_ASSERT(out.ok == (out.n_wrong == 0 && !out.rms_failed));
	KGB_ASSERT(out.first_wrong < (int64_t)n && out.reported < (int64_t)n &&
		   (out.reported >= 0 || n == 0));
	KGB_ASSERT(!isnan(out.allowed_abs_err) && !isnan(out.max_abs_err));

	/* What is equal to the native result in every bit is right, unless the reference disagrees.
	 */
	if (!kgb_dtype_is_float(dtype)) {
		kgb_compare(&view, native, native, doubles, NULL, &tolerance, &out);
		KGB_ASSERT(out.ok);
	}
	return 0;
}
