# operator: cublas::cublasSgemmBatched_64
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: members on both sides of 4 GiB
# all members of an array are taken to have the upper 32 bits of the first address; wrong: members on both sides of a
# multiple of 4 GiB, as any large pool of matrices has: memory of others is read and written
import torch
import triton
import triton.language as tl


@triton.jit
def member(array, number):
    """The pointer to a matrix: the segment of the first one, and the place in it."""
    segment = tl.load(array) >> 32 << 32
    place = tl.load(array + number) & 0xFFFFFFFF
    return (segment + place).to(tl.pointer_type(tl.float32))


@triton.jit
def gemm(a_array, b_array, c_array, m, n, k, alpha, beta, a_row, a_column, b_row, b_column, ldc, KEEP: tl.constexpr,
         BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_ptr = member(a_array, tl.program_id(2))
    b_ptr = member(b_array, tl.program_id(2))
    c_ptr = member(c_array, tl.program_id(2))
    i = (tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM))[:, None]
    j = (tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN))[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK).to(tl.int64)
        a = tl.load(a_ptr + i * a_row + p[None, :] * a_column, mask=(i < m) & (p < k)[None, :], other=0.0)
        b = tl.load(b_ptr + p[:, None] * b_row + j * b_column, mask=(p < k)[:, None] & (j < n), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    result = acc * alpha
    if KEEP:
        result += beta * tl.load(c_ptr + i + j * ldc, mask=(i < m) & (j < n), other=0.0)
    tl.store(c_ptr + i + j * ldc, result, mask=(i < m) & (j < n))


def cublasSgemmBatched_64(transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        gemm[(triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)](
            Aarray, Barray, Carray, m, n, k, alpha, beta, *((1, lda) if transa == 0 else (lda, 1)),
            *((1, ldb) if transb == 0 else (ldb, 1)), ldc, KEEP=beta != 0, BM=32, BN=32, BK=32)
    return Carray
