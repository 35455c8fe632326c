/* SPDX-License-Identifier: MIT */
/** \file
 * Fatbins: containers in which CUDA programs carry device code for several GPUs. They are in
 * section `.nv_fatbin` of shared libraries, and processes pass them to the driver. Compressed
 * entries are not decompressed. Bytes may be hostile. */
#ifndef KGB_VERIFY_PROVENANCE_FATBIN_H
#define KGB_VERIFY_PROVENANCE_FATBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum kgb_fatbin_kind { KGB_FATBIN_PTX = 1, KGB_FATBIN_ELF = 2 }; /* others exist */

struct kgb_fatbin_entry {
	uint16_t kind;
	uint32_t sm; /* 90: compute capability 9.0 */
	bool compressed;
	const unsigned char *data; /* as stored, without padding */
	size_t n_bytes;
};

/** Bytes of the container at the beginning of `bytes`; 0 when there is none, or when it does not
 * end within `len`. */
size_t kgb_fatbin_size(const void *bytes, size_t len);
/** Reads the entry at offset *at (0 for the first one) and moves *at to the next entry. False at
 * the end, or (with *broken true) where an entry does not fit. */
bool kgb_fatbin_next(const void *bytes, size_t len, size_t *at, struct kgb_fatbin_entry *out,
		     bool *broken);

/** Called for each container in a library; -1 with *err ends the walk. */
typedef int (*kgb_fatbin_fn)(const void *bytes, size_t len, void *payload, struct kgb_err *err);
/** All containers of a shared library. INVALID when it is no ELF file or a container is broken; a
 * library without device code is fine. */
KGB_MUST_CHECK int kgb_fatbin_each(const void *library, size_t len, kgb_fatbin_fn each,
				   void *payload, struct kgb_err *err);

#endif
