/* SPDX-License-Identifier: MIT */
/** \file
 * A stand-in for libcublas.so.13 that computes nothing: each routine writes down what it was
 * handed, as it lies in registers and on the stack. None of them takes a floating-point number by
 * value, so every argument is one word, of which the low half counts for an int.
 */
#include <stdint.h>
#include <string.h>

#include "tests/gpu/fake/cublas.h"
#include "verify/cublas/routines.h"

struct fake_cublas_call fake_cublas_last;
int fake_cublas_status;
static int pointer_mode;

/* NOLINTBEGIN(readability-identifier-naming): the names are cuBLAS' */
int cublasCreate_v2(void **handle);
int cublasCreate_v2(void **handle)
{
	*handle = &fake_cublas_last;
	return fake_cublas_status;
}

int cublasDestroy_v2(void *handle);
int cublasDestroy_v2(void *handle)
{
	return handle == &fake_cublas_last ? 0 : 1;
}

const char *cublasGetStatusName(int number);
const char *cublasGetStatusName(int number)
{
	return number == 7 ? "CUBLAS_STATUS_INVALID_VALUE" : "another status";
}

int cublasSetWorkspace_v2(void *handle, void *memory, size_t bytes);
int cublasSetWorkspace_v2(void *handle, void *memory, size_t bytes)
{
	return cublasDestroy_v2(handle) || !memory || bytes == 0 ? 7 : 0;
}

int cublasSetPointerMode_v2(void *handle, int mode);
int cublasSetPointerMode_v2(void *handle, int mode)
{
	pointer_mode = mode;
	return cublasDestroy_v2(handle);
}

/* NOLINTEND(readability-identifier-naming) */

/* Scalars live on the caller's stack: they are copied while they are there. */
static int note(const char *name, const char *letters, const uint64_t *words)
{
	struct fake_cublas_call *call = &fake_cublas_last;

	*call = (struct fake_cublas_call){.name = name, .pointer_mode = pointer_mode};
	memcpy(call->words, words, sizeof(call->words));
	for (size_t i = 0; letters[i]; i++) {
		const void *scalar;
		memcpy(&scalar, &words[i], sizeof(scalar));
		if (letters[i] == KGB_CUBLAS_SCALAR)
			memcpy(call->scalars[i], scalar, sizeof(call->scalars[i]));
	}
	return fake_cublas_status;
}

#define ROUTINE(name, family, type, integer)                                                       \
	int name(void *handle, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,         \
		 uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k,           \
		 uint64_t l, uint64_t m, uint64_t n, uint64_t o, uint64_t p, uint64_t q);          \
	int name(void *handle, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,         \
		 uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k,           \
		 uint64_t l, uint64_t m, uint64_t n, uint64_t o, uint64_t p, uint64_t q)           \
	{                                                                                          \
		const uint64_t words[FAKE_CUBLAS_WORDS] = {a, b, c, d, e, f, g, h, i,              \
							   j, k, l, m, n, o, p, q};                \
		return cublasDestroy_v2(handle) ? 1                                                \
						: note(#name, KGB_CUBLAS_LETTERS_##family, words); \
	}
KGB_CUBLAS_ROUTINES(ROUTINE)
