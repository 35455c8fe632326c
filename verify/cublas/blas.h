/* SPDX-License-Identifier: MIT */
/** \file
 * cuBLAS, opened at run time: the baseline of operators that are its routines, and their native
 * result. A routine is called by its name with its arguments in the order of its prototype. The
 * arguments are checked against the prototype, and the routine's status is never ignored.
 * Prototypes come from the real header, so a changed one does not compile. One thread; the CUDA
 * context is the caller's.
 *
 * Scalars come from the host (CUBLAS_POINTER_MODE_HOST), results of dot and asum go to device
 * memory (CUBLAS_POINTER_MODE_DEVICE). Work goes to the default stream, in the default math mode:
 * float32 is float32, not TF32. */
#ifndef KGB_VERIFY_CUBLAS_BLAS_H
#define KGB_VERIFY_CUBLAS_BLAS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct kgb_cublas;

enum kgb_cublas_kind { KGB_CUBLAS_INTEGER, KGB_CUBLAS_NUMBER, KGB_CUBLAS_POINTER };

/** One argument. Layout shared with verify/python/reference/cublas.py. */
struct kgb_cublas_value {
	uint32_t kind; /* enum kgb_cublas_kind */
	uint32_t zero;
	int64_t integer; /* INTEGER; also for a NUMBER that was written as an integer */
	double re, im; /* NUMBER */
	void *pointer; /* POINTER: device memory */
};

/** Open the library: `path`, or with NULL the one that the process has loaded (torch brings one),
 * else libcublas.so.13 or .12 on the loader's path. Makes a handle, so a CUDA context must be
 * current. UNAVAILABLE, with the reason, where there is none. */
KGB_MUST_CHECK int kgb_cublas_open(const char *path, struct kgb_cublas **out, struct kgb_err *err);
/** NULL is fine. The library itself stays loaded. */
void kgb_cublas_close(struct kgb_cublas *blas);

/** Give cuBLAS a workspace in device memory, in place of its own. The caller keeps the
 * ownership. */
KGB_MUST_CHECK int kgb_cublas_set_workspace(struct kgb_cublas *blas, void *memory, size_t bytes,
					    struct kgb_err *err);

/** Call `routine` ("cublasSgemm_v2"). NOT_FOUND for an unknown one, INVALID when number, kind or
 * range of the values do not fit its prototype, FAILED with the status where cuBLAS refuses. */
KGB_MUST_CHECK int kgb_cublas_call(struct kgb_cublas *blas, const char *routine,
				   const struct kgb_cublas_value *values, size_t n,
				   struct kgb_err *err);

#endif
