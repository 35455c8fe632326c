/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "verify/ablation/result_origin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever a runner says lay in its memory: nothing is read past its end, and no more is found than
 * there is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { N = 16 };
	int16_t result[N];
	const struct kgb_case kase = {.n_args = 0};
	struct kgb_case_data truth = {.kase = &kase, .n_results = 1};
	struct kgb_result_origin origin;
	struct kgb_err err = KGB_ERR_INIT;

	for (int i = 0; i < N; i++)
		result[i] = (int16_t)i;
	truth.results[0] = (struct kgb_truth){
		.native = result,
		.view = {.dtype = KGB_DTYPE_INT16, .ndim = 1, .sizes = {N}, .strides = {1}},
	};
	kgb_result_origin_init(&origin, &truth, false);
	KGB_ASSERT(origin.n == N - 3);
	if (kgb_result_origin_see_history(&origin, data, size, &err) < 0)
		KGB_ASSERT(err.msg[0] != '\0');
	KGB_ASSERT(origin.n_by_host <= origin.n);
	kgb_result_origin_release(&origin);
	return 0;
}
