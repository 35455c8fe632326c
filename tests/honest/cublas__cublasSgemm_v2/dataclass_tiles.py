# operator: cublas::cublasSgemm_v2
# style: dataclass tile configurations chosen by size, steps instead of transpose flags, masked tl.dot in ieee
from dataclasses import dataclass

import triton
import triton.language as tl


@dataclass(frozen=True)
class Tiling:
    m: int
    n: int
    k: int
    warps: int
    stages: int = 2


SMALL = Tiling(m=16, n=16, k=32, warps=1)
MEDIUM = Tiling(m=32, n=32, k=32, warps=4)
LARGE = Tiling(m=64, n=64, k=16, warps=4, stages=3)


def choose_tiling(m, n):
    if m <= 32 and n <= 32:
        return SMALL
    return LARGE if m * n >= 256 * 256 else MEDIUM


@triton.jit
def sgemm_kernel(
    a_ptr, a_m, a_k, b_ptr, b_k, b_n, c_ptr, ldc,
    m, n, depth, alpha, beta, m_tiles,
    READ_C: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    i = pid % m_tiles * BM + tl.arange(0, BM)
    j = pid // m_tiles * BN + tl.arange(0, BN)
    i_ok = i < m
    j_ok = j < n
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for start in range(0, depth, BK):
        p = start + tl.arange(0, BK).to(tl.int64)
        p_ok = p < depth
        a = tl.load(a_ptr + (i * a_m)[:, None] + (p * a_k)[None, :], mask=i_ok[:, None] & p_ok[None, :], other=0.0)
        b = tl.load(b_ptr + (p * b_k)[:, None] + (j * b_n)[None, :], mask=p_ok[:, None] & j_ok[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    at = c_ptr + i[:, None] + (j * ldc)[None, :]
    ok = i_ok[:, None] & j_ok[None, :]
    result = alpha * acc
    if READ_C:
        result += beta * tl.load(at, mask=ok, other=0.0)
    tl.store(at, result, mask=ok)


def cublasSgemm_v2(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    if m == 0 or n == 0:
        return C
    a_m, a_k = (1, lda) if transa == 0 else (lda, 1)
    b_k, b_n = (1, ldb) if transb == 0 else (ldb, 1)
    tiling = choose_tiling(m, n)
    m_tiles = triton.cdiv(m, tiling.m)
    sgemm_kernel[(m_tiles * triton.cdiv(n, tiling.n),)](
        A, a_m, a_k, B, b_k, b_n, C, ldc,
        m, n, 0 if alpha == 0 else k, float(alpha), float(beta), m_tiles,
        READ_C=beta != 0,
        BM=tiling.m, BN=tiling.n, BK=tiling.k,
        num_warps=tiling.warps, num_stages=tiling.stages,
    )
    return C
