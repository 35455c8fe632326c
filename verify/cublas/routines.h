/* SPDX-License-Identifier: MIT */
/** \file
 * The routines of cuBLAS that are operators of a dataset: X(name, family, type, integer). `family`
 * gives the arguments in order. `type` is the type of numbers: S float, D double, C and Z their
 * complex counterparts, H half. `integer` is the type of sizes and increments.
 */
#ifndef KGB_VERIFY_CUBLAS_ROUTINES_H
#define KGB_VERIFY_CUBLAS_ROUTINES_H

/* clang-format off */
#define KGB_CUBLAS_ROUTINES(X) \
	X(cublasCcopy_v2, copy, C, int) \
	X(cublasDcopy_v2, copy, D, int) \
	X(cublasZswap_v2, swap, Z, int) \
	X(cublasSscal_v2, scal, S, int) \
	X(cublasSaxpy_v2, axpy, S, int) \
	X(cublasDaxpy_v2, axpy, D, int) \
	X(cublasSdot_v2, dot, S, int) \
	X(cublasCdotu_v2, dot, C, int) \
	X(cublasZdotc_v2, dot, Z, int) \
	X(cublasDasum_v2, asum, D, int) \
	X(cublasCgemv_v2, gemv, C, int) \
	X(cublasDgemv_v2, gemv, D, int) \
	X(cublasSger_v2, ger, S, int) \
	X(cublasCgeru_v2, ger, C, int) \
	X(cublasZgerc_v2, ger, Z, int) \
	X(cublasDsyr2_v2, syr2, D, int) \
	X(cublasCsymv_v2, symv, C, int) \
	X(cublasDsbmv_v2, sbmv, D, int) \
	X(cublasStbmv_v2, tbmv, S, int) \
	X(cublasStrsv_v2, trsv, S, int) \
	X(cublasSgemvBatched, gemv_batched, S, int) \
	X(cublasDgemvBatched, gemv_batched, D, int) \
	X(cublasZgemvBatched, gemv_batched, Z, int) \
	X(cublasCgemvBatched_64, gemv_batched, C, int64_t) \
	X(cublasSgemvStridedBatched, gemv_strided, S, int) \
	X(cublasDgemvStridedBatched, gemv_strided, D, int) \
	X(cublasCgemvStridedBatched, gemv_strided, C, int) \
	X(cublasZgemvStridedBatched, gemv_strided, Z, int) \
	X(cublasSgemm_v2, gemm, S, int) \
	X(cublasCgemm_v2, gemm, C, int) \
	X(cublasSgemmEx, gemm_ex, S, int) \
	X(cublasDgemmBatched, gemm_batched, D, int) \
	X(cublasHgemmBatched, gemm_batched, H, int) \
	X(cublasZgemmBatched, gemm_batched, Z, int) \
	X(cublasSgemmBatched_64, gemm_batched, S, int64_t) \
	X(cublasSgemmStridedBatched, gemm_strided, S, int) \
	X(cublasDgemmStridedBatched, gemm_strided, D, int) \
	X(cublasCgemmStridedBatched, gemm_strided, C, int) \
	X(cublasZgemmStridedBatched, gemm_strided, Z, int) \
	X(cublasHgemmStridedBatched, gemm_strided, H, int) \
	X(cublasDgemmStridedBatched_64, gemm_strided, D, int64_t) \
	X(cublasCgemmStridedBatched_64, gemm_strided, C, int64_t) \
	X(cublasCsymm_v2, symm, C, int) \
	X(cublasSsyrk_v2, syrk, S, int) \
	X(cublasCsyrkEx, syrk_ex, C, int) \
	X(cublasStrsm_v2, trsm, S, int) \
	X(cublasDtrsmBatched, trsm_batched, D, int) \
	X(cublasZtrsmBatched, trsm_batched, Z, int) \
	X(cublasSgeam, geam, S, int) \
	X(cublasSdgmm, dgmm, S, int)

/* Each family: the kinds of its arguments, one letter each, and the way they are passed. */
enum kgb_cublas_letter {
	KGB_CUBLAS_OPERATION = 'o', /* cublasOperation_t */
	KGB_CUBLAS_FILL_MODE = 'u', /* cublasFillMode_t */
	KGB_CUBLAS_SIDE_MODE = 's', /* cublasSideMode_t */
	KGB_CUBLAS_DIAG_TYPE = 'd', /* cublasDiagType_t */
	KGB_CUBLAS_DATA_TYPE = 't', /* cudaDataType */
	KGB_CUBLAS_SIZE = 'i', /* of the routine's integer type */
	KGB_CUBLAS_STRIDE = 'l', /* long long, in elements */
	KGB_CUBLAS_SCALAR = 'x', /* alpha and beta: by value here, from the host */
	KGB_CUBLAS_MEMORY = 'p', /* device memory: a vector, a matrix, or an array of their addresses */
	KGB_CUBLAS_RESULT = 'r', /* device memory of one number */
};

#define KGB_CUBLAS_LETTERS_copy "ipipi"
#define KGB_CUBLAS_LETTERS_swap "ipipi"
#define KGB_CUBLAS_LETTERS_scal "ixpi"
#define KGB_CUBLAS_LETTERS_axpy "ixpipi"
#define KGB_CUBLAS_LETTERS_dot "ipipir"
#define KGB_CUBLAS_LETTERS_asum "ipir"
#define KGB_CUBLAS_LETTERS_gemv "oiixpipixpi"
#define KGB_CUBLAS_LETTERS_ger "iixpipipi"
#define KGB_CUBLAS_LETTERS_syr2 "uixpipipi"
#define KGB_CUBLAS_LETTERS_symv "uixpipixpi"
#define KGB_CUBLAS_LETTERS_sbmv "uiixpipixpi"
#define KGB_CUBLAS_LETTERS_tbmv "uodiipipi"
#define KGB_CUBLAS_LETTERS_trsv "uodipipi"
#define KGB_CUBLAS_LETTERS_gemv_batched "oiixpipixpii"
#define KGB_CUBLAS_LETTERS_gemv_strided "oiixpilpilxpili"
#define KGB_CUBLAS_LETTERS_gemm "ooiiixpipixpi"
#define KGB_CUBLAS_LETTERS_gemm_ex "ooiiixptiptixpti"
#define KGB_CUBLAS_LETTERS_gemm_batched "ooiiixpipixpii"
#define KGB_CUBLAS_LETTERS_gemm_strided "ooiiixpilpilxpili"
#define KGB_CUBLAS_LETTERS_symm "suiixpipixpi"
#define KGB_CUBLAS_LETTERS_syrk "uoiixpixpi"
#define KGB_CUBLAS_LETTERS_syrk_ex "uoiixptixpti"
#define KGB_CUBLAS_LETTERS_trsm "suodiixpipi"
#define KGB_CUBLAS_LETTERS_trsm_batched "suodiixpipii"
#define KGB_CUBLAS_LETTERS_geam "ooiixpixpipi"
#define KGB_CUBLAS_LETTERS_dgmm "siipipipi"
/* clang-format on */

#endif
