/* SPDX-License-Identifier: MIT */
#include "verify/stages/timed_results.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

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

static void add_window(struct kgb_result_windows *windows, struct kgb_exec_range range,
		       struct kgb_result_window window)
{
	windows->ranges[windows->n] = range;
	windows->items[windows->n++] = window;
}

/* As many as all results can have. */
static uint32_t windows_of_each(const struct kgb_benchmark *b)
{
	const size_t most = b->data.n_results > 0 ? KGB_EXEC_RANGES / b->data.n_results : 1;

	return most < KGB_WINDOWS ? (uint32_t)most : KGB_WINDOWS;
}

_Static_assert(KGB_MAX_RESULTS <= KGB_EXEC_RANGES, "each result has a window");

void kgb_result_windows_choose(const struct kgb_benchmark *b, uint64_t random,
			       struct kgb_result_windows *out)
{
	*out = (struct kgb_result_windows){.n = 0};
	for (size_t i = 0; i < b->data.n_results; i++) {
		struct kgb_exec_range all;
		struct kgb_tensor_view view;
		if (!find_result(b, i, &all, &view))
			continue;
		const uint64_t bytes = kgb_tensor_view_bytes(&view);
		const uint64_t offset = (uint64_t)view.offset * kgb_dtype_size(view.dtype);
		const bool in_windows =
			bytes > KGB_WHOLE_RESULT_BYTES && kgb_tensor_view_is_contiguous(&view);
		if (!in_windows)
			add_window(out, all, (struct kgb_result_window){.result = i});
		for (uint32_t k = 0; k < windows_of_each(b) && in_windows; k++) {
			random = kgb_mix64(random);
			const uint64_t at = random % (bytes - KGB_WINDOW_BYTES + 1);
			add_window(out,
				   (struct kgb_exec_range){all.address + offset + at,
							   KGB_WINDOW_BYTES},
				   (struct kgb_result_window){i, at, KGB_WINDOW_BYTES,
							      k * KGB_WINDOW_BYTES});
		}
	}
}

void kgb_result_windows_keep(struct kgb_benchmark *b, uint32_t slot, const char *output,
			     const struct kgb_exec_layout *layout)
{
	const struct kgb_result_windows *windows = &b->windows[slot];

	for (uint32_t k = 0; k < windows->n; k++) {
		const struct kgb_result_window *window = &windows->items[k];
		void **right = &b->right[slot][window->result];
		const char *at = output + layout->ranges[k];
		struct kgb_exec_range all;
		struct kgb_tensor_view view;
		if (window->bytes > 0) {
			if (!*right)
				*right = kgb_xmalloc(KGB_WINDOWS * KGB_WINDOW_BYTES);
			memcpy((char *)*right + window->kept_at, at, window->bytes);
		} else if (find_result(b, window->result, &all, &view)) {
			*right = kgb_xmalloc(kgb_tensor_view_bytes(&view));
			kgb_tensor_view_gather(&view, at, *right);
		}
	}
}

bool kgb_result_windows_are_right(const struct kgb_benchmark *b, uint32_t slot, const char *output,
				  const struct kgb_exec_layout *layout)
{
	const struct kgb_result_windows *windows = &b->windows[slot];

	for (uint32_t k = 0; k < windows->n; k++) {
		const struct kgb_result_window *window = &windows->items[k];
		const char *right = b->right[slot][window->result];
		const char *at = output + layout->ranges[k];
		struct kgb_exec_range all;
		struct kgb_tensor_view view;
		if (!right)
			return false;
		if (window->bytes > 0) {
			if (memcmp(at, right + window->kept_at, window->bytes) != 0)
				return false;
			continue;
		}
		if (!find_result(b, window->result, &all, &view) ||
		    !kgb_tensor_view_equal(&view, at, right))
			return false;
	}
	return true;
}
