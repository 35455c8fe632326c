/* SPDX-License-Identifier: MIT */
#include "verify/stages/timed_results.h"

#include <string.h>

#include "base/hash.h"
#include "base/parallel.h"

/* The memory of result i and its layout there. False: it has no elements. */
static bool find_result(const struct kgb_benchmark *b, size_t i, struct kgb_exec_range *range,
			struct kgb_tensor_view *view)
{
	const struct kgb_candidate_call *call = &b->rcase.call;
	const size_t holder = kgb_candidate_call_holder(b->kase, i);

	if (holder == SIZE_MAX) {
		*view = kgb_wire_view(&call->reply.outputs[i]);
		view->dtype = b->data.results[i].view.dtype;
		*range = b->rcase.ranges[i];
		return range->bytes > 0;
	}
	*view = call->views[holder];
	*range = (struct kgb_exec_range){.address = KGB_ARENA_ADDRESS + call->at[holder],
					 .bytes = kgb_tensor_view_storage_bytes(view)};
	return kgb_tensor_view_numel(view) > 0;
}

uint32_t kgb_result_windows(const struct kgb_benchmark *b, uint64_t random,
			    struct kgb_exec_range *ranges, struct kgb_result_window *windows)
{
	uint32_t n = 0;

	for (size_t i = 0; i < b->data.n_results; i++) {
		struct kgb_exec_range all;
		struct kgb_tensor_view view;
		if (!find_result(b, i, &all, &view))
			continue;
		const uint64_t bytes = kgb_tensor_view_bytes(&view);
		const uint64_t offset = (uint64_t)view.offset * kgb_dtype_size(view.dtype);
		const bool in_windows =
			bytes > KGB_WHOLE_RESULT_BYTES && kgb_tensor_view_is_contiguous(&view);
		const uint32_t n_more = in_windows ? KGB_WINDOWS : 1;
		if (n + n_more > KGB_EXEC_RANGES) {
			memset(ranges, 0, n * sizeof(ranges[0]));
			return 0;
		}
		if (!in_windows) {
			ranges[n] = all;
			windows[n++] = (struct kgb_result_window){.result = i};
		}
		for (uint32_t k = 0; k < KGB_WINDOWS && in_windows; k++) {
			random = kgb_mix64(random);
			const uint64_t at = random % (bytes - KGB_WINDOW_BYTES + 1);
			ranges[n] = (struct kgb_exec_range){all.address + offset + at,
							    KGB_WINDOW_BYTES};
			windows[n++] = (struct kgb_result_window){i, at, KGB_WINDOW_BYTES};
		}
	}
	return n;
}

bool kgb_result_windows_are_right(const struct kgb_benchmark *b, uint32_t slot,
				  const struct kgb_result_window *windows, uint32_t n,
				  const char *output, const struct kgb_exec_layout *layout)
{
	for (uint32_t k = 0; k < n; k++) {
		const struct kgb_result_window *window = &windows[k];
		const char *right = b->right[slot][window->result];
		const char *at = output + layout->ranges[k];
		struct kgb_exec_range all;
		struct kgb_tensor_view view;
		if (!right)
			return false;
		if (window->bytes > 0) {
			if (!kgb_parallel_equal(at, right + window->at, window->bytes))
				return false;
			continue;
		}
		if (!find_result(b, window->result, &all, &view) ||
		    !kgb_tensor_view_equal(&view, at, right))
			return false;
	}
	return true;
}
