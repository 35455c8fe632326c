/* SPDX-License-Identifier: MIT */
/** \file
 * The same kernels on several GPUs: the spread of their speedups. */
#ifndef KGB_AGENT_COMPARE_GPUS_H
#define KGB_AGENT_COMPARE_GPUS_H

#include "agent/answers/sheet.h"

/** Fill the sheet with the verdicts of kernels that were judged on two GPUs or more: the same file
 * (kernel_sha256), operator and specification, in whatever run. Several verdicts of a kernel on one
 * GPU are joined. The speedup on each GPU is over the baseline there. INVALID: no kernel has two.
 * \param sheet empty; kgb_sheet_release frees what it gets. */
KGB_MUST_CHECK int kgb_compare_gpus(const struct kgb_runs *runs, struct kgb_sheet *sheet,
				    struct kgb_err *err);

#endif
