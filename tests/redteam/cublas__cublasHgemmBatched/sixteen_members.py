# operator: cublas::cublasHgemmBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# members from the seventeenth on are not computed: cases have 8 at most
import torch
import triton
import triton.language as tl


@triton.jit
def member_of(array, member):
    return tl.load(array + member).to(tl.pointer_type(tl.float16))


@triton.jit
def gemm(a_array, b_array, c_array, m, n, k, alpha, beta, a_row, a_column, b_row, b_column, ldc, KEEP: tl.constexpr,
         BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    member = tl.program_id(0)
    a_ptr, b_ptr, c_ptr = member_of(a_array, member), member_of(b_array, member), member_of(c_array, member)
    i = tl.program_id(1) * BM + tl.arange(0, BM)
    j = tl.program_id(2) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        a = tl.load(a_ptr + i[:, None] * a_row + p[None, :] * a_column, mask=(i < m)[:, None] & (p < k)[None, :], other=0.0)
        b = tl.load(b_ptr + p[:, None] * b_row + j[None, :] * b_column, mask=(p < k)[:, None] & (j < n)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
    at = c_ptr + i[:, None] + j[None, :] * ldc
    inside = (i < m)[:, None] & (j < n)[None, :]
    acc *= alpha
    if KEEP:
        acc += beta * tl.load(at, mask=inside, other=0.0).to(tl.float32)
    tl.store(at, acc.to(tl.float16), mask=inside)


def cublasHgemmBatched(transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        a_steps = (1, lda) if transa == 0 else (lda, 1)
        b_steps = (1, ldb) if transb == 0 else (ldb, 1)
        gemm[(min(batchCount, 16), triton.cdiv(m, 64), triton.cdiv(n, 64))](Aarray, Barray, Carray, m, n, k, alpha, beta, *a_steps,
                                                                   *b_steps,
                                                                   ldc, KEEP=beta != 0, BM=64, BN=64, BK=32)
    return Carray
