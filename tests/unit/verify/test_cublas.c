/* SPDX-License-Identifier: MIT */
#include "verify/cublas/blas.h"

#include <dlfcn.h>

#include "base/mem.h"
#include "base/str.h"
#include "tests/gpu/fake/cublas.h"
#include "tests/unit/base/support.h"
#include "verify/cublas/routines.h"

static const struct {
	const char *name, *letters;
} routines[] = {
#define ROW(name, family, type, integer) {#name, KGB_CUBLAS_LETTERS_##family},
	KGB_CUBLAS_ROUTINES(ROW)
#undef ROW
};

static const char *letters_of(const char *routine)
{
	size_t i = 0;

	while (strcmp(routines[i].name, routine) != 0)
		i++;
	return routines[i].letters;
}

static const struct fake_cublas_call *last;
static int *status;
static struct kgb_cublas *blas;

static int set_up(void **state)
{
	(void)state;
	void *library = dlopen(KGB_TEST_CUBLAS, RTLD_NOW);
	assert_non_null(library);
	last = dlsym(library, "fake_cublas_last");
	status = dlsym(library, "fake_cublas_status");
	assert_non_null(last);
	assert_non_null(status);
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_cublas_open(KGB_TEST_CUBLAS, &blas, &err), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	kgb_cublas_close(blas);
	return 0;
}

/* Something else at every place. */
static struct kgb_cublas_value sample(char letter, size_t i)
{
	static char memory[FAKE_CUBLAS_WORDS];
	struct kgb_cublas_value value = {.kind = KGB_CUBLAS_INTEGER, .integer = 100 + (int64_t)i};

	if (letter == KGB_CUBLAS_SCALAR)
		value = (struct kgb_cublas_value){.kind = KGB_CUBLAS_NUMBER, .re = 0.5 + (double)i};
	else if (letter == KGB_CUBLAS_MEMORY || letter == KGB_CUBLAS_RESULT)
		value = (struct kgb_cublas_value){.kind = KGB_CUBLAS_POINTER,
						  .pointer = &memory[i]};
	return value;
}

static size_t samples(const char *letters, struct kgb_cublas_value *out)
{
	size_t n = 0;

	for (; letters[n]; n++)
		out[n] = sample(letters[n], n);
	return n;
}

static void check_word(const struct kgb_cublas_value *value, char letter, size_t i)
{
	uint64_t word = last->words[i];

	if (value->kind == KGB_CUBLAS_POINTER)
		assert_int_equal(word, (uintptr_t)value->pointer);
	else if (value->kind == KGB_CUBLAS_INTEGER)
		assert_int_equal((int32_t)word, value->integer);
	else
		assert_int_equal(letter, KGB_CUBLAS_SCALAR);
}

static void test_every_routine_gets_its_arguments_in_their_places(void **state)
{
	(void)state;

	for (size_t k = 0; k < KGB_ARRAY_LEN(routines); k++) {
		struct kgb_cublas_value values[FAKE_CUBLAS_WORDS];
		const char *name = routines[k].name, *letters = routines[k].letters;
		size_t n = samples(letters, values);
		struct kgb_err err = KGB_ERR_INIT;
		assert_int_equal(kgb_cublas_call(blas, name, values, n, &err), 0);
		assert_string_equal(last->name, name);
		for (size_t i = 0; i < n; i++)
			check_word(&values[i], letters[i], i);
		assert_int_equal(last->pointer_mode, strchr(letters, KGB_CUBLAS_RESULT) ? 1 : 0);
	}
	assert_int_equal(KGB_ARRAY_LEN(routines), 50);
}

static void test_results_alone_are_in_device_memory(void **state)
{
	struct kgb_cublas_value values[FAKE_CUBLAS_WORDS];
	struct kgb_err err = KGB_ERR_INIT;
	(void)state;

	size_t n = samples("ipipir", values);
	assert_int_equal(kgb_cublas_call(blas, "cublasSdot_v2", values, n, &err), 0);
	assert_int_equal(last->pointer_mode, 1);
	n = samples("ixpipi", values);
	assert_int_equal(kgb_cublas_call(blas, "cublasSaxpy_v2", values, n, &err), 0);
	assert_int_equal(last->pointer_mode, 0);
}

