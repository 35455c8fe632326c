/* SPDX-License-Identifier: MIT */
/** \file
 * The verdict as text for the agent that wrote the kernel: each fault, its case, and the remedy.
 */
#ifndef KGB_VERIFY_LANE_REPORT_H
#define KGB_VERIFY_LANE_REPORT_H

#include <cjson/cJSON.h>

#include "base/buf.h"

/** Append the report of a verdict document (schema "kgb.verdict/1"; missing members are left out,
 * never fatal).
 *
 *     PASSED 184/184 cases
 *     speedup over torch: 1.25 (1.2 to 1.3)
 *       add_Tensor/float32/big/benchmark FASTER 1.25 (1.2 to 1.3), 0.08 ms against 0.1 ms
 *
 *     FAILED verify.mismatch: 24 of 1000 elements are wrong
 *     cases: 160 passed, 20 failed, 4 not run, of 184
 *
 *     case: add_Tensor/float32/tail_1000/standard  self=float32[1000], ...
 *     wrong: 24 of 1000 elements, first at [976]: expected 1.5, got nan
 *     hint: ...
 *
 * The first line starts with PASSED, FAILED, REFUSED, CHEATED or ERROR. At most three failures are
 * shown. The report contains no seed, and no values except those of the reported element. */
void kgb_verdict_report(const cJSON *verdict, struct kgb_buf *out);

#endif
