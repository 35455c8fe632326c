/* SPDX-License-Identifier: MIT */
/** \file
 * Images of launches on the CPU: Triton's IR behind a line of claims, or torch's own fills and
 * copies (docs/record-format.md). A runner on a GPU requests machine code for such IR.
 */
#ifndef KGB_VERIFY_PROTOCOL_CPU_IMAGE_H
#define KGB_VERIFY_PROTOCOL_CPU_IMAGE_H

#include "base/err.h"
#include "verify/protocol/record.h"

/** All of the image of torch's fills and copies. */
#define KGB_CPU_IMAGE_TORCH "{\"kgb_torch\":1}\n"
/** The compute capability of the GPU that the CPU replaces: 9.0. */
#define KGB_CPU_SM 90
/** The beginning of the line of claims. */
#define KGB_CPU_IMAGE_TTIR "{\"kgb_ttir\":1,"

struct kgb_cpu_image {
	bool is_torch; /* then there are neither claims nor a module */
	const char *claims; /* one line of JSON, without its end; not parsed */
	size_t claims_len;
	const char *module; /* text of Triton's IR, not empty */
	size_t module_len;
};

/** Sets *out, whose pointers lead into the image. INVALID: the image is neither Triton's IR nor
 * torch's. */
KGB_MUST_CHECK int kgb_cpu_image_split(const struct kgb_image *image, struct kgb_cpu_image *out,
				       struct kgb_err *err);

#endif
