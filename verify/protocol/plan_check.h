/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-exec's checks of a plan before the driver gets any of it: ops, blocks, the shapes of
 * images. */
#ifndef KGB_VERIFY_PROTOCOL_PLAN_CHECK_H
#define KGB_VERIFY_PROTOCOL_PLAN_CHECK_H

#include "base/err.h"
#include "verify/protocol/record.h"
#include "verify/protocol/spans.h"

#define KGB_EXEC_STREAMS_MAX 64
#define KGB_EXEC_EVENTS_MAX 4096
#define KGB_EXEC_DOWNLOAD_MAX (UINT64_C(1) << 30)

/** Check that the device can load this image. INVALID gives the cause. */
typedef int (*kgb_exec_check_image_fn)(const struct kgb_image *image, struct kgb_err *err);

/** Check the one window of a record and its images. INVALID names the op, block or image, and its
 * fault. */
KGB_MUST_CHECK int kgb_exec_check_plan(const struct kgb_record *record,
				       kgb_exec_check_image_fn check_image, struct kgb_err *err);

/** Check that this is a whole cubin or fatbin. The driver takes a pointer without a length, and
 * accepts a struct of pointers as a fatbin: untrusted bytes must not be truncated, and must not be
 * such a struct. */
KGB_MUST_CHECK int kgb_exec_check_image(const struct kgb_image *image, struct kgb_err *err);

/** Check that every op except launches stays within `memory`. */
KGB_MUST_CHECK int kgb_exec_check_memory(const struct kgb_window *window,
					 const struct kgb_spans *memory, struct kgb_err *err);

/** The blocks of a window as a set, with overlaps joined. */
void kgb_exec_blocks(const struct kgb_window *window, struct kgb_spans *out);

#endif
