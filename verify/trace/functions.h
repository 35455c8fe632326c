/* SPDX-License-Identifier: MIT */
/** \file
 * Kernels by their handles. The driver is asked once for the name, the image and the layout of the
 * parameters. A handle is a CUfunction, or a CUkernel that was cast to one (torch and the CUDA
 * libraries pass those).
 */
#ifndef KGB_VERIFY_TRACE_FUNCTIONS_H
#define KGB_VERIFY_TRACE_FUNCTIONS_H

#include "base/vec.h"
#include "verify/cuda/driver.h"
#include "verify/recorder/address_table.h"
#include "verify/recorder/images.h"

struct kgb_kernel_param {
	uint32_t offset, bytes;
};

struct kgb_function {
	uint64_t handle;
	char *name; /* owned; symbol, mangled */
	const char *unusable; /* static text: why its launches cannot be recorded; NULL: they can */
	uint32_t image;
	KGB_VEC(struct kgb_kernel_param) params; /* in the order of the arguments */
	uint32_t params_bytes; /* of the packed buffer; at most KGB_LAUNCH_PARAMS_MAX */
	CUfunction function; /* for attributes; NULL when there is none */
	int32_t carveout; /* see struct kgb_launch */
	bool carveout_known;
	CUfunc_cache cache; /* as set by the program */
};

struct kgb_functions {
	struct kgb_address_table by_handle; /* handle -> struct kgb_function *, owned */
};

/** Never NULL; valid until the function is forgotten. */
struct kgb_function *kgb_functions_get(struct kgb_functions *functions, const struct kgb_cuda *cu,
				       const struct kgb_images *images, uint64_t handle);
/** The kernel's share of shared memory in percent; -1: the driver's choice. */
int32_t kgb_function_carveout(struct kgb_function *fn, const struct kgb_cuda *cu);
/** An attribute of some function was set: query the carveouts again. */
void kgb_functions_attribute_set(struct kgb_functions *functions);
/** Forget the functions of an image that was unloaded, and those of unknown images; image 0:
 * all. */
void kgb_functions_forget(struct kgb_functions *functions, uint32_t image);
void kgb_functions_release(struct kgb_functions *functions);

/** Put the arguments of a launch where the kernel's parameter buffer has them; gaps are zero. A
 * launch has `values`, a pointer for each argument, or `extra`, a buffer that the caller has
 * packed. False when arguments are missing. */
bool kgb_function_pack(const struct kgb_function *fn, void *const *values, void *const *extra,
		       unsigned char *out);

#endif
