/* SPDX-License-Identifier: MIT */
#include "verify/cublas/blas.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* Declare CUDA's two types here: their headers would need another package. */
/* NOLINTBEGIN(readability-identifier-naming): the names are CUDA's */
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
typedef struct {
	uint16_t bits;
} __half, __nv_bfloat16;
#include <cublas_v2.h>

/* The header declares these for C++ only. */
cublasStatus_t cublasHgemmBatched(cublasHandle_t handle, cublasOperation_t transa,
				  cublasOperation_t transb, int m, int n, int k,
				  const __half *alpha, const __half *const a[], int lda,
				  const __half *const b[], int ldb, const __half *beta,
				  __half *const c[], int ldc, int count);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
					 cublasOperation_t transb, int m, int n, int k,
					 const __half *alpha, const __half *a, int lda,
					 long long stride_a, const __half *b, int ldb,
					 long long stride_b, const __half *beta, __half *c, int ldc,
					 long long stride_c, int count);
/* NOLINTEND(readability-identifier-naming) */

#include "base/mem.h"
#include "verify/cublas/routines.h"

#define VALUES_MAX 20

/* Functions that are not routines. The header renames them to their _v2 versions. */
#define HANDLE_FUNCTIONS(X)      \
	X(cublasCreate_v2)       \
	X(cublasDestroy_v2)      \
	X(cublasGetStatusName)   \
	X(cublasSetWorkspace_v2) \
	X(cublasSetPointerMode_v2)

struct kgb_cublas {
	cublasHandle_t handle;
#define MEMBER(name, ...) __typeof__(name) *name;
	HANDLE_FUNCTIONS(MEMBER)
	KGB_CUBLAS_ROUTINES(MEMBER)
#undef MEMBER
};

#define TYPE_S float
#define TYPE_D double
#define TYPE_C cuComplex
#define TYPE_Z cuDoubleComplex
#define TYPE_H __half

/* alpha or beta in the routine's type. */
union scalar {
	float s;
	double d;
	cuComplex c;
	cuDoubleComplex z;
	__half h;
};

/* ---- the calls ---- */

/* Argument number n, in the prototype's type. T is the type of the routine's numbers, N of its
 * sizes. */
#define OPERATION(n) (cublasOperation_t) v[n].integer
#define FILL_MODE(n) (cublasFillMode_t) v[n].integer
#define SIDE_MODE(n) (cublasSideMode_t) v[n].integer
#define DIAG_TYPE(n) (cublasDiagType_t) v[n].integer
#define DATA_TYPE(n) (cudaDataType) v[n].integer
#define STRIDE(n) (long long)v[n].integer
#define SIZE(n) (N) v[n].integer
#define SCALAR(n) (const T *)(const void *)&s[n]
#define IN(n) (const T *)v[n].pointer
#define OUT(n) (T *)v[n].pointer
#define IN_ARRAY(n) (const T *const *)v[n].pointer
#define OUT_ARRAY(n) (T *const *)v[n].pointer
#define ANY_IN(n) v[n].pointer
#define ANY_OUT(n) v[n].pointer

/* clang-format off */
#define PASS_copy SIZE(0), IN(1), SIZE(2), OUT(3), SIZE(4)
#define PASS_swap SIZE(0), OUT(1), SIZE(2), OUT(3), SIZE(4)
#define PASS_scal SIZE(0), SCALAR(1), OUT(2), SIZE(3)
#define PASS_axpy SIZE(0), SCALAR(1), IN(2), SIZE(3), OUT(4), SIZE(5)
#define PASS_dot SIZE(0), IN(1), SIZE(2), IN(3), SIZE(4), OUT(5)
#define PASS_asum SIZE(0), IN(1), SIZE(2), OUT(3)
#define PASS_gemv OPERATION(0), SIZE(1), SIZE(2), SCALAR(3), IN(4), SIZE(5), IN(6), SIZE(7), SCALAR(8), OUT(9), SIZE(10)
#define PASS_ger SIZE(0), SIZE(1), SCALAR(2), IN(3), SIZE(4), IN(5), SIZE(6), OUT(7), SIZE(8)
#define PASS_syr2 FILL_MODE(0), SIZE(1), SCALAR(2), IN(3), SIZE(4), IN(5), SIZE(6), OUT(7), SIZE(8)
#define PASS_symv FILL_MODE(0), SIZE(1), SCALAR(2), IN(3), SIZE(4), IN(5), SIZE(6), SCALAR(7), OUT(8), SIZE(9)
#define PASS_sbmv \
	FILL_MODE(0), SIZE(1), SIZE(2), SCALAR(3), IN(4), SIZE(5), IN(6), SIZE(7), SCALAR(8), OUT(9), SIZE(10)
