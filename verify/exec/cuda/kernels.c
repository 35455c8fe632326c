/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/kernels.h"

/* The text of a file beside this one, with a NUL. */
#define TEXT_OF(file, name)                               \
	__asm__(".pushsection .rodata\n"                  \
		".global " name "\n"                      \
		".type " name ", @object\n" name ":\n"    \
		".incbin \"verify/exec/cuda/" file "\"\n" \
		".byte 0\n"                               \
		".size " name ", . - " name "\n"          \
		".popsection\n")

TEXT_OF("kernels.ptx", "kgb_kernels_ptx");
TEXT_OF("measure.ptx", "kgb_measure_ptx");
