# operator: cublas::cublasHgemmStridedBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: some verdicts have no element that this rounds otherwise
# one tl.dot adds 128 products up in float16: tensor cores round after every 16 terms and overflow
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha, beta, a_row, a_column, b_row, b_column, ldc, stride_a, stride_b, stride_c,
         KEEP: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
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
        acc += tl.dot(a, b, out_dtype=tl.float16).to(tl.float32)
    inside = (i < m)[:, None] & (j < n)[None, :]
    at = c_ptr + i[:, None] + j[None, :] * ldc
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(at, mask=inside, other=0.0).to(tl.float32)
    tl.store(at, result.to(tl.float16), mask=inside)


def cublasHgemmStridedBatched(transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC,
                              batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        a_strides = (1, lda) if transa == 0 else (lda, 1)
        b_strides = (1, ldb) if transb == 0 else (ldb, 1)
        grid = (triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)
        gemm[grid](A, B, C, m, n, k, alpha, beta, *a_strides, *b_strides, ldc, strideA, strideB, strideC, KEEP=beta != 0,
                   TM=32, TN=32, TK=128)
    return C
