/* SPDX-License-Identifier: MIT */
/* Every function of the driver's table that driver.c does not define: not supported. */
#include "verify/cuda/driver.h"

CUresult fake_unsupported(void);

CUresult fake_unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define STR(name) #name
#define XSTR(name) STR(name)
#define WEAK(name) __asm__(".weak " XSTR(name) "\n.set " XSTR(name) ", fake_unsupported\n");
KGB_CUDA_FUNCTIONS(WEAK)
