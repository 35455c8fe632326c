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
	size_t cap = 0;

	for (size_t i = 0; i < PARAMS_MAX; i++) {
		size_t offset = 0, bytes = 0;
		const CUresult result = param_info(cu, fn->handle, is_kernel, i, &offset, &bytes);

		if (result == CUDA_ERROR_INVALID_VALUE)
			return 0;
		if (result != CUDA_SUCCESS || offset > KGB_LAUNCH_PARAMS_MAX ||
		    bytes > KGB_LAUNCH_PARAMS_MAX - offset)
			return -1;
		if (fn->n_params == cap) {
			cap = cap ? 2 * cap : 16;
			fn->params = kgb_xreallocarray(fn->params, cap, sizeof(fn->params[0]));
		}
		fn->params[fn->n_params++] =
			(struct kgb_kernel_param){(uint32_t)offset, (uint32_t)bytes};
		if (offset + bytes > fn->params_bytes)
			fn->params_bytes = (uint32_t)(offset + bytes);
	}
	return -1;
}

/* A function that the driver made from a library's kernel: the library whose kernel of that name
 * gives this very function. */
static uint32_t image_of_library_function(const struct kgb_function *fn, const struct kgb_cuda *cu,
					  const struct kgb_images *images)
{
	uint64_t handle;
	uint32_t id;
	size_t i = 0;

	while (kgb_images_next_library(images, &i, &handle, &id)) {
		CUkernel kernel = NULL;
		CUfunction function = NULL;

		if (cu->cuLibraryGetKernel(&kernel, (CUlibrary)(uintptr_t)handle, fn->name) !=
			    CUDA_SUCCESS ||
		    cu->cuKernelGetFunction(&function, kernel) != CUDA_SUCCESS)
			continue;
		if ((uint64_t)(uintptr_t)function == fn->handle)
			return id;
	}
	return 0;
}

static void set_name(struct kgb_function *fn, const char *name)
{
	if (name && printable(name, KGB_KERNEL_NAME_MAX))
		fn->name = kgb_xstrdup(name);
	else
		fn->unusable = "kernel name";
}

static void load_function(struct kgb_function *fn, const struct kgb_cuda *cu,
			  const struct kgb_images *images, CUmodule module)
{
	const char *name = NULL;

	fn->function = (CUfunction)(uintptr_t)fn->handle;
	if (cu->cuFuncGetName(&name, fn->function) != CUDA_SUCCESS)
		name = NULL;
	set_name(fn, name);
	fn->image = kgb_images_of(images, (uint64_t)(uintptr_t)module);
	if (fn->image == 0 && fn->name)
		fn->image = image_of_library_function(fn, cu, images);
	if (load_params(fn, cu, false) && !fn->unusable)
		fn->unusable = "layout of a kernel's parameters";
}

static void load_kernel(struct kgb_function *fn, const struct kgb_cuda *cu,
			const struct kgb_images *images)
{
	const CUkernel kernel = (CUkernel)(uintptr_t)fn->handle;
	CUlibrary library = NULL;
	const char *name = NULL;

	if (cu->cuKernelGetLibrary(&library, kernel) != CUDA_SUCCESS) {
		fn->unusable = "kernel handle";
		return;
	}
	if (cu->cuKernelGetName(&name, kernel) != CUDA_SUCCESS)
		name = NULL;
	set_name(fn, name);
	fn->image = kgb_images_of(images, (uint64_t)(uintptr_t)library);
	if (cu->cuKernelGetFunction(&fn->function, kernel) != CUDA_SUCCESS)
		fn->function = NULL;
	if (load_params(fn, cu, true) && !fn->unusable)
		fn->unusable = "layout of a kernel's parameters";
}

