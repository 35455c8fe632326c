/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/code.h"

#include "base/vec.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/record.h"

/* Parameters of a kernel at most; the driver allows KGB_LAUNCH_PARAMS_MAX bytes of them. */
enum { PARAMS_MAX = 4096 };

#define SHARED_WITHOUT_ASKING (48u << 10)

/* Loading an image up to this size costs little: it goes to a new place each time. Most kernels of
 * Triton are smaller; the images of torch below 1 MiB that an operator uses took 8 to 50 ms. */
#define QUICK_BYTES ((size_t)64 << 10)
/* Carveout of a function with unknown earlier use. */
#define CARVEOUT_UNKNOWN INT32_MIN

/* Bytes of images, with their copies, that stay loaded without a user. */
#define IDLE_BYTES_MAX ((size_t)256 << 20)
enum { IDLE_MAX = 32 };

/* ---- images ---- */

static int load(struct kgb_gpu *gpu, const struct kgb_loaded *loaded, CUlibrary *out,
		struct kgb_err *err)
{
	return kgb_gpu_check(
		gpu, gpu->cu->cuLibraryLoadData(out, loaded->bytes, NULL, NULL, 0, NULL, NULL, 0),
		KGB_EXEC_BAD_PLAN, err, "load an image of %zu bytes", loaded->len);
}

static void free_kernel(struct kgb_kernel *kernel)
{
	kgb_free(kernel->name);
	kgb_free(kernel->offsets);
	kgb_free(kernel);
}

/* Takes it out of the table. */
static void drop(struct kgb_code_cache *code, size_t i)
{
	struct kgb_loaded *loaded = code->items[i];

	for (size_t k = 0; k < loaded->n_copies; k++)
		(void)code->gpu->cu->cuLibraryUnload(loaded->copies[k]);
	for (size_t k = 0; k < loaded->kernels.n; k++)
		free_kernel(loaded->kernels.items[k]);
	KGB_VEC_RELEASE(&loaded->kernels);
	kgb_free(loaded->bytes);
	kgb_free(loaded);
	code->items[i] = code->items[--code->n];
}

int kgb_code_cache_take(struct kgb_code_cache *code, const void *image, size_t len,
			struct kgb_loaded **out, struct kgb_err *err)
{
	for (size_t i = 0; i < code->n; i++) {
		struct kgb_loaded *loaded = code->items[i];
		if (loaded->len == len && memcmp(loaded->bytes, image, len) == 0) {
			loaded->n_users++;
			*out = loaded;
			return 0;
		}
	}
	struct kgb_loaded *made = kgb_xcalloc(1, sizeof(*made));
	made->bytes = kgb_xmalloc(len);
	memcpy(made->bytes, image, len);
	made->len = len;
	made->n_users = 1;
	made->moves = true;
	if (load(code->gpu, made, &made->copies[0], err)) {
		kgb_free(made->bytes);
		kgb_free(made);
		return -1;
	}
	made->n_copies = 1;
	KGB_VEC_ADD(code, made);
	*out = made;
	return 0;
}

/* Drop the least recently used images until the rest is within the limit. */
static void limit_idle(struct kgb_code_cache *code)
{
	for (;;) {
		size_t oldest = SIZE_MAX;
		size_t bytes = 0;
		size_t n = 0;
		for (size_t i = 0; i < code->n; i++) {
			if (code->items[i]->n_users > 0)
				continue;
			bytes += code->items[i]->len * code->items[i]->n_copies;
			n++;
			if (oldest == SIZE_MAX || code->items[i]->used < code->items[oldest]->used)
				oldest = i;
		}
		if (n <= IDLE_MAX && bytes <= IDLE_BYTES_MAX)
			return;
		drop(code, oldest);
	}
}

static void drop_other_copies(struct kgb_code_cache *code, struct kgb_loaded *loaded)
{
	for (size_t i = 0; i < loaded->n_copies; i++)
		if (i != loaded->current)
			(void)code->gpu->cu->cuLibraryUnload(loaded->copies[i]);
	loaded->copies[0] = loaded->copies[loaded->current];
	for (size_t i = 0; i < loaded->kernels.n; i++) {
		struct kgb_kernel *kernel = loaded->kernels.items[i];
		memset(kernel->functions, 0, sizeof(kernel->functions));
		kernel->functions[0] = kernel->function;
	}
	loaded->current = 0;
	loaded->n_copies = 1;
}

