/* SPDX-License-Identifier: MIT */
/** \file
 * libkgb_cublas.so: blas.h for verify/python/reference/cublas.py, which calls it through ctypes.
 * One handle for the process. Calls return 0, or -1 with the reason in kgb_blas_error(). One
 * thread.
 */
#ifndef KGB_VERIFY_CUBLAS_PYTHON_H
#define KGB_VERIFY_CUBLAS_PYTHON_H

#include "verify/cublas/blas.h"

#define KGB_BLAS_API __attribute__((visibility("default")))

/** Opens cuBLAS; a CUDA context must be current. Does nothing if cuBLAS is open. */
KGB_BLAS_API int kgb_blas_open(void);
KGB_BLAS_API int kgb_blas_workspace(void *memory, size_t bytes);
KGB_BLAS_API int kgb_blas_call(const char *routine, const struct kgb_cublas_value *values,
			       size_t n);
/** The error of the last call. Lives until the next one. */
KGB_BLAS_API const char *kgb_blas_error(void);

#endif
