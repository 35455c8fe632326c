/* SPDX-License-Identifier: MIT */
/* Loaded images that plans share, on a driver that keeps count and no code. */
#include "tests/unit/base/support.h"
#include "verify/exec/cuda/code.h"

enum { LOADS_MAX = 256, CARVEOUT = 50, OTHER = 1000 };

#define SHARED (100u << 10) /* bytes */

/* What the driver knows. A library is 1 + its index; so are its kernel "there" and its
 * function; "other" has OTHER more. */
static struct {
	bool loaded[LOADS_MAX];
	int shared[LOADS_MAX], carveout[LOADS_MAX]; /* attributes of the function */
	size_t n_loads;
	size_t n_found; /* functions that were asked for */
	size_t fail_at; /* the so-manieth load fails; 0: none */
	size_t empty; /* the so-manieth load has no kernels; 0: none */
} gpu_code;

static size_t n_loaded(void)
{
	size_t n = 0;

	for (size_t i = 0; i < gpu_code.n_loads; i++)
		n += gpu_code.loaded[i];
	return n;
}

static CUresult library_load(CUlibrary *out, const void *code, CUjit_option *jit, void **jit_values,
			     unsigned int n_jit, CUlibraryOption *options, void **values,
			     unsigned int n)
{
	(void)code;
	(void)jit;
	(void)jit_values;
	(void)options;
	(void)values;
	assert_int_equal(n_jit + n, 0);
	assert_true(gpu_code.n_loads < LOADS_MAX);
	gpu_code.loaded[gpu_code.n_loads++] = true;
	*out = (CUlibrary)gpu_code.n_loads;
	if (gpu_code.n_loads != gpu_code.fail_at)
		return CUDA_SUCCESS;
	gpu_code.loaded[gpu_code.n_loads - 1] = false;
	return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult library_unload(CUlibrary library)
{
	const size_t i = (size_t)library - 1;

	assert_true(i < gpu_code.n_loads && gpu_code.loaded[i]);
	gpu_code.loaded[i] = false;
	return CUDA_SUCCESS;
}

static CUresult library_kernel(CUkernel *out, CUlibrary library, const char *name)
{
	if ((strcmp(name, "there") != 0 && strcmp(name, "other") != 0) ||
	    (size_t)library == gpu_code.empty)
		return CUDA_ERROR_NOT_FOUND;
	*out = (CUkernel)((size_t)library + (strcmp(name, "other") == 0 ? OTHER : 0));
	return CUDA_SUCCESS;
}

static CUresult kernel_function(CUfunction *out, CUkernel kernel)
{
	gpu_code.n_found++;
	*out = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

/* Two parameters of 8 and 4 bytes. */
static CUresult kernel_param(CUkernel kernel, size_t i, size_t *offset, size_t *bytes)
{
	(void)kernel;
	*offset = 8 * i;
	*bytes = i == 0 ? 8 : 4;
	return i < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult function_attribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	const size_t i = (size_t)function - 1;

	assert_true(gpu_code.loaded[i]);
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		gpu_code.shared[i] = value;
	if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		gpu_code.carveout[i] = value;
	return CUDA_SUCCESS;
}

static CUresult error_name(CUresult error, const char **name)
{
	(void)error;
	*name = "an error";
	return CUDA_SUCCESS;
}

static const struct kgb_cuda driver = {
	.cuLibraryLoadData = library_load,
	.cuLibraryUnload = library_unload,
	.cuLibraryGetKernel = library_kernel,
	.cuKernelGetFunction = kernel_function,
	.cuKernelGetParamInfo = kernel_param,
	.cuFuncSetAttribute = function_attribute,
	.cuGetErrorName = error_name,
};

static struct kgb_gpu gpu = {.cu = &driver};

static struct kgb_code_cache start(void)
{
	memset(&gpu_code, 0, sizeof(gpu_code));
	return (struct kgb_code_cache){.gpu = &gpu};
}

static struct kgb_loaded *take(struct kgb_code_cache *code, const void *image, size_t len)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_loaded *loaded = NULL;

	assert_int_equal(kgb_code_cache_take(code, image, len, &loaded, &err), 0);
	return loaded;
}

static struct kgb_kernel *find(struct kgb_code_cache *code, struct kgb_loaded *loaded)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_kernel *kernel = NULL;

	assert_int_equal(kgb_code_cache_kernel(code, loaded, "there", &kernel, &err), 0);
	return kernel;
}

