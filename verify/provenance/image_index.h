/* SPDX-License-Identifier: MIT */
/** \file
 * Digests of all device code in the judge's own libraries (libtorch_cuda.so, ...): they show
 * whether an image that a process passed to the driver is part of these libraries. Made once per
 * library file and cached under the file's identity. */
#ifndef KGB_VERIFY_PROVENANCE_IMAGE_INDEX_H
#define KGB_VERIFY_PROVENANCE_IMAGE_INDEX_H

#include <stddef.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/disk_cache.h"
#include "base/vec.h"

#define KGB_INDEX_LIBRARIES_MAX 64
#define KGB_INDEX_IMAGES_MAX (256u << 10) /* of one library */
#define KGB_INDEX_ENTRY_MAX (KGB_SHA256_HEX_LEN * ((size_t)KGB_INDEX_IMAGES_MAX + 1))
#define KGB_INDEX_TOTAL_MAX (UINT64_C(256) << 20)

struct kgb_image_digest {
	char sha256[KGB_SHA256_HEX_LEN];
};

struct kgb_library_images {
	char *name; /* owned; file name without directories */
	KGB_VEC(struct kgb_image_digest) digests; /* sorted */
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

/** Add the images of the library at `path`. Digests that `store` (NULL: none) has of this very file
 * are taken from there, others are stored. */
KGB_MUST_CHECK int kgb_image_index_add(struct kgb_image_index *index, const char *path,
				       const struct kgb_disk_cache *store, struct kgb_err *err);
/** Name of the library that holds the image of this SHA-256 (a whole fatbin, or an uncompressed
 * entry of one), NULL when none does. */
const char *kgb_image_index_find(const struct kgb_image_index *index, const char *image_sha256);
void kgb_image_index_release(struct kgb_image_index *index);

#endif