struct kgb_function *kgb_functions_get(struct kgb_functions *functions, const struct kgb_cuda *cu,
				       const struct kgb_images *images, uint64_t handle)
{
	struct kgb_function *fn;
	CUmodule module = NULL;
	uint64_t known;

	if (kgb_id_map_get(&functions->by_handle, handle, &known))
		return (struct kgb_function *)(uintptr_t)known;
	fn = kgb_xcalloc(1, sizeof(*fn));
	fn->handle = handle;
	fn->cache = CU_FUNC_CACHE_PREFER_NONE;
	if (cu->cuFuncGetModule(&module, (CUfunction)(uintptr_t)handle) == CUDA_SUCCESS)
		load_function(fn, cu, images, module);
	else
		load_kernel(fn, cu, images);
	if (fn->image == 0 && !fn->unusable)
		fn->unusable = "kernel of an unknown image";
	kgb_id_map_put(&functions->by_handle, handle, (uint64_t)(uintptr_t)fn);
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
	/* The older way to say the same. */
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

/* For all of them: a kernel and the functions that were made from it share their attributes, and
 * have handles of their own. */
void kgb_functions_attribute_set(struct kgb_functions *functions)
{
	size_t i = 0;
	uint64_t key, value;

	while (kgb_id_map_next(&functions->by_handle, &i, &key, &value))
		((struct kgb_function *)(uintptr_t)value)->carveout_known = false;
}

static void function_free(struct kgb_function *fn)
{
	kgb_free(fn->name);
	kgb_free(fn->params);
	kgb_free(fn);
}

void kgb_functions_forget(struct kgb_functions *functions, uint32_t image)
{
	struct kgb_id_map kept = {0};
	size_t i = 0;
	uint64_t key, value;

	while (kgb_id_map_next(&functions->by_handle, &i, &key, &value)) {
		struct kgb_function *fn = (struct kgb_function *)(uintptr_t)value;

		if (image == 0 || fn->image == image || fn->image == 0)
			function_free(fn);
		else
			kgb_id_map_put(&kept, key, value);
	}
	kgb_id_map_release(&functions->by_handle);
	functions->by_handle = kept;
}

void kgb_functions_release(struct kgb_functions *functions)
{
	kgb_functions_forget(functions, 0);
	kgb_id_map_release(&functions->by_handle);
}

/* ---- Packing ---- */

static int check_layout(const struct kgb_kernel_param *layout, size_t n, size_t cap,
			uint32_t *bytes, struct kgb_err *err)
{
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t reach = (uint64_t)layout[i].offset + layout[i].bytes;

		if (reach > cap)
			return kgb_fail(err, KGB_ERR_INVALID, "parameter %zu ends at byte %llu", i,
					(unsigned long long)reach);
		if (reach > end)
			end = reach;
	}
	*bytes = (uint32_t)end;
	return 0;
}

int kgb_params_pack(const struct kgb_kernel_param *layout, size_t n, void *const *values,
		    unsigned char *out, size_t cap, uint32_t *bytes, struct kgb_err *err)
{
	uint32_t end = 0;

	if (check_layout(layout, n, cap, &end, err))
		return -1;
	if (n && !values)
		return kgb_fail(err, KGB_ERR_INVALID, "no arguments");
	for (size_t i = 0; i < n; i++) {
		if (!values[i])
			return kgb_fail(err, KGB_ERR_INVALID, "no argument %zu", i);
	}
	memset(out, 0, end);
	for (size_t i = 0; i < n; i++)
		memcpy(out + layout[i].offset, values[i], layout[i].bytes);
	*bytes = end;
	return 0;
}

int kgb_params_take(const struct kgb_kernel_param *layout, size_t n, void *const *extra,
		    unsigned char *out, size_t cap, uint32_t *bytes, struct kgb_err *err)
{
	const unsigned char *from = NULL;
	size_t from_bytes = 0, i;
	uint32_t end = 0;

	if (check_layout(layout, n, cap, &end, err))
		return -1;
	/* Pairs of a key and a value; more than two would repeat one. */
	for (i = 0; extra[2 * i] != CU_LAUNCH_PARAM_END; i++) {
		if (i == 2)
			return kgb_fail(err, KGB_ERR_INVALID, "launch options do not end");
		if (extra[2 * i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			from = extra[2 * i + 1];
		else if (extra[2 * i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			memcpy(&from_bytes, extra[2 * i + 1], sizeof(from_bytes));
		else
			return kgb_fail(err, KGB_ERR_INVALID, "unknown launch option");
	}
	if (!from && end == 0) {
		*bytes = 0;
		return 0;
	}
	if (!from || from_bytes < end || from_bytes > cap)
		return kgb_fail(err, KGB_ERR_INVALID,
				"packed parameters of %zu bytes where %u are wanted", from_bytes,
				end);
	memset(out, 0, end);
	for (i = 0; i < n; i++)
		memcpy(out + layout[i].offset, from + layout[i].offset, layout[i].bytes);
	*bytes = end;
	return 0;
}