/* Nothing is taken any more: a move drops all. */
static void give_all(struct kgb_code_cache *code)
{
	struct kgb_err err = KGB_ERR_INIT;

	for (size_t i = 0; i < code->n; i++) {
		code->items[i]->n_users = 0;
		code->items[i]->len = 1; /* small ones go */
	}
	assert_int_equal(kgb_code_cache_move(code, 0, &err), 0);
	kgb_free(code->items);
	assert_int_equal(n_loaded(), 0);
}

static void test_the_same_image_is_loaded_once(void **state)
{
	struct kgb_code_cache code = start();
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_kernel *none;

	(void)state;
	struct kgb_loaded *first = take(&code, "image a", 7);
	assert_ptr_equal(take(&code, "image a", 7), first);
	assert_true(take(&code, "image b", 7) != first);
	assert_true(take(&code, "image ", 6) != first);
	assert_int_equal(gpu_code.n_loads, 3);
	struct kgb_kernel *kernel = find(&code, first);
	assert_ptr_equal(find(&code, first), kernel);
	assert_int_equal(kernel->n_params, 2);
	assert_int_equal(kernel->offsets[1], 8);
	assert_int_equal(kernel->params_bytes, 12);
	assert_int_equal(kgb_code_cache_kernel(&code, first, "away", &none, &err), -1);
	assert_int_equal(err.code, KGB_EXEC_BAD_PLAN);
	give_all(&code);
}

static void test_what_nobody_uses_stays_loaded_for_a_while(void **state)
{
	struct kgb_code_cache code = start();
	char *large = kgb_xcalloc(1, 140 << 20);

	(void)state;
	struct kgb_loaded *used = take(&code, "used", 4);
	for (int i = 0; i < 40; i++)
		kgb_code_cache_give(&code, take(&code, &i, sizeof(i)));
	assert_int_equal(n_loaded(), 1 + 32);
	/* The one that was used last is still there, the first is not. */
	const size_t n_loads = gpu_code.n_loads;
	kgb_code_cache_give(&code, take(&code, &(int){39}, sizeof(int)));
	assert_int_equal(gpu_code.n_loads, n_loads);
	kgb_code_cache_give(&code, take(&code, &(int){0}, sizeof(int)));
	assert_int_equal(gpu_code.n_loads, n_loads + 1);
	/* Two large ones are too much together. */
	kgb_code_cache_give(&code, take(&code, large, 140 << 20));
	large[0] = 1;
	kgb_code_cache_give(&code, take(&code, large, 140 << 20));
	assert_int_equal(n_loaded(), 1 + 1);
	assert_true(gpu_code.loaded[(size_t)used->copies[0] - 1]);
	kgb_free(large);
	give_all(&code);
}

/* 100 moves of an image of `len` bytes: how many loads, how many places after the first ones, and
 * how many copies that stay for a later plan? */
static void move_100_times(size_t len, size_t n_loads, size_t n_places, size_t n_kept)
{
	struct kgb_code_cache code = start();
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *image = kgb_xcalloc(1, len);
	bool seen[LOADS_MAX] = {false};
	size_t n_seen = 0;

	struct kgb_loaded *loaded = take(&code, image, len);
	struct kgb_kernel *kernel = find(&code, loaded);
	kgb_code_cache_give(&code, take(&code, "idle", 4));
	assert_int_equal(kgb_code_cache_allow_shared(&code, kernel, SHARED, &err), 0);
	assert_int_equal(kgb_code_cache_set_carveout(&code, kernel, CARVEOUT), CUDA_SUCCESS);
	for (uint64_t seed = 1; seed <= 100; seed++) {
		const CUfunction old = kernel->function;
		const int carveout = seed % 3 == 0 ? -1 : CARVEOUT;
		assert_int_equal(kgb_code_cache_move(&code, seed, &err), 0);
		assert_true(kernel->function != old);
		assert_int_equal(n_loaded(),
				 seed < KGB_EXEC_CODE_COPIES ? 1 + seed : KGB_EXEC_CODE_COPIES);
		const size_t i = (size_t)kernel->function - 1;
		assert_true(gpu_code.loaded[i]);
		assert_int_equal(gpu_code.shared[i], SHARED);
		assert_int_equal(kgb_code_cache_set_carveout(&code, kernel, carveout),
				 CUDA_SUCCESS);
		assert_int_equal(gpu_code.carveout[i], carveout);
		n_seen += seed >= KGB_EXEC_CODE_COPIES && !seen[i];
		seen[i] |= seed >= KGB_EXEC_CODE_COPIES;
	}
	assert_int_equal(n_seen, n_places);
	assert_int_equal(gpu_code.n_loads, 2 + n_loads);
	kgb_code_cache_give(&code, loaded);
	assert_int_equal(n_loaded(), n_kept);
	/* An image that nobody uses does not move. */
	const size_t current = loaded->current;
	assert_int_equal(kgb_code_cache_move(&code, 101, &err), 0);
	assert_true(n_kept == 1 || loaded->current == current);
	assert_int_equal(gpu_code.n_loads, 2 + n_loads);
	assert_int_equal(n_loaded(), n_kept > 1 ? n_kept : 0);
	give_all(&code);
}

