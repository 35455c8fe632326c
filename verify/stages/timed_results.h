/* SPDX-License-Identifier: MIT */
/** \file
 * What the judge compares of a timed call's results: all of small ones, of large ones windows. To
 * bring back all bytes of a large result takes longer than to measure a call, and to keep those of
 * all slots takes gigabytes. The judge draws and keeps some windows for each slot, and compares
 * some of them after each block of samples. No code of the candidate learns the places.
 */
#ifndef KGB_VERIFY_STAGES_TIMED_RESULTS_H
#define KGB_VERIFY_STAGES_TIMED_RESULTS_H

#include "verify/stages/benchmark.h"

/** A result of more bytes is large. All large ones share KGB_KEPT_WINDOWS windows. */
#define KGB_WHOLE_RESULT_BYTES (UINT64_C(1) << 20)
#define KGB_WINDOW_BYTES (UINT64_C(64) << 10)

/** Windows that one request brings back, and their memory in that order. */
struct kgb_window_draw {
	uint32_t n;
	uint32_t items[KGB_EXEC_RANGES]; /* numbers of kgb_result_windows.items */
	struct kgb_exec_range ranges[KGB_EXEC_RANGES];
};

/** Choose windows by `random` bits. */
void kgb_result_windows_choose(const struct kgb_benchmark *benchmark, uint64_t random,
			       struct kgb_result_windows *out);
/** The windows from number `first` on. */
void kgb_result_windows_from(const struct kgb_result_windows *windows, uint32_t first,
			     struct kgb_window_draw *out);
/** All whole results, and windows drawn by `random` bits. */
void kgb_result_windows_draw(const struct kgb_result_windows *windows, uint64_t random,
			     struct kgb_window_draw *out);
/** Keep as right what lies in kgb-exec's `output`, laid out for these windows of the slot. */
void kgb_result_windows_keep(struct kgb_benchmark *benchmark, uint32_t slot,
			     const struct kgb_window_draw *draw, const char *output,
			     const struct kgb_exec_layout *layout);
/** Where these windows lie in an `output` that has all results, laid out as `whole` says. */
void kgb_result_windows_find(const struct kgb_benchmark *benchmark, uint32_t slot,
			     const struct kgb_window_draw *draw, const char *output,
			     const struct kgb_exec_layout *whole, struct kgb_exec_layout *out);
/** Whether it equals the right results of the slot, bit by bit. */
bool kgb_result_windows_are_right(const struct kgb_benchmark *benchmark, uint32_t slot,
				  const struct kgb_window_draw *draw, const char *output,
				  const struct kgb_exec_layout *layout);

#endif
