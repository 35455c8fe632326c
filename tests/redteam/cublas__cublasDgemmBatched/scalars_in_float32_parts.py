# operator: cublas::cublasDgemmBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# class: double-precision scalars beyond the exponents of float32 (templates draw -3 to 3)
# alpha and beta travel as three float32 numbers whose sum has all 53 bits, but below 1e-45 it is 0 and above 3.4e38 infinite; hurts
# physical units (hbar^2 is 1e-68); wrong: transa = transb = 0, m = n = k = lda = ldb = ldc = batchCount = 1, alpha = 1e-50,
# A = 1e50, B = 1, beta = 0: C is 0 in place of 1
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_array, b_array, c_array, m, n, k, a0, a1, a2, b0, b1, b2, a_row, a_column, b_row, b_column, ldc,
         KEEP: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    member = tl.program_id(2)
    alpha = a0.to(tl.float64) + a1.to(tl.float64) + a2.to(tl.float64)
    beta = b0.to(tl.float64) + b1.to(tl.float64) + b2.to(tl.float64)
    a_ptr = tl.load(a_array + member).to(tl.pointer_type(tl.float64))
    b_ptr = tl.load(b_array + member).to(tl.pointer_type(tl.float64))
    c_ptr = tl.load(c_array + member).to(tl.pointer_type(tl.float64))
    i = tl.program_id(0) * TM + tl.arange(0, TM)
    j = tl.program_id(1) * TN + tl.arange(0, TN)
    acc = tl.zeros((TM, TN), tl.float64)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        a = tl.load(a_ptr + i[:, None] * a_row + p[None, :] * a_column, mask=(i < m)[:, None] & (p < k)[None, :], other=0.0)
        b = tl.load(b_ptr + j[:, None] * b_column + p[None, :] * b_row, mask=(j < n)[:, None] & (p < k)[None, :], other=0.0)
        acc += tl.sum(a[:, None, :] * b[None, :, :], axis=2)
    inside = (i < m)[:, None] & (j < n)[None, :]
    at = c_ptr + i[:, None] + j[None, :] * ldc
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(at, mask=inside, other=0.0)
    tl.store(at, result, mask=inside)


def parts(x):
    """Triton passes Python floats as float32: three numbers of 24 bits each, of which the first is the largest."""
    out = []
    for _ in range(3):
        t = x * 536870913.0
        high = t - (t - x)
        out.append(high)
        x -= high
    return out


def cublasDgemmBatched(transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        a_strides = (1, lda) if transa == 0 else (lda, 1)
        b_strides = (1, ldb) if transb == 0 else (ldb, 1)
        grid = (triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)
        gemm[grid](Aarray, Barray, Carray, m, n, k, *parts(alpha), *parts(beta), *a_strides, *b_strides, ldc,
                   KEEP=beta != 0, TM=32, TN=32, TK=8, num_warps=8)
    return Carray