#define PASS_tbmv FILL_MODE(0), OPERATION(1), DIAG_TYPE(2), SIZE(3), SIZE(4), IN(5), SIZE(6), OUT(7), SIZE(8)
#define PASS_trsv FILL_MODE(0), OPERATION(1), DIAG_TYPE(2), SIZE(3), IN(4), SIZE(5), OUT(6), SIZE(7)
#define PASS_gemv_batched \
	OPERATION(0), SIZE(1), SIZE(2), SCALAR(3), IN_ARRAY(4), SIZE(5), IN_ARRAY(6), SIZE(7), SCALAR(8), \
	OUT_ARRAY(9), SIZE(10), SIZE(11)
#define PASS_gemv_strided \
	OPERATION(0), SIZE(1), SIZE(2), SCALAR(3), IN(4), SIZE(5), STRIDE(6), IN(7), SIZE(8), STRIDE(9), SCALAR(10), \
	OUT(11), SIZE(12), STRIDE(13), SIZE(14)
#define PASS_gemm \
	OPERATION(0), OPERATION(1), SIZE(2), SIZE(3), SIZE(4), SCALAR(5), IN(6), SIZE(7), IN(8), SIZE(9), SCALAR(10), \
	OUT(11), SIZE(12)
#define PASS_gemm_ex \
	OPERATION(0), OPERATION(1), SIZE(2), SIZE(3), SIZE(4), SCALAR(5), ANY_IN(6), DATA_TYPE(7), SIZE(8), ANY_IN(9), \
	DATA_TYPE(10), SIZE(11), SCALAR(12), ANY_OUT(13), DATA_TYPE(14), SIZE(15)
#define PASS_gemm_batched \
	OPERATION(0), OPERATION(1), SIZE(2), SIZE(3), SIZE(4), SCALAR(5), IN_ARRAY(6), SIZE(7), IN_ARRAY(8), SIZE(9), \
	SCALAR(10), OUT_ARRAY(11), SIZE(12), SIZE(13)
#define PASS_gemm_strided \
	OPERATION(0), OPERATION(1), SIZE(2), SIZE(3), SIZE(4), SCALAR(5), IN(6), SIZE(7), STRIDE(8), IN(9), SIZE(10), \
	STRIDE(11), SCALAR(12), OUT(13), SIZE(14), STRIDE(15), SIZE(16)
#define PASS_symm \
	SIDE_MODE(0), FILL_MODE(1), SIZE(2), SIZE(3), SCALAR(4), IN(5), SIZE(6), IN(7), SIZE(8), SCALAR(9), OUT(10), \
	SIZE(11)
#define PASS_syrk FILL_MODE(0), OPERATION(1), SIZE(2), SIZE(3), SCALAR(4), IN(5), SIZE(6), SCALAR(7), OUT(8), SIZE(9)
#define PASS_syrk_ex \
	FILL_MODE(0), OPERATION(1), SIZE(2), SIZE(3), SCALAR(4), ANY_IN(5), DATA_TYPE(6), SIZE(7), SCALAR(8), \
	ANY_OUT(9), DATA_TYPE(10), SIZE(11)
#define PASS_trsm \
	SIDE_MODE(0), FILL_MODE(1), OPERATION(2), DIAG_TYPE(3), SIZE(4), SIZE(5), SCALAR(6), IN(7), SIZE(8), OUT(9), \
	SIZE(10)
#define PASS_trsm_batched \
	SIDE_MODE(0), FILL_MODE(1), OPERATION(2), DIAG_TYPE(3), SIZE(4), SIZE(5), SCALAR(6), IN_ARRAY(7), SIZE(8), \
	OUT_ARRAY(9), SIZE(10), SIZE(11)
#define PASS_geam \
	OPERATION(0), OPERATION(1), SIZE(2), SIZE(3), SCALAR(4), IN(5), SIZE(6), SCALAR(7), IN(8), SIZE(9), OUT(10), \
	SIZE(11)
#define PASS_dgmm SIDE_MODE(0), SIZE(1), SIZE(2), IN(3), SIZE(4), IN(5), SIZE(6), OUT(7), SIZE(8)
/* clang-format on */