void kgb_code_cache_give(struct kgb_code_cache *code, struct kgb_loaded *loaded)
{
	loaded->n_users--;
	loaded->used = ++code->n_uses;
	if (loaded->n_users == 0 && loaded->len <= QUICK_BYTES)
		drop_other_copies(code, loaded);
	limit_idle(code);
}

/* ---- kernels ---- */

/* Offsets of the parameters of a kernel in its buffer. */
static int read_params(struct kgb_gpu *gpu, struct kgb_kernel *kernel, CUkernel handle,
		       struct kgb_err *err)
{
	kernel->offsets = kgb_xcalloc(PARAMS_MAX, sizeof(kernel->offsets[0]));
	for (size_t i = 0; i < PARAMS_MAX; i++) {
		size_t offset = 0;
		size_t bytes = 0;
		CUresult result = gpu->cu->cuKernelGetParamInfo(handle, i, &offset, &bytes);
		if (result == CUDA_ERROR_INVALID_VALUE) { /* after the last one */
			kernel->offsets = kgb_xreallocarray(kernel->offsets, i + 1,
							    sizeof(kernel->offsets[0]));
			return 0;
		}
		if (kgb_gpu_check(gpu, result, KGB_EXEC_BAD_PLAN, err,
				  "parameter %zu of kernel '%.100s'", i, kernel->name))
			return -1;
		if (offset > KGB_LAUNCH_PARAMS_MAX || bytes > KGB_LAUNCH_PARAMS_MAX - offset)
			break;
		kernel->offsets[i] = offset;
		kernel->n_params = i + 1;
		if (offset + bytes > kernel->params_bytes)
			kernel->params_bytes = offset + bytes;
	}
	return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN, "kernel '%.100s' has too many parameters",
			     kernel->name);
}

/* Loads the code to the device now and not during the first run. */
static int find_function(struct kgb_gpu *gpu, CUlibrary library, const char *name, CUkernel *handle,
			 CUfunction *out, struct kgb_err *err)
{
	if (kgb_gpu_check(gpu, gpu->cu->cuLibraryGetKernel(handle, library, name),
			  KGB_EXEC_BAD_PLAN, err, "find kernel '%.200s'", name))
		return -1;
	return kgb_gpu_check(gpu, gpu->cu->cuKernelGetFunction(out, *handle), KGB_EXEC_BAD_PLAN,
			     err, "load kernel '%.200s'", name);
}

int kgb_code_cache_kernel(struct kgb_code_cache *code, struct kgb_loaded *loaded, const char *name,
			  struct kgb_kernel **out, struct kgb_err *err)
{
	CUkernel handle;
	CUfunction function;

	for (size_t i = 0; i < loaded->kernels.n; i++) {
		if (strcmp(loaded->kernels.items[i]->name, name) == 0) {
			*out = loaded->kernels.items[i];
			return 0;
		}
	}
	if (find_function(code->gpu, loaded->copies[loaded->current], name, &handle, &function,
			  err))
		return -1;
	struct kgb_kernel *made = kgb_xcalloc(1, sizeof(*made));
	made->name = kgb_xstrdup(name);
	made->function = made->functions[loaded->current] = function;
	made->carveout = -1;
	if (read_params(code->gpu, made, handle, err)) {
		free_kernel(made);
		return -1;
	}
	KGB_VEC_ADD(&loaded->kernels, made);
	*out = made;
	return 0;
}

static int set_shared(struct kgb_gpu *gpu, const struct kgb_kernel *kernel, CUfunction function,
		      uint32_t bytes, struct kgb_err *err)
{
	CUresult result =
		bytes > INT32_MAX
			? CUDA_ERROR_INVALID_VALUE
			: gpu->cu->cuFuncSetAttribute(
				  function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				  (int)bytes);

	return kgb_gpu_check(gpu, result, KGB_EXEC_BAD_PLAN, err,
			     "%u bytes of shared memory for '%.100s'", bytes, kernel->name);
}

int kgb_code_cache_allow_shared(struct kgb_code_cache *code, struct kgb_kernel *kernel,
				uint32_t bytes, struct kgb_err *err)
{
	if (bytes <= SHARED_WITHOUT_ASKING || bytes <= kernel->shared_bytes)
		return 0;
	if (set_shared(code->gpu, kernel, kernel->function, bytes, err))
		return -1;
	kernel->shared_bytes = bytes;
	return 0;
}

