/* SPDX-License-Identifier: MIT */
/** \file
 * The code images that the process has loaded: the bytes behind each handle (CUmodule, CUlibrary).
 * Kernels are found by their handle, never by name: variants of one kernel share a name. */
#ifndef KGB_VERIFY_RECORDER_IMAGES_H
#define KGB_VERIFY_RECORDER_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "verify/recorder/address_table.h"

#define KGB_IMAGES_OWNED_MAX (UINT64_C(1) << 30) /* bytes of copies in all */
#define KGB_IMAGE_IS_LIBRARY (UINT64_C(1) << 32) /* the handle is a CUlibrary, else a CUmodule */

struct kgb_image_entry {
	uint32_t id; /* counts from 1 */
	const unsigned char *bytes; /* NULL: refused */
	size_t len;
	unsigned char *owned; /* NULL: the bytes lie in a read-only part of a loaded library */
	const char *refused; /* static text: why there are no bytes */
	size_t n_handles;
	bool used; /* by the open window */
	bool written; /* to the open record */
};

struct kgb_images {
	struct kgb_image_entry *items; /* owned, sorted by id */
	size_t n, cap;
	uint32_t last_id;
	struct kgb_address_table handles; /* handle -> id, with KGB_IMAGE_IS_LIBRARY */
	uint64_t owned_bytes;
};

/** Where an image begins and how long it is, from its own headers: ELF of 64 bits, fatbin, or the
 * wrapper struct of a fatbin that compilers emit. Reads only below image + limit (a wrapper's
 * fatbin: below its start + limit). INVALID for anything else, PTX text included; LIMIT when it is
 * longer than `limit`. */
KGB_MUST_CHECK int kgb_image_measure(const void *image, size_t limit, const unsigned char **start,
				     size_t *len, struct kgb_err *err);

/** `handle` was loaded from `image`, bytes as the driver got them; `flag` is KGB_IMAGE_IS_LIBRARY
 * or 0. Bytes that are known already get no second id. An image that cannot be recorded is kept as
 * refused. */
void kgb_images_load(struct kgb_images *images, uint64_t flag, uint64_t handle, const void *image);
/** Same, for `len` bytes that are an image. */
void kgb_images_put(struct kgb_images *images, uint64_t flag, uint64_t handle, const void *bytes,
		    size_t len);
/** Same, from a file. */
void kgb_images_load_file(struct kgb_images *images, uint64_t flag, uint64_t handle,
			  const char *path);
/** The handle is gone. Its image stays while the open window or another handle uses it. Returns the
 * image's id, 0 when the handle was unknown. */
uint32_t kgb_images_unload(struct kgb_images *images, uint64_t handle);

/** Id of the image of a handle, 0 when unknown. */
uint32_t kgb_images_of(const struct kgb_images *images, uint64_t handle);
/** NULL when there is no such image (any more). Valid until the next change. */
struct kgb_image_entry *kgb_images_find(const struct kgb_images *images, uint32_t id);
/** The window is over: forget its uses, and images without a handle. */
void kgb_images_end_window(struct kgb_images *images);
/** A new record begins: nothing is written yet. */
void kgb_images_start_record(struct kgb_images *images);
void kgb_images_release(struct kgb_images *images);

#endif
