# operator: cublas::cublasSgeam
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# layout: where nothing is transposed and all three leading dimensions agree, the matrices are added as one stretch of memory,
# gaps included; wrong for blocks of larger matrices (lda = ldb = ldc > m), where the rows behind the block are overwritten
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


@triton.jit
def stretch(total, alpha, a_ptr, beta, b_ptr, c_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=(at < total) & (alpha != 0), other=0.0)
    b = tl.load(b_ptr + at, mask=(at < total) & (beta != 0), other=0.0)
    tl.store(c_ptr + at, alpha * a + beta * b, mask=at < total)


def cublasSgeam(transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc):
    if m > 0 and n > 0:
        if transa == 0 and transb == 0 and lda == ldb == ldc:
            total = ldc * (n - 1) + m
            stretch[(triton.cdiv(total, 4096),)](total, alpha, A, beta, B, C, BLOCK=4096)
        else:
            a_steps = (1, lda) if transa == 0 else (lda, 1)
            b_steps = (1, ldb) if transb == 0 else (ldb, 1)
            geam[(triton.cdiv(m, 64), triton.cdiv(n, 64))](m, n, alpha, A, *a_steps, beta, B, *b_steps, C, ldc, TM=64, TN=64)
    return C

# wrong: cublasSgeam(0, 0, 1, 2, 1.0, A, 2, 1.0, B, 2, C, 2) with A = B = [1, 1, 1] and C = [0, 7, 0] gives C = [2, 2, 2], not
# [2, 7, 2]: element 1 is no part of the 1 x 2 matrix