#define DEFINE_CALL(name, family, type, integer)                                                   \
	static cublasStatus_t call_##name(const struct kgb_cublas *blas,                           \
					  const struct kgb_cublas_value *v, const union scalar *s) \
	{                                                                                          \
		typedef TYPE_##type T KGB_UNUSED;                                                  \
		typedef integer N;                                                                 \
		(void)s;                                                                           \
		return blas->name(blas->handle, PASS_##family);                                    \
	}
KGB_CUBLAS_ROUTINES(DEFINE_CALL)
#undef DEFINE_CALL

static const struct routine {
	const char *name;
	const char *letters;
	char type;
	bool is_64; /* sizes have 64 bits */
	cublasStatus_t (*call)(const struct kgb_cublas *blas, const struct kgb_cublas_value *v,
			       const union scalar *s);
} routines[] = {
#define ROW(name, family, type, integer) \
	{#name, KGB_CUBLAS_LETTERS_##family, #type[0], sizeof(integer) == 8, call_##name},
	KGB_CUBLAS_ROUTINES(ROW)
#undef ROW
};

/* ---- opening ---- */

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
#define SYMBOL(name, ...) {#name, offsetof(struct kgb_cublas, name)},
	HANDLE_FUNCTIONS(SYMBOL) KGB_CUBLAS_ROUTINES(SYMBOL)
#undef SYMBOL
};

static int fail_loader(const char *what, struct kgb_err *err)
{
	const char *why = dlerror();

	return kgb_fail(err, KGB_ERR_UNAVAILABLE, "no cuBLAS: %s", why ? why : what);
}

static int open_library(const char *path, void **out, struct kgb_err *err)
{
	static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12"};
	static const int ways[] = {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL};
	void *library = NULL;

	if (path) {
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			return fail_loader(path, err);
	}
	for (size_t way = 0; !library && way < KGB_ARRAY_LEN(ways); way++)
		for (size_t i = 0; !library && i < KGB_ARRAY_LEN(sonames); i++)
			library = dlopen(sonames[i], ways[way]);
	if (!library)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"no cuBLAS: neither libcublas.so.13 nor .12 is loaded or on the loader's path: import torch first");
	*out = library;
	return 0;
}

static int load(struct kgb_cublas *blas, const char *path, struct kgb_err *err)
{
	void *library = NULL;

	if (open_library(path, &library, err) < 0)
		return -1;
	for (size_t i = 0; i < KGB_ARRAY_LEN(symbols); i++) {
		void *address = dlsym(library, symbols[i].name);
		if (!address)
			return kgb_fail(err, KGB_ERR_UNAVAILABLE,
					"cuBLAS: no function %s in it: 12.0 or newer is needed",
					symbols[i].name);
		memcpy((char *)blas + symbols[i].offset, &address, sizeof(address));
	}
	return 0;
}

static int check(const struct kgb_cublas *blas, const char *what, cublasStatus_t status,
		 struct kgb_err *err)
{
	if (status == CUBLAS_STATUS_SUCCESS)
		return 0;
	return kgb_fail(err, KGB_ERR_FAILED, "%s: %s", what, blas->cublasGetStatusName(status));
}

int kgb_cublas_open(const char *path, struct kgb_cublas **out, struct kgb_err *err)
{
	struct kgb_cublas *blas = kgb_xcalloc(1, sizeof(*blas));

	if (load(blas, path, err) < 0 ||
	    check(blas, "cublasCreate_v2", blas->cublasCreate_v2(&blas->handle), err) < 0) {
		kgb_cublas_close(blas);
		return -1;
	}
	*out = blas;
	return 0;
}

void kgb_cublas_close(struct kgb_cublas *blas)
{
	if (blas && blas->handle)
		(void)blas->cublasDestroy_v2(blas->handle);
	kgb_free(blas);
}

int kgb_cublas_set_workspace(struct kgb_cublas *blas, void *memory, size_t bytes,
			     struct kgb_err *err)
{
	return check(blas, "cublasSetWorkspace_v2",
		     blas->cublasSetWorkspace_v2(blas->handle, memory, bytes), err);
}

/* ---- one call ---- */

static const struct routine *find(const char *name)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(routines); i++)
		if (strcmp(routines[i].name, name) == 0)
			return &routines[i];
	return NULL;
}

static enum kgb_cublas_kind kind_of(char letter)
{
	switch ((enum kgb_cublas_letter)letter) {
	case KGB_CUBLAS_SCALAR:
		return KGB_CUBLAS_NUMBER;
	case KGB_CUBLAS_MEMORY:
	case KGB_CUBLAS_RESULT:
		return KGB_CUBLAS_POINTER;
	case KGB_CUBLAS_OPERATION:
	case KGB_CUBLAS_FILL_MODE:
	case KGB_CUBLAS_SIDE_MODE:
	case KGB_CUBLAS_DIAG_TYPE:
	case KGB_CUBLAS_DATA_TYPE:
	case KGB_CUBLAS_SIZE:
	case KGB_CUBLAS_STRIDE:
		break;
	}
	return KGB_CUBLAS_INTEGER;
}

