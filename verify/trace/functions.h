/* SPDX-License-Identifier: MIT */
/** \file
 * What is known of a kernel by its handle, asked from the driver once: name, image, layout of its
 * parameters. A handle is a CUfunction, or a CUkernel that was cast to one (torch and the CUDA
 * libraries pass those).
 */
#ifndef KGB_VERIFY_TRACE_FUNCTIONS_H
#define KGB_VERIFY_TRACE_FUNCTIONS_H

#include "verify/cuda/driver.h"
#include "verify/trace/images.h"
#include "verify/trace/map.h"

struct kgb_kernel_param {
	uint32_t offset, bytes;
};

struct kgb_function {
	uint64_t handle;
	char *name; /* owned; symbol, mangled */
	const char *unusable; /* static text: why its launches cannot be recorded; NULL: they can */
	uint32_t image;
	struct kgb_kernel_param *params; /* owned, in the order of the arguments */
	size_t n_params;
	uint32_t params_bytes; /* of the packed buffer */
	CUfunction function; /* for attributes; NULL when there is none */
	int32_t carveout; /* see struct kgb_launch */
	bool carveout_known;
	CUfunc_cache cache; /* as set by the program */
};

struct kgb_functions {
	struct kgb_id_map by_handle; /* handle -> struct kgb_function *, owned */
};

/** Never NULL; valid until the function is forgotten. */
struct kgb_function *kgb_functions_get(struct kgb_functions *functions, const struct kgb_cuda *cu,
				       const struct kgb_images *images, uint64_t handle);
/** Its share of shared memory in percent, -1 the driver's choice. */
int32_t kgb_function_carveout(struct kgb_function *fn, const struct kgb_cuda *cu);
/** An attribute of some function was set: ask again. */
void kgb_functions_attribute_set(struct kgb_functions *functions);
/** Functions of an image that was unloaded; image 0: all. */
void kgb_functions_forget(struct kgb_functions *functions, uint32_t image);
void kgb_functions_release(struct kgb_functions *functions);

/** Put argument i, found at values[i], where the kernel's parameter buffer has it; gaps are zero.
 * INVALID when an argument is missing, or the layout does not fit in `cap` bytes. */
KGB_MUST_CHECK int kgb_params_pack(const struct kgb_kernel_param *layout, size_t n,
				   void *const *values, unsigned char *out, size_t cap,
				   uint32_t *bytes, struct kgb_err *err);
/** The same for the `extra` argument of a launch: a buffer that the caller has packed already. */
KGB_MUST_CHECK int kgb_params_take(const struct kgb_kernel_param *layout, size_t n,
				   void *const *extra, unsigned char *out, size_t cap,
				   uint32_t *bytes, struct kgb_err *err);

#endif