static void test_scalars_come_in_the_type_of_the_routine(void **state)
{
	static const float pair[] = {0.1f, -2.5f};
	static const double wide_pair[] = {0.1, -2.5};
	static const struct {
		const char *routine;
		size_t at, bytes;
		double im;
		const void *expected;
	} rows[] = {
		{"cublasSaxpy_v2", 1, 4, 0, pair},
		{"cublasDaxpy_v2", 1, 8, 0, wide_pair},
		{"cublasCgemv_v2", 3, 8, -2.5, pair},
		{"cublasZgerc_v2", 2, 16, -2.5, wide_pair},
		{"cublasHgemmBatched", 5, 2, 0, "\x66\x2e"}, /* 0.0999755859375 */
	};
	(void)state;

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_cublas_value values[FAKE_CUBLAS_WORDS];
		struct kgb_err err = KGB_ERR_INIT;
		size_t n = samples(letters_of(rows[i].routine), values);
		values[rows[i].at].re = 0.1;
		values[rows[i].at].im = rows[i].im;
		assert_int_equal(kgb_cublas_call(blas, rows[i].routine, values, n, &err), 0);
		assert_memory_equal(last->scalars[rows[i].at], rows[i].expected, rows[i].bytes);
	}
}

static void test_half_precision_is_rounded_to_nearest(void **state)
{
	static const struct {
		double value;
		uint16_t bits;
	} rows[] = {
		{0.0, 0},
		{-0.0, 0x8000},
		{1.0, 0x3c00},
		{-2.0, 0xc000},
		{1 + 0x1p-11, 0x3c00}, /* ties to even */
		{1 + 0x3p-11, 0x3c02},
		{2 - 0x1p-12, 0x4000}, /* carries into the exponent */
		{65504.0, 0x7bff},
		{65519.0, 0x7bff},
		{65520.0, 0x7c00},
		{-1e30, 0xfc00},
		{0x1p-14, 0x0400},
		{0x1p-24, 0x0001},
		{0x1p-26, 0},
		{0x3p-25, 0x0002},
		{0x1p-14 - 0x1p-26, 0x0400},
	};
	(void)state;

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_cublas_value values[FAKE_CUBLAS_WORDS];
		struct kgb_err err = KGB_ERR_INIT;
		uint16_t bits;
		size_t n = samples(letters_of("cublasHgemmStridedBatched"), values);
		values[5].re = rows[i].value;
		assert_int_equal(
			kgb_cublas_call(blas, "cublasHgemmStridedBatched", values, n, &err), 0);
		memcpy(&bits, last->scalars[5], sizeof(bits));
		assert_int_equal(bits, rows[i].bits);
	}
}

