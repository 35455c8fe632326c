/* SPDX-License-Identifier: MIT */
/** \file
 * The length of an image of code, from its own headers: ELF of 64 bits or fatbin.
 */
#ifndef KGB_VERIFY_PROTOCOL_IMAGE_LENGTH_H
#define KGB_VERIFY_PROTOCOL_IMAGE_LENGTH_H

#include <stddef.h>

#include "base/err.h"

/** Reads only below image + limit. INVALID for anything else, PTX text included; LIMIT when the
 * image is longer than `limit`. */
KGB_MUST_CHECK int kgb_image_length(const void *image, size_t limit, size_t *len,
				    struct kgb_err *err);

#endif
