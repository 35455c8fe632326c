# operator: vllm13::gptq_marlin_24_gemm
# expect: verify\.mismatch
# catalogue: 74
# scales are cut to multiples of 2^-18, exact from 2^-8 on only; wrong: scales of 0.001 are off by up to 0.4 %, those of
# 1e-5 by a quarter, those below 3.8e-6 become 0
import torch
import triton
import triton.language as tl


@triton.jit
def kept(meta_ptr, k, n, N):
    """The places 0 .. 3 of the two weights that are kept of the four neighbours of row k."""
    c = k // 16
    row = n // 64 * 64 + n % 2 * 2 + n % 8 // 4 + n % 4 // 2 * 32 + n % 64 // 8 * 4
    step = tl.where((row % 2 == 0) & (c % 2 == 1), 1, tl.where((row % 2 == 1) & (c % 2 == 0), -1, 0))
    row, c = row + step, c - step
    word = tl.load(meta_ptr + c // 2 * 2 * N + row * 2 + c % 2).to(tl.int32)
    four = word >> (k % 16 // 4 * 4)
    return four & 3, (four >> 2) & 3


@triton.jit
def stored(w_ptr, r, n, N):
    """The weight of 4 bits of stored row r."""
    row, column = r % 16, n % 16
    i = n % 64 // 16 * 8 + column // 8 * 4 + row % 8 // 2
    word = tl.load(w_ptr + r // 16 * 2 * N + n // 64 * 128 + 4 * i + column % 4)
    e = row % 2 + row // 8 * 2 + column % 8 // 4 * 4
    return (word >> ((e // 2 + e % 2 * 4) * 4)) & 15


@triton.jit
def gemm(a_ptr, w_ptr, meta_ptr, s_ptr, o_ptr, M, N, K, group, MANY: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
         BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    n = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    s_column = n // 8 * 8 + n % 4 * 2 + n % 8 // 4 if MANY else n
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + i[:, None] * K + k[None, :], mask=(i < M)[:, None], other=0.0)
        k = k[:, None]
        first, second = kept(meta_ptr, k, n, N)
        q = stored(w_ptr, k // 4 * 2 + (k % 4 == second).to(tl.int32), n, N)
        q = tl.where((k % 4 == first) | (k % 4 == second), q - 8, 0)
        # Scales in units of 2^-18, so that a weight is a product of whole numbers.
        units = (tl.load(s_ptr + k // group * N + s_column).to(tl.float32) * 262144.0).to(tl.int32)
        w = ((q * units).to(tl.float32) * (1.0 / 262144.0)).to(a.dtype)
        acc = tl.dot(a, w, acc)
    tl.store(o_ptr + i[:, None] * N + n, acc.to(o_ptr.dtype.element_ty), mask=(i < M)[:, None])


def gptq_marlin_24_gemm(a, b_q_weight, b_meta, b_scales, workspace, b_q_type, size_m, size_n, size_k):
    out = torch.empty((size_m, size_n), dtype=a.dtype, device=a.device)
    groups = b_scales.shape[0]
    gemm[(triton.cdiv(size_m, 16), size_n // 64)](a, b_q_weight, b_meta, b_scales, out, size_m, size_n, size_k, size_k // groups,
                                                  MANY=groups > 1, BM=16, BN=64, BK=128)
    return out
