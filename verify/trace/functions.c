/* SPDX-License-Identifier: MIT */
#include "verify/trace/functions.h"

#include <string.h>

#include "base/mem.h"
#include "verify/protocol/record.h"

#define PARAMS_MAX 4096 /* arguments of one kernel */

/* ---- Asking the driver ---- */

static bool printable(const char *s, size_t max)
{
	size_t i;

	for (i = 0; s[i]; i++) {
		if (i >= max || s[i] < 0x21 || s[i] > 0x7e)
			return false;
	}
	return i > 0;
}

static CUresult param_info(const struct kgb_cuda *cu, uint64_t handle, bool is_kernel, size_t i,
			   size_t *offset, size_t *bytes)
{
	if (is_kernel)
		return cu->cuKernelGetParamInfo((CUkernel)(uintptr_t)handle, i, offset, bytes);
	return cu->cuFuncGetParamInfo((CUfunction)(uintptr_t)handle, i, offset, bytes);
}

/* The driver ends the list with INVALID_VALUE; any other error leaves the layout unknown. */
static int load_params(struct kgb_function *fn, const struct kgb_cuda *cu, bool is_kernel)
{
	for (size_t i = 0; i < PARAMS_MAX; i++) {
		size_t offset = 0, bytes = 0;
		const CUresult result = param_info(cu, fn->handle, is_kernel, i, &offset, &bytes);

		if (result == CUDA_ERROR_INVALID_VALUE)
			return 0;
		if (result != CUDA_SUCCESS || offset > KGB_LAUNCH_PARAMS_MAX ||
		    bytes > KGB_LAUNCH_PARAMS_MAX - offset)
			return -1;
		KGB_VEC_ADD(&fn->params,
			    (struct kgb_kernel_param){(uint32_t)offset, (uint32_t)bytes});
		if (offset + bytes > fn->params_bytes)
			fn->params_bytes = (uint32_t)(offset + bytes);
	}
	return -1;
}

/* The image of a function that the driver made from a library's kernel: that of the library whose
 * kernel of that name gives this function. */
static uint32_t image_of_library_function(const struct kgb_function *fn, const struct kgb_cuda *cu,
					  const struct kgb_images *images)
{
	for (size_t i = 0; i < images->handles.n; i++) {
		const struct kgb_entry *handle = &images->handles.items[i];
		CUkernel kernel = NULL;
		CUfunction function = NULL;

		if ((handle->value & KGB_IMAGE_IS_LIBRARY) &&
		    cu->cuLibraryGetKernel(&kernel, (CUlibrary)(uintptr_t)handle->key, fn->name) ==
			    CUDA_SUCCESS &&
		    cu->cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS &&
		    (uint64_t)(uintptr_t)function == fn->handle)
			return (uint32_t)handle->value;
	}
	return 0;
}

/* NULL, or why launches of the kernel cannot be recorded. */
static const char *load(struct kgb_function *fn, const struct kgb_cuda *cu,
			const struct kgb_images *images)
{
	const CUkernel kernel = (CUkernel)(uintptr_t)fn->handle;
	const char *name = NULL;
	CUmodule module = NULL;
	CUlibrary library = NULL;
	CUresult named;

	fn->function = (CUfunction)(uintptr_t)fn->handle;

	const bool is_kernel = cu->cuFuncGetModule(&module, fn->function) != CUDA_SUCCESS;

	if (is_kernel) {
		if (cu->cuKernelGetLibrary(&library, kernel) != CUDA_SUCCESS)
			return "kernel handle";
		if (cu->cuKernelGetFunction(&fn->function, kernel) != CUDA_SUCCESS)
			fn->function = NULL;
		named = cu->cuKernelGetName(&name, kernel);
		fn->image = kgb_images_of(images, (uint64_t)(uintptr_t)library);
	} else {
		named = cu->cuFuncGetName(&name, fn->function);
		fn->image = kgb_images_of(images, (uint64_t)(uintptr_t)module);
	}
	if (named != CUDA_SUCCESS || !name || !printable(name, KGB_KERNEL_NAME_MAX))
		return "kernel name";
	fn->name = kgb_xstrdup(name);
	if (!is_kernel && fn->image == 0)
		fn->image = image_of_library_function(fn, cu, images);
	if (load_params(fn, cu, is_kernel))
		return "layout of a kernel's parameters";
	return fn->image == 0 ? "kernel of an unknown image" : NULL;
}

