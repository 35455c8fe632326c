/* SPDX-License-Identifier: MIT */
/** \file
 * What the stand-in for cuBLAS (cublas.c) was called with. Tests find it with dlsym.
 */
#ifndef KGB_TESTS_FAKE_CUBLAS_H
#define KGB_TESTS_FAKE_CUBLAS_H

#include <stdint.h>

enum { FAKE_CUBLAS_WORDS = 17 };

struct fake_cublas_call {
	const char *name;
	int pointer_mode; /* 0 host, 1 device */
	uint64_t words[FAKE_CUBLAS_WORDS];
	char scalars[FAKE_CUBLAS_WORDS][16]; /* what a scalar's word pointed to */
};

extern struct fake_cublas_call fake_cublas_last;
extern int fake_cublas_status; /* what routines and cublasCreate_v2 return */

#endif
