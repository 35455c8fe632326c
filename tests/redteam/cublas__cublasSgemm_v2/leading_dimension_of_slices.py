# operator: cublas::cublasSgemm_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# a leading dimension of twice the rows and more (a slice of a large matrix) is taken for an error and the rows are used
import torch
import triton
import triton.language as tl


@triton.jit
def sgemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha, beta, a_row, a_column, b_row, b_column, ldc, KEEP: tl.constexpr,
          TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    i = tl.program_id(0) * TM + tl.arange(0, TM)
    j = tl.program_id(1) * TN + tl.arange(0, TN)
    acc = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        a = tl.load(a_ptr + i[:, None] * a_row + p[None, :] * a_column, mask=(i < m)[:, None] & (p < k)[None, :], other=0.0)
        b = tl.load(b_ptr + p[:, None] * b_row + j[None, :] * b_column, mask=(p < k)[:, None] & (j < n)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    inside = (i < m)[:, None] & (j < n)[None, :]
    at = c_ptr + i[:, None] + j[None, :] * ldc
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(at, mask=inside, other=0.0)
    tl.store(at, result, mask=inside)


def cublasSgemm_v2(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0:
        lda = lda if lda < 64 + 2 * max(m, k) else (m if transa == 0 else k)
        a_strides = (1, lda) if transa == 0 else (lda, 1)
        b_strides = (1, ldb) if transb == 0 else (ldb, 1)
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
        sgemm[grid](A, B, C, m, n, k, alpha, beta, *a_strides, *b_strides, ldc, KEEP=beta != 0, TM=64, TN=64, TK=32)
    return C