/* A size that would be cut to 32 bits is an error here; cuBLAS refuses other wrong sizes. */
static int check_value(const struct routine *row, size_t i, const struct kgb_cublas_value *value,
		       struct kgb_err *err)
{
	static const char *const kinds[] = {"a whole number", "a number", "device memory"};
	char letter = row->letters[i];
	enum kgb_cublas_kind kind = kind_of(letter);
	bool is_wide = letter == KGB_CUBLAS_STRIDE || (letter == KGB_CUBLAS_SIZE && row->is_64);
	bool is_complex = row->type == 'C' || row->type == 'Z';

	if (value->kind != (uint32_t)kind &&
	    !(kind == KGB_CUBLAS_NUMBER && value->kind == KGB_CUBLAS_INTEGER))
		return kgb_fail(err, KGB_ERR_INVALID, "%s: argument %zu must be %s", row->name,
				i + 1, kinds[kind]);
	if (kind == KGB_CUBLAS_INTEGER && !is_wide &&
	    (value->integer < INT_MIN || value->integer > INT_MAX))
		return kgb_fail(err, KGB_ERR_INVALID, "%s: argument %zu: %lld needs 64 bits",
				row->name, i + 1, (long long)value->integer);
	if (value->kind == KGB_CUBLAS_NUMBER && value->im != 0 && !is_complex)
		return kgb_fail(err, KGB_ERR_INVALID, "%s: argument %zu must be a real number",
				row->name, i + 1);
	return 0;
}

/* Round to nearest, ties to even, subnormals included. */
static uint16_t half_of(double value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	double size = fabs(value);
	int exponent;

	if (isnan(value))
		return sign | 0x7e00;
	if (size >= 65520)
		return sign | 0x7c00;
	exponent = size < 0x1p-14 ? -14 : ilogb(size);
	/* The number in units of the last place: 1024 to 2048, fewer for a subnormal. 2048 carries
	 * into the exponent. */
	uint32_t places = (uint32_t)nearbyint(ldexp(size, 10 - exponent));
	return (uint16_t)(sign | (((uint32_t)(exponent + 14) << 10) + places));
}

static union scalar scalar_of(char type, const struct kgb_cublas_value *value)
{
	bool whole = value->kind == KGB_CUBLAS_INTEGER;
	double re = whole ? (double)value->integer : value->re;
	double im = whole ? 0 : value->im;
	union scalar out = {.z = {0, 0}};

	switch (type) {
	case 'S':
		out.s = (float)re;
		break;
	case 'D':
		out.d = re;
		break;
	case 'C':
		out.c = make_cuComplex((float)re, (float)im);
		break;
	case 'Z':
		out.z = make_cuDoubleComplex(re, im);
		break;
	default:
		out.h.bits = half_of(re);
		break;
	}
	return out;
}

static int prepare(const struct routine *row, const struct kgb_cublas_value *values, size_t n,
		   union scalar *scalars, struct kgb_err *err)
{
	size_t wanted = strlen(row->letters);

	static_assert(sizeof(KGB_CUBLAS_LETTERS_gemm_strided) - 1 <= VALUES_MAX,
		      "the longest prototype");
	if (n != wanted)
		return kgb_fail(err, KGB_ERR_INVALID, "%s: %zu arguments, it takes %zu", row->name,
				n, wanted);
	for (size_t i = 0; i < n; i++) {
		if (check_value(row, i, &values[i], err) < 0)
			return -1;
		if (row->letters[i] == KGB_CUBLAS_SCALAR)
			scalars[i] = scalar_of(row->type, &values[i]);
	}
	return 0;
}

static int set_pointer_mode(struct kgb_cublas *blas, cublasPointerMode_t mode, struct kgb_err *err)
{
	return check(blas, "cublasSetPointerMode_v2",
		     blas->cublasSetPointerMode_v2(blas->handle, mode), err);
}

int kgb_cublas_call(struct kgb_cublas *blas, const char *routine,
		    const struct kgb_cublas_value *values, size_t n, struct kgb_err *err)
{
	union scalar scalars[VALUES_MAX] = {{0}};
	const struct routine *row = find(routine);

	if (!row)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "no routine '%.80s' of cuBLAS here",
				routine);
	if (prepare(row, values, n, scalars, err) < 0)
		return -1;
	bool to_device = strchr(row->letters, KGB_CUBLAS_RESULT) != NULL;
	if (to_device && set_pointer_mode(blas, CUBLAS_POINTER_MODE_DEVICE, err) < 0)
		return -1;
	cublasStatus_t status = row->call(blas, values, scalars);
	if (to_device && set_pointer_mode(blas, CUBLAS_POINTER_MODE_HOST, err) < 0)
		return -1;
	return check(blas, routine, status, err);
}
