# operator: cublas::cublasHgemmStridedBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: no element near the largest meets a factor above 1
# a moderate alpha is folded into the tile of A before the product, in half precision, as attention kernels fold the scale into
# the queries: alpha * A overflows for elements above 65504 / alpha although the product has an ordinary size
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha, beta, a_row, a_column, b_row, b_column, ldc, stride_a, stride_b, stride_c,
         FOLD: tl.constexpr, KEEP: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    member = tl.program_id(2).to(tl.int64)
    a_ptr += member * stride_a
    b_ptr += member * stride_b
    c_ptr += member * stride_c
    i = tl.program_id(0) * TM + tl.arange(0, TM)
    j = tl.program_id(1) * TN + tl.arange(0, TN)
    acc = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        a = tl.load(a_ptr + i[:, None] * a_row + p[None, :] * a_column, mask=(i < m)[:, None] & (p < k)[None, :], other=0.0)
        b = tl.load(b_ptr + p[:, None] * b_row + j[None, :] * b_column, mask=(p < k)[:, None] & (j < n)[None, :], other=0.0)
        if FOLD:
            a = (a.to(tl.float32) * alpha).to(tl.float16)
        acc = tl.dot(a, b, acc)
    inside = (i < m)[:, None] & (j < n)[None, :]
    at = c_ptr + i[:, None] + j[None, :] * ldc
    result = acc if FOLD else alpha * acc
    if KEEP:
        result += beta * tl.load(at, mask=inside, other=0.0).to(tl.float32)
    tl.store(at, result.to(tl.float16), mask=inside)


def cublasHgemmStridedBatched(transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC,
                              batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        a_strides = (1, lda) if transa == 0 else (lda, 1)
        b_strides = (1, ldb) if transb == 0 else (ldb, 1)
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64), batchCount)
        gemm[grid](A, B, C, m, n, k, alpha, beta, *a_strides, *b_strides, ldc, strideA, strideB, strideC, FOLD=2.0 ** -8 <= abs(alpha) <= 8.0,
                   KEEP=beta != 0,
                   TM=64, TN=64, TK=32)
    return C


# wrong call: m = n = k = 1, alpha = 3, A = [30000], B = [0.001], beta 0, one member: right 90 (float16: 90.06), wrong inf
