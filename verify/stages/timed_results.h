/* SPDX-License-Identifier: MIT */
/** \file
 * What the judge compares of a timed call's results. To bring back all bytes of a large result
 * takes longer than to measure a call, so it gets windows at random places, drawn anew for each
 * block of samples. No code of the candidate learns the places.
 */
#ifndef KGB_VERIFY_STAGES_TIMED_RESULTS_H
#define KGB_VERIFY_STAGES_TIMED_RESULTS_H

#include "verify/stages/benchmark.h"

/** A result of more bytes is compared in KGB_WINDOWS windows of KGB_WINDOW_BYTES each. */
#define KGB_WHOLE_RESULT_BYTES (UINT64_C(1) << 20)
#define KGB_WINDOW_BYTES (UINT64_C(256) << 10)
#define KGB_WINDOWS 4

struct kgb_result_window {
	size_t result; /* its number */
	uint64_t at; /* in its contiguous elements */
	uint64_t bytes; /* 0: the whole result, in its layout */
};

/** Choose windows by `random` bits. Writes the memory to bring back to ranges[], in order, and the
 * windows to windows[], both of KGB_EXEC_RANGES. Returns their number; 0: results are too many, and
 * ranges[] is left as zeros, if it was zeros. */
uint32_t kgb_result_windows(const struct kgb_benchmark *benchmark, uint64_t random,
			    struct kgb_exec_range *ranges, struct kgb_result_window *windows);
/** Whether the bytes in kgb-exec's `output`, laid out for the ranges of these windows, equal the
 * right results of the slot, bit by bit. */
bool kgb_result_windows_are_right(const struct kgb_benchmark *benchmark, uint32_t slot,
				  const struct kgb_result_window *windows, uint32_t n,
				  const char *output, const struct kgb_exec_layout *layout);

#endif
