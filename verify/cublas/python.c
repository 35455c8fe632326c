/* SPDX-License-Identifier: MIT */
#include "verify/cublas/python.h"

static struct kgb_cublas *blas;
static struct kgb_err last_error = KGB_ERR_INIT;

static int require_open(void)
{
	return blas ? 0 : kgb_fail(&last_error, KGB_ERR_INVALID, "cuBLAS is not open");
}

int kgb_blas_open(void)
{
	return blas ? 0 : kgb_cublas_open(NULL, &blas, &last_error);
}

int kgb_blas_workspace(void *memory, size_t bytes)
{
	return require_open() < 0 ? -1 : kgb_cublas_set_workspace(blas, memory, bytes, &last_error);
}

int kgb_blas_call(const char *routine, const struct kgb_cublas_value *values, size_t n)
{
	return require_open() < 0 ? -1 : kgb_cublas_call(blas, routine, values, n, &last_error);
}

const char *kgb_blas_error(void)
{
	return last_error.msg;
}
