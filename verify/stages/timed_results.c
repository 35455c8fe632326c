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
	*range = (struct kgb_exec_range){.address = call->addresses[holder],
					 .bytes = kgb_tensor_view_storage_bytes(view)};
	return kgb_tensor_view_numel(view) > 0;
}

_Static_assert(KGB_MAX_RESULTS <= KGB_EXEC_RANGES, "whole results fit into a request");

static void add_window(struct kgb_result_windows *windows, size_t result,
		       struct kgb_exec_range range, uint64_t kept_at)
{
	windows->items[windows->n++] = (struct kgb_result_window){result, range, kept_at};
}

/* The memory of result i if it is large; false if it is compared whole, or has no elements. */
static bool find_large(const struct kgb_benchmark *b, size_t i, struct kgb_exec_range *elements)
{
	struct kgb_tensor_view view;

	if (!find_result(b, i, elements, &view) || !kgb_tensor_view_is_contiguous(&view))
		return false;
	elements->address += (uint64_t)view.offset * kgb_dtype_size(view.dtype);
	elements->bytes = kgb_tensor_view_bytes(&view);
	return elements->bytes > KGB_WHOLE_RESULT_BYTES;
}

void kgb_result_windows_choose(const struct kgb_benchmark *b, uint64_t random,
			       struct kgb_result_windows *out)
{
	struct kgb_exec_range range;
	struct kgb_tensor_view view;

	*out = (struct kgb_result_windows){.n = 0};
	for (size_t i = 0; i < b->data.n_results; i++)
		if (!find_large(b, i, &range) && find_result(b, i, &range, &view))
			add_window(out, i, range, 0);
	out->n_whole = out->n;
	for (size_t i = 0; i < b->data.n_results; i++) {
		if (!find_large(b, i, &range))
			continue;
		for (uint32_t k = 0; k < KGB_KEPT_WINDOWS / b->data.n_results; k++) {
			random = kgb_mix64(random);
			const uint64_t at = random % (range.bytes - KGB_WINDOW_BYTES + 1);
			add_window(out, i,
				   (struct kgb_exec_range){range.address + at, KGB_WINDOW_BYTES},
				   k * KGB_WINDOW_BYTES);
		}
	}
}

static void draw(const struct kgb_result_windows *windows, uint32_t item,
		 struct kgb_window_draw *out)
{
	out->ranges[out->n] = windows->items[item].range;
	out->items[out->n++] = item;
}

void kgb_result_windows_from(const struct kgb_result_windows *windows, uint32_t first,
			     struct kgb_window_draw *out)
{
	out->n = 0;
	for (uint32_t i = first; i < windows->n && out->n < KGB_EXEC_RANGES; i++)
		draw(windows, i, out);
}

/* Each window is taken with the same probability (selection sampling: Knuth, TAOCP 2, 3.4.2, S). */
void kgb_result_windows_draw(const struct kgb_result_windows *windows, uint64_t random,
			     struct kgb_window_draw *out)
{
	out->n = 0;
	for (uint32_t i = 0; i < windows->n && out->n < KGB_EXEC_RANGES; i++) {
		random = kgb_mix64(random);
		if (i < windows->n_whole || random % (windows->n - i) < KGB_EXEC_RANGES - out->n)
			draw(windows, i, out);
	}
}

void kgb_result_windows_keep(struct kgb_benchmark *b, uint32_t slot,
			     const struct kgb_window_draw *drawn, const char *output,
			     const struct kgb_exec_layout *layout)
{
	const struct kgb_result_windows *windows = &b->windows[slot];

	for (uint32_t k = 0; k < drawn->n; k++) {
		const struct kgb_result_window *window = &windows->items[drawn->items[k]];
		void **right = &b->right[slot][window->result];
		const char *at = output + layout->ranges[k];
		struct kgb_exec_range all;
		struct kgb_tensor_view view;
		if (drawn->items[k] >= windows->n_whole) {
			if (!*right)
				*right = kgb_xmalloc(KGB_KEPT_WINDOWS * KGB_WINDOW_BYTES);
			memcpy((char *)*right + window->kept_at, at, window->range.bytes);
		} else if (find_result(b, window->result, &all, &view)) {
			*right = kgb_xmalloc(kgb_tensor_view_bytes(&view));
			kgb_tensor_view_gather(&view, at, *right);
		}
	}
}

void kgb_result_windows_find(const struct kgb_benchmark *b, uint32_t slot,
			     const struct kgb_window_draw *drawn, const char *output,
			     const struct kgb_exec_layout *whole, struct kgb_exec_layout *out)
{
	for (uint32_t k = 0; k < drawn->n; k++) {
		const struct kgb_result_window *window = &b->windows[slot].items[drawn->items[k]];
		struct kgb_exec_range all;
		struct kgb_tensor_view view;
		const char *at = kgb_replay_result(&b->rcase, &b->data, window->result, output,
						   whole, &view);
		const bool found = find_result(b, window->result, &all, &view);
		KGB_ASSERT(at && found);
		out->ranges[k] = (uint64_t)(at - output) + (window->range.address - all.address);
	}
}

bool kgb_result_windows_are_right(const struct kgb_benchmark *b, uint32_t slot,
				  const struct kgb_window_draw *drawn, const char *output,
				  const struct kgb_exec_layout *layout)
{
	const struct kgb_result_windows *windows = &b->windows[slot];

	for (uint32_t k = 0; k < drawn->n; k++) {
		const struct kgb_result_window *window = &windows->items[drawn->items[k]];
		const char *right = b->right[slot][window->result];
		const char *at = output + layout->ranges[k];
		struct kgb_exec_range all;
		struct kgb_tensor_view view;
		if (!right)
			return false;
		if (drawn->items[k] >= windows->n_whole) {
			if (memcmp(at, right + window->kept_at, window->range.bytes) != 0)
				return false;
			continue;
		}
		if (!find_result(b, window->result, &all, &view) ||
		    !kgb_tensor_view_equal(&view, at, right))
			return false;
	}
	return true;
}