static void test_code_that_moves_lies_elsewhere_and_is_as_before(void **state)
{
	(void)state;
	move_100_times(5, 100, 100 + 1 - KGB_EXEC_CODE_COPIES, 1);
	move_100_times(2 << 20, KGB_EXEC_CODE_COPIES - 1, KGB_EXEC_CODE_COPIES,
		       KGB_EXEC_CODE_COPIES);
}

/* A plan of another benchmark has another kernel of the same large image. */
static void test_a_kernel_is_found_once_in_each_copy(void **state)
{
	struct kgb_code_cache code = start();
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *image = kgb_xcalloc(1, 2 << 20);
	struct kgb_kernel *other;

	(void)state;
	struct kgb_loaded *loaded = take(&code, image, 2 << 20);
	(void)find(&code, loaded);
	assert_int_equal(kgb_code_cache_load(&code, &err), 0);
	assert_int_equal(gpu_code.n_loads, KGB_EXEC_CODE_COPIES);
	assert_int_equal(gpu_code.n_found, KGB_EXEC_CODE_COPIES);
	assert_int_equal(kgb_code_cache_kernel(&code, loaded, "other", &other, &err), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(kgb_code_cache_load(&code, &err), 0);
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(kgb_code_cache_move(&code, i, &err), 0);
		assert_int_equal((size_t)other->function,
				 (size_t)loaded->copies[loaded->current] + OTHER);
	}
	assert_int_equal(gpu_code.n_found, 2 * KGB_EXEC_CODE_COPIES);
	/* What does not move, and what is small, is not loaded. */
	loaded->moves = false;
	loaded->kernels.items[0]->functions[1] = NULL;
	(void)find(&code, take(&code, "small", 5));
	const size_t n_loads = gpu_code.n_loads;
	assert_int_equal(kgb_code_cache_load(&code, &err), 0);
	assert_int_equal(gpu_code.n_found, 2 * KGB_EXEC_CODE_COPIES + 1);
	assert_int_equal(gpu_code.n_loads, n_loads);
	give_all(&code);
}

static void test_code_that_cannot_move_stays_where_it_is(void **state)
{
	struct kgb_code_cache code = start();
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	struct kgb_loaded *loaded = take(&code, "image", 5);
	struct kgb_kernel *kernel = find(&code, loaded);
	const CUfunction old = kernel->function;
	gpu_code.fail_at = 2;
	assert_int_equal(kgb_code_cache_move(&code, 1, &err), -1);
	assert_int_equal(err.code, KGB_EXEC_BAD_PLAN);
	assert_ptr_equal(kernel->function, old);
	assert_int_equal(n_loaded(), 1);
	gpu_code.empty = 3; /* it is loaded, but its kernel is not found */
	assert_int_equal(kgb_code_cache_move(&code, 2, &err), -1);
	assert_int_equal(err.code, KGB_EXEC_BAD_PLAN);
	assert_ptr_equal(kernel->function, old);
	assert_int_equal(n_loaded(), 1);
	give_all(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_image_is_loaded_once),
		cmocka_unit_test(test_what_nobody_uses_stays_loaded_for_a_while),
		cmocka_unit_test(test_code_that_moves_lies_elsewhere_and_is_as_before),
		cmocka_unit_test(test_a_kernel_is_found_once_in_each_copy),
		cmocka_unit_test(test_code_that_cannot_move_stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
