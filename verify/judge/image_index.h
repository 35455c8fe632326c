/* SPDX-License-Identifier: MIT */
/** \file
 * Digests of all device code in the judge's own libraries (libtorch_cuda.so, ...): tells whether an
 * image that a process gave to the driver is one of theirs. Made once per library file and kept in
 * a cache directory under the file's identity.
 */
#ifndef KGB_VERIFY_JUDGE_IMAGE_INDEX_H
#define KGB_VERIFY_JUDGE_IMAGE_INDEX_H

#include <stddef.h>

#include "base/err.h"
#include "base/hash.h"

#define KGB_INDEX_LIBRARIES_MAX 64
#define KGB_INDEX_IMAGES_MAX (256u << 10) /* of one library */

struct kgb_library_images {
	char *name; /* owned; file name without directories */
	char (*digests)[KGB_SHA256_HEX_LEN]; /* owned; SHA-256, sorted */
	size_t n_digests;
	size_t n_fatbins;
	bool cached; /* taken from the cache, not from the library */
};

struct kgb_image_index {
	struct kgb_library_images libraries[KGB_INDEX_LIBRARIES_MAX];
	size_t n_libraries;
};
#define KGB_IMAGE_INDEX_INIT     \
	{                        \
		.n_libraries = 0 \
	}

/** Add the images of the library at `path`. With `cache_dir` (made when absent; NULL: none) the
 * digests are read from there if the library is the file that they were made from, and stored
 * there otherwise. A cache file that is damaged is made anew. */
KGB_MUST_CHECK int kgb_image_index_add(struct kgb_image_index *index, const char *path,
				       const char *cache_dir, struct kgb_err *err);
/** Name of the library that holds this image (a whole fatbin, or an uncompressed entry of one),
 * NULL when none does. */
const char *kgb_image_index_find(const struct kgb_image_index *index, const void *bytes,
				 size_t len);
void kgb_image_index_release(struct kgb_image_index *index);

#endif
