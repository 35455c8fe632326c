/* SPDX-License-Identifier: MIT */
/** \file
 * What the judge compares of a timed call's results: all of small ones, of large ones windows at
 * random places, drawn for each slot. To bring back all bytes of a large result takes longer than
 * to measure a call, and to keep those of all slots takes gigabytes. No code of the candidate
 * learns the places.
 */
#ifndef KGB_VERIFY_STAGES_TIMED_RESULTS_H
#define KGB_VERIFY_STAGES_TIMED_RESULTS_H

#include "verify/stages/benchmark.h"

/** A result of more bytes is compared in KGB_WINDOWS windows of KGB_WINDOW_BYTES each, of fewer
 * bytes where there are many results. */
#define KGB_WHOLE_RESULT_BYTES (UINT64_C(1) << 20)
#define KGB_WINDOW_BYTES (UINT64_C(128) << 10)
#define KGB_WINDOWS 8

/** Choose windows by `random` bits. */
void kgb_result_windows_choose(const struct kgb_benchmark *benchmark, uint64_t random,
			       struct kgb_result_windows *out);
/** Keep as right what lies in kgb-exec's `output`, laid out for the windows of the slot. */
void kgb_result_windows_keep(struct kgb_benchmark *benchmark, uint32_t slot, const char *output,
			     const struct kgb_exec_layout *layout);
/** Whether it equals the right results of the slot, bit by bit. */
bool kgb_result_windows_are_right(const struct kgb_benchmark *benchmark, uint32_t slot,
				  const char *output, const struct kgb_exec_layout *layout);

#endif
