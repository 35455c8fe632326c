# operator: cublas::cublasDgemmStridedBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 72
# layout, sizes that coincide: with one A for all members and packed B and C the batch becomes further columns of one product,
# which transb is not asked about; wrong for a transposed packed B with n == k
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
    acc = tl.zeros((BM, BN), tl.float64)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        a = tl.load(a_rows[:, None] + p[None, :] * a_column, mask=(i < m)[:, None] & (p < k)[None, :], other=0.0)
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
        if strideA == 0 and strideB == n * ldb and strideC == n * ldc:
            n, batchCount = n * batchCount, 1
        gemm[(triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)](
            A, B, C, m, n, k, alpha, beta, *a_steps, *b_steps, ldc, strideA, strideB, strideC, KEEP=beta != 0, BM=32, BN=32, BK=8,
            num_warps=8)
    return C

# wrong: transa=0, transb=1, m=1, n=k=2, alpha=1.0, A = [1, 0], lda=1, strideA=0, B = [1, 2, 3, 4, 5, 6, 7, 8], ldb=2, strideB=4,
# beta=0.0, ldc=1, strideC=2, batchCount=2 gives C = [1, 2, 3, 4], not [1, 2, 5, 6]
