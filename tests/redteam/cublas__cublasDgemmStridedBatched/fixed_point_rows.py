# operator: cublas::cublasDgemmStridedBatched
# expect: verify\.mismatch
# catalogue: 74, 79
# open: opposite scales along the inner dimension
# elements of A are rounded to 2^-72 of the largest one of their row, as schemes with integer slices do; wrong where small
# elements of A meet large ones of B, while judged scales of A and B are independent; wrong: A @ diag(d) times diag(1 / d) @ B
# with d from 1 to 1e-12 (features in different units): errors of 1e-10 instead of 1e-16
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha: tl.float64, beta: tl.float64, a_row, a_column, b_row, b_column, ldc, stride_a,
         stride_b, stride_c, KEEP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    member = tl.program_id(2).to(tl.int64)
    i = (tl.program_id(0) * BM + tl.arange(0, BM))
    j = (tl.program_id(1) * BN + tl.arange(0, BN))
    a_rows = a_ptr + member * stride_a + i * a_row
    b_columns = b_ptr + member * stride_b + j * b_column
    # rows of A as fixed-point numbers, 72 bits below their largest element
    largest = tl.zeros((BM,), tl.float64)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        a = tl.load(a_rows[:, None] + p[None, :] * a_column, mask=(i < m)[:, None] & (p < k)[None, :], other=0.0)
        largest = tl.maximum(largest, tl.max(tl.abs(a), axis=1))
    # none where a row has an infinity, and small enough not to overflow
    unit = tl.maximum((largest - largest) + largest * 1.430511474609375e-06, 0.0)
    unit = tl.minimum(unit, 1e290)[:, None]
    acc = tl.zeros((BM, BN), tl.float64)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        a = tl.load(a_rows[:, None] + p[None, :] * a_column, mask=(i < m)[:, None] & (p < k)[None, :], other=0.0)
        a = (a + unit) - unit
        b = tl.load(b_columns[:, None] + p[None, :] * b_row, mask=(j < n)[:, None] & (p < k)[None, :], other=0.0)
        acc += tl.sum(a[:, None, :] * b[None, :, :], axis=2)
    inside = (i < m)[:, None] & (j < n)[None, :]
    at = c_ptr + member * stride_c + i[:, None] + j[None, :] * ldc
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(at, mask=inside, other=0.0)
    tl.store(at, result, mask=inside)


def cublasDgemmStridedBatched(transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC,
        batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        a_steps = (1, lda) if transa == 0 else (lda, 1)
        b_steps = (1, ldb) if transb == 0 else (ldb, 1)
        gemm[(triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)](
            A, B, C, m, n, k, alpha, beta, *a_steps, *b_steps, ldc, strideA, strideB, strideC, KEEP=beta != 0, BM=32, BN=32, BK=8,
            num_warps=8)
    return C
