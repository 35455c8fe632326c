# operator: cublas::cublasSgeam
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# open: few verdicts have no case of one tensor for two arguments that shows this
# C = alpha * op(A) first, then C += beta * op(B): wrong where C is B, the in-place form that cuBLAS documents
import torch
import triton
import triton.language as tl


@triton.jit
def geam(m, n, alpha, a_ptr, a_row, a_column, beta, b_ptr, b_row, b_column, c_ptr, ldc, TM: tl.constexpr, TN: tl.constexpr):
    i = tl.program_id(0) * TM + tl.arange(0, TM)
    j = tl.program_id(1) * TN + tl.arange(0, TN)
    inside = (i < m)[:, None] & (j < n)[None, :]
    a = tl.load(a_ptr + i[:, None] * a_row + j[None, :] * a_column, mask=inside & (alpha != 0), other=0.0)
    b = tl.load(b_ptr + i[:, None] * b_row + j[None, :] * b_column, mask=inside & (beta != 0), other=0.0)
    tl.store(c_ptr + i[:, None] + j[None, :] * ldc, alpha * a + beta * b, mask=inside)


def cublasSgeam(transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc):
    if m > 0 and n > 0 and C.data_ptr() == B.data_ptr() and transb == 0:
        cublasSgeam(transa, 0, m, n, alpha, A, lda, 0.0, A, lda, C, ldc)
        return cublasSgeam(0, 0, m, n, 1.0, C, ldc, beta, C.clone(), ldb, C, ldc)
    if m > 0 and n > 0:
        a_steps = (1, lda) if transa == 0 else (lda, 1)
        b_steps = (1, ldb) if transb == 0 else (ldb, 1)
        geam[(triton.cdiv(m, 64), triton.cdiv(n, 64))](m, n, alpha, A, *a_steps, beta, B, *b_steps, C, ldc, TM=64, TN=64)
    return C
