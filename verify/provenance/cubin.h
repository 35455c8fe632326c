/* SPDX-License-Identifier: MIT */
/** \file
 * Machine code for an NVIDIA GPU as ptxas writes it (an ELF file): its kernels, and whether it
 * keeps data between launches. */
#ifndef KGB_VERIFY_PROVENANCE_CUBIN_H
#define KGB_VERIFY_PROVENANCE_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define KGB_CUBIN_BYTES_MAX (64u << 20)
#define KGB_CUBIN_NAMES_MAX 4096 /* kernels, variables or imports of one cubin */

struct kgb_cubin_names {
	const char **items; /* arena; sorted */
	size_t n;
};

struct kgb_cubin {
	struct kgb_cubin_names kernels;
	/** Variables in memory that outlives a launch. Triton makes some for the texts of
	 * device_print and device_assert and for constants of libdevice. */
	struct kgb_cubin_names variables;
	struct kgb_cubin_names imports; /* functions that others provide, such as vprintf */
	uint64_t zeroed_bytes; /* such memory that starts as zeros: Triton's code has none */
};

/** Read a cubin. Names and lists live in `arena`. The bytes may be hostile; INVALID names the
 * fault, LIMIT the exceeded limit. */
KGB_MUST_CHECK int kgb_cubin_read(const void *bytes, size_t len, struct kgb_arena *arena,
				  struct kgb_cubin *out, struct kgb_err *err);
bool kgb_cubin_names_has(const struct kgb_cubin_names *names, const char *name);

#endif
