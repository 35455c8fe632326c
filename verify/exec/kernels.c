/* SPDX-License-Identifier: MIT */
#include "verify/exec/kernels.h"

/* The text of kernels.ptx, with a NUL. */
__asm__(".pushsection .rodata\n"
	".global kgb_kernels_ptx\n"
	".type kgb_kernels_ptx, @object\n"
	"kgb_kernels_ptx:\n"
	".incbin \"" KGB_SOURCE_DIR "/verify/exec/kernels.ptx\"\n"
	".byte 0\n"
	".size kgb_kernels_ptx, . - kgb_kernels_ptx\n"
	".popsection\n");
