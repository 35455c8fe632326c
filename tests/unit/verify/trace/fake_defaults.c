/* SPDX-License-Identifier: MIT */
/* Every function that the trace library looks up exists; those that fake_cuda.c leaves out fail. */
#include "verify/cuda/driver.h"

#define STR(name) #name
#define XSTR(name) STR(name)
#define WEAK(name) __asm__(".weak " XSTR(name) "\n.set " XSTR(name) ", fake_unsupported");

CUresult fake_unsupported(void);

__attribute__((used)) CUresult fake_unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

KGB_CUDA_FUNCTIONS(WEAK)