struct kgb_function *kgb_functions_get(struct kgb_functions *functions, const struct kgb_cuda *cu,
				       const struct kgb_images *images, uint64_t handle)
{
	const struct kgb_entry *known = kgb_address_table_find(&functions->by_handle, handle);
	struct kgb_function *fn;

	if (known)
		return (struct kgb_function *)(uintptr_t)known->value;
	fn = kgb_xcalloc(1, sizeof(*fn));
	fn->handle = handle;
	fn->cache = CU_FUNC_CACHE_PREFER_NONE;
	fn->unusable = load(fn, cu, images);
	kgb_address_table_put(&functions->by_handle, handle, (uint64_t)(uintptr_t)fn);
	return fn;
}

int32_t kgb_function_carveout(struct kgb_function *fn, const struct kgb_cuda *cu)
{
	int percent = -1;

	if (fn->carveout_known)
		return fn->carveout;
	if (!fn->function ||
	    cu->cuFuncGetAttribute(&percent, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
				   fn->function) != CUDA_SUCCESS ||
	    percent > 100)
		percent = -1;
	/* The cache configuration is an older setting for the same purpose. */
	if (percent < 0 && fn->cache == CU_FUNC_CACHE_PREFER_SHARED)
		percent = 100;
	else if (percent < 0 && fn->cache == CU_FUNC_CACHE_PREFER_EQUAL)
		percent = 50;
	else if (percent < 0 && fn->cache == CU_FUNC_CACHE_PREFER_L1)
		percent = 0;
	fn->carveout = percent < 0 ? -1 : percent;
	fn->carveout_known = true;
	return fn->carveout;
}

/* Query all functions again: a kernel and the functions that were made from it share their
 * attributes, but have separate handles. */
void kgb_functions_attribute_set(struct kgb_functions *functions)
{
	for (size_t i = 0; i < functions->by_handle.n; i++) {
		const uint64_t value = functions->by_handle.items[i].value;

		((struct kgb_function *)(uintptr_t)value)->carveout_known = false;
	}
}

void kgb_functions_forget(struct kgb_functions *functions, uint32_t image)
{
	struct kgb_address_table *table = &functions->by_handle;
	size_t kept = 0;

	for (size_t i = 0; i < table->n; i++) {
		struct kgb_function *fn = (struct kgb_function *)(uintptr_t)table->items[i].value;

		if (image != 0 && fn->image != image && fn->image != 0) {
			table->items[kept++] = table->items[i];
			continue;
		}
		kgb_free(fn->name);
		KGB_VEC_RELEASE(&fn->params);
		kgb_free(fn);
	}
	table->n = kept;
}

void kgb_functions_release(struct kgb_functions *functions)
{
	kgb_functions_forget(functions, 0);
	kgb_address_table_release(&functions->by_handle);
}

/* ---- Parameters ---- */

/* The buffer of a launch's `extra`; NULL: none, or an unknown option. */
static const unsigned char *packed_buffer(void *const *extra, size_t *bytes)
{
	const unsigned char *buffer = NULL;

	/* Pairs of a key and a value; more than two would repeat one. */
	for (size_t i = 0; extra[2 * i] != CU_LAUNCH_PARAM_END; i++) {
		if (i == 2)
			return NULL;
		if (extra[2 * i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[2 * i + 1];
		else if (extra[2 * i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			memcpy(bytes, extra[2 * i + 1], sizeof(*bytes));
		else
			return NULL;
	}
	return buffer;
}

bool kgb_function_pack(const struct kgb_function *fn, void *const *values, void *const *extra,
		       unsigned char *out)
{
	const unsigned char *packed = NULL;
	size_t bytes = 0;

	if (!values && extra)
		packed = packed_buffer(extra, &bytes);
	if (packed && (bytes < fn->params_bytes || bytes > KGB_LAUNCH_PARAMS_MAX))
		return false;
	memset(out, 0, fn->params_bytes);
	for (size_t i = 0; i < fn->params.n; i++) {
		const struct kgb_kernel_param *param = &fn->params.items[i];
		const unsigned char *value = values   ? values[i]
					     : packed ? packed + param->offset
						      : NULL;

		if (!value)
			return false;
		memcpy(out + param->offset, value, param->bytes);
	}
	return true;
}