/* Smaller clusters stay as they are. Older GPUs have no clusters: there the launch fails. */
static void set_clusters(struct kgb_gpu *gpu, CUfunction function)
{
	(void)gpu->cu->cuFuncSetAttribute(function,
					  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
}

void kgb_code_cache_allow_clusters(struct kgb_code_cache *code, struct kgb_kernel *kernel)
{
	kernel->clusters = true;
	set_clusters(code->gpu, kernel->function);
}

CUresult kgb_code_cache_set_carveout(struct kgb_code_cache *code, struct kgb_kernel *kernel,
				     int32_t carveout)
{
	if (kernel->carveout == carveout)
		return CUDA_SUCCESS;
	kernel->carveout = carveout;
	return code->gpu->cu->cuFuncSetAttribute(
		kernel->function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, carveout);
}

/* ---- other places ---- */

/* Find the kernels of an image in that copy; `known` has those that were found before. */
static int find_functions(struct kgb_gpu *gpu, const struct kgb_loaded *loaded, CUlibrary copy,
			  CUfunction *known, struct kgb_err *err)
{
	CUkernel handle;

	for (size_t i = 0; i < loaded->kernels.n; i++) {
		const struct kgb_kernel *kernel = loaded->kernels.items[i];
		if (!known[i] && find_function(gpu, copy, kernel->name, &handle, &known[i], err))
			return -1;
		if (kernel->shared_bytes > 0 &&
		    set_shared(gpu, kernel, known[i], kernel->shared_bytes, err))
			return -1;
		if (kernel->clusters)
			set_clusters(gpu, known[i]);
	}
	return 0;
}

static bool has_all_kernels(const struct kgb_loaded *loaded, size_t copy)
{
	for (size_t i = 0; i < loaded->kernels.n; i++)
		if (!loaded->kernels.items[i]->functions[copy])
			return false;
	return true;
}

/* The copy to use next: a new one, or any other. */
static size_t choose_copy(const struct kgb_loaded *loaded, uint64_t random)
{
	if (loaded->n_copies < KGB_EXEC_CODE_COPIES)
		return loaded->n_copies;
	return (loaded->current + 1 + random % (KGB_EXEC_CODE_COPIES - 1)) % KGB_EXEC_CODE_COPIES;
}

/* Use copy `to`, a new one at most, from now on. */
static int move_to(struct kgb_gpu *gpu, struct kgb_loaded *loaded, size_t to, struct kgb_err *err)
{
	KGB_AUTO(free)
	CUfunction *functions = kgb_xcalloc(loaded->kernels.n + 1, sizeof(CUfunction));
	const bool is_further = to == loaded->n_copies;
	const bool is_new = is_further || loaded->len <= QUICK_BYTES;
	CUlibrary copy = loaded->copies[to];

	if (is_new && load(gpu, loaded, &copy, err))
		return -1;
	for (size_t i = 0; i < loaded->kernels.n && !is_new; i++)
		functions[i] = loaded->kernels.items[i]->functions[to];
	if (find_functions(gpu, loaded, copy, functions, err)) {
		if (is_new)
			(void)gpu->cu->cuLibraryUnload(copy);
		return -1;
	}
	if (is_new && !is_further)
		(void)gpu->cu->cuLibraryUnload(loaded->copies[to]);
	loaded->copies[to] = copy;
	loaded->n_copies += is_further;
	loaded->current = to;
	for (size_t i = 0; i < loaded->kernels.n; i++) {
		struct kgb_kernel *kernel = loaded->kernels.items[i];
		kernel->function = kernel->functions[to] = functions[i];
		kernel->carveout = CARVEOUT_UNKNOWN;
	}
	return 0;
}

int kgb_code_cache_load(struct kgb_code_cache *code, struct kgb_err *err)
{
	for (size_t i = 0; i < code->n; i++) {
		struct kgb_loaded *loaded = code->items[i];
		if (loaded->n_users == 0 || !loaded->moves || loaded->len <= QUICK_BYTES)
			continue;
		for (size_t k = 0; k < KGB_EXEC_CODE_COPIES; k++)
			if (!has_all_kernels(loaded, k) && move_to(code->gpu, loaded, k, err))
				return -1;
	}
	return 0;
}

int kgb_code_cache_move(struct kgb_code_cache *code, uint64_t seed, struct kgb_err *err)
{
	for (size_t i = code->n; i > 0; i--)
		if (code->items[i - 1]->n_users == 0 && code->items[i - 1]->len <= QUICK_BYTES)
			drop(code, i - 1);
	for (size_t i = 0; i < code->n; i++) {
		struct kgb_loaded *loaded = code->items[i];
		if (loaded->n_users > 0 && loaded->moves &&
		    move_to(code->gpu, loaded,
			    choose_copy(loaded, kgb_exec_poison_word(seed, 8 * i)), err))
			return -1;
	}
	return 0;
}