static void test_sizes_of_64_bits_go_only_where_they_fit(void **state)
{
	static const int64_t large = INT64_C(0x180000002);
	struct kgb_cublas_value values[FAKE_CUBLAS_WORDS];
	struct kgb_err err = KGB_ERR_INIT;
	(void)state;

	size_t n = samples(letters_of("cublasCgemmStridedBatched_64"), values);
	values[2].integer = values[8].integer = large;
	assert_int_equal(kgb_cublas_call(blas, "cublasCgemmStridedBatched_64", values, n, &err), 0);
	assert_int_equal(last->words[2], large);
	assert_int_equal(last->words[8], large);
	assert_int_equal(kgb_cublas_call(blas, "cublasCgemmStridedBatched", values, n, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_INVALID);
	assert_string_equal(err.msg,
			    "cublasCgemmStridedBatched: argument 3: 6442450946 needs 64 bits");
	values[2].integer = 3; /* a stride may be as large */
	assert_int_equal(kgb_cublas_call(blas, "cublasCgemmStridedBatched", values, n, &err), 0);
}

static void test_arguments_that_do_not_fit_are_refused(void **state)
{
	struct kgb_cublas_value good[FAKE_CUBLAS_WORDS], values[FAKE_CUBLAS_WORDS];
	const struct kgb_cublas_value number = {.kind = KGB_CUBLAS_NUMBER, .re = 1};
	const struct kgb_cublas_value complex_number = {.kind = KGB_CUBLAS_NUMBER, .im = 1};
	const struct {
		size_t at;
		struct kgb_cublas_value value;
		const char *message;
	} rows[] = {
		{0, number, "cublasSaxpy_v2: argument 1 must be a whole number"},
		{1, sample(KGB_CUBLAS_MEMORY, 1), "cublasSaxpy_v2: argument 2 must be a number"},
		{1, complex_number, "cublasSaxpy_v2: argument 2 must be a real number"},
		{2, number, "cublasSaxpy_v2: argument 3 must be device memory"},
	};
	struct kgb_err err = KGB_ERR_INIT;
	size_t n = samples(letters_of("cublasSaxpy_v2"), good);
	(void)state;

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		memcpy(values, good, sizeof(values));
		values[rows[i].at] = rows[i].value;
		assert_int_equal(kgb_cublas_call(blas, "cublasSaxpy_v2", values, n, &err), -1);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_string_equal(err.msg, rows[i].message);
	}
	assert_int_equal(kgb_cublas_call(blas, "cublasSaxpy_v2", good, n - 1, &err), -1);
	assert_string_equal(err.msg, "cublasSaxpy_v2: 5 arguments, it takes 6");
	assert_int_equal(kgb_cublas_call(blas, "cublasSnothing", good, n, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
}

static void test_a_status_of_cublas_is_an_error(void **state)
{
	struct kgb_cublas_value values[FAKE_CUBLAS_WORDS];
	struct kgb_err err = KGB_ERR_INIT;
	size_t n = samples(letters_of("cublasStrsm_v2"), values);
	struct kgb_cublas *other = NULL;
	(void)state;

	*status = 7;
	int call = kgb_cublas_call(blas, "cublasStrsm_v2", values, n, &err);
	struct kgb_err call_err = err;
	int opened = kgb_cublas_open(KGB_TEST_CUBLAS, &other, &err);
	*status = 0;
	assert_int_equal(call, -1);
	assert_int_equal(call_err.kind, KGB_ERR_FAILED);
	assert_string_equal(call_err.msg, "cublasStrsm_v2: CUBLAS_STATUS_INVALID_VALUE");
	assert_int_equal(opened, -1);
	assert_string_equal(err.msg, "cublasCreate_v2: CUBLAS_STATUS_INVALID_VALUE");
}

static void test_a_library_that_is_not_there_or_not_it_is_unavailable(void **state)
{
	struct kgb_cublas *other = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	(void)state;

	assert_int_equal(kgb_cublas_open("/nowhere/libcublas.so", &other, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_UNAVAILABLE);
	assert_int_equal(kgb_cublas_open("libc.so.6", &other, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_UNAVAILABLE);
	assert_string_equal(err.msg,
			    "cuBLAS: no function cublasCreate_v2 in it: 12.0 or newer is needed");
	assert_null(other);
}

static void test_a_workspace(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	char memory[16];
	(void)state;

	assert_int_equal(kgb_cublas_set_workspace(blas, memory, sizeof(memory), &err), 0);
	assert_int_equal(kgb_cublas_set_workspace(blas, NULL, 0, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_routine_gets_its_arguments_in_their_places),
		cmocka_unit_test(test_results_alone_are_in_device_memory),
		cmocka_unit_test(test_scalars_come_in_the_type_of_the_routine),
		cmocka_unit_test(test_half_precision_is_rounded_to_nearest),
		cmocka_unit_test(test_sizes_of_64_bits_go_only_where_they_fit),
		cmocka_unit_test(test_arguments_that_do_not_fit_are_refused),
		cmocka_unit_test(test_a_status_of_cublas_is_an_error),
		cmocka_unit_test(test_a_library_that_is_not_there_or_not_it_is_unavailable),
		cmocka_unit_test(test_a_workspace),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
