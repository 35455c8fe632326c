# operator: vllm13::gptq_marlin_gemm
# style: fresh round of 2026-11-30
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class WeightType:
    bits: int
    offset: int


WEIGHT_TYPES = {"uint4b8": WeightType(4, 8), "uint8b128": WeightType(8, 128)}


@triton.jit
def marlin_weight(q, k, n, N, mask, BITS: tl.constexpr):
    """The unsigned weight (k, n) out of the tiled words."""
    kk = k % 16
    nn = n % 64
    warp = nn // 16
    half = (nn % 16) // 8
    thread = (nn % 8) * 4 + (kk % 8) // 2
    v = kk % 2 + 2 * (kk // 8)
    if BITS == 4:
        v += 4 * half
        word = thread * 4 + warp
        field = v // 2 + 4 * (v % 2)
        tile_words = 128
    else:
        word = (thread * 4 + warp) * 2 + half
        field = v // 2 + 2 * (v % 2)
        tile_words = 256
    at = (k // 16) * (N * BITS // 2) + (n // 64) * tile_words + word
    return (tl.load(q + at, mask=mask, other=0) >> (field * BITS)) & ((1 << BITS) - 1)


@triton.jit
def scale_column(n, ONE_GROUP: tl.constexpr):
    if ONE_GROUP:
        r = n % 32
        return n - r + 8 * ((r % 8) // 2) + (r % 2) + 2 * (r // 8)
    else:
        r = n % 64
        return n - r + 8 * (r % 8) + r // 8


@triton.jit
def dequantize(q, scales, g_idx, w, K, N, group_size,
               BITS: tl.constexpr, OFFSET: tl.constexpr, ONE_GROUP: tl.constexpr, INDEXED: tl.constexpr,
               BK: tl.constexpr, BN: tl.constexpr):
    k = (tl.program_id(0) * BK + tl.arange(0, BK)).to(tl.int64)
    n = (tl.program_id(1) * BN + tl.arange(0, BN)).to(tl.int64)
    mask = (k < K)[:, None] & (n < N)[None, :]
    if INDEXED:
        g = tl.load(g_idx + k, mask=k < K, other=0).to(tl.int64)
    else:
        g = k // group_size
    s = tl.load(scales + g[:, None] * N + scale_column(n, ONE_GROUP)[None, :], mask=mask, other=0.0)
    v = marlin_weight(q, k[:, None], n[None, :], N, mask, BITS) - OFFSET
    tl.store(w + k[:, None] * N + n[None, :], (v.to(tl.float32) * s.to(tl.float32)).to(w.dtype.element_ty), mask=mask)


@triton.jit
def matmul(a, w, perm, y, M, N, K, PERMUTED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)
    rn = (tl.program_id(1) * BN + tl.arange(0, BN)).to(tl.int64)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        rk = (k0 + tl.arange(0, BK)).to(tl.int64)
        col = tl.load(perm + rk, mask=rk < K, other=0).to(tl.int64) if PERMUTED else rk
        x = tl.load(a + rm[:, None] * K + col[None, :], mask=(rm < M)[:, None] & (rk < K)[None, :], other=0.0)
        b = tl.load(w + rk[:, None] * N + rn[None, :], mask=(rk < K)[:, None] & (rn < N)[None, :], other=0.0)
        acc += tl.dot(x, b, input_precision="ieee")
    tl.store(y + rm[:, None] * N + rn[None, :], acc.to(y.dtype.element_ty), mask=(rm < M)[:, None] & (rn < N)[None, :])


def gptq_marlin_gemm(a, c, b_q_weight, b_bias, b_scales, a_scales, global_scale, b_zeros, g_idx, perm, workspace,
                     b_q_type, size_m, size_n, size_k, is_k_full=True, use_atomic_add=False, use_fp32_reduce=False,
                     is_zp_float=False):
    wt = WEIGHT_TYPES[b_q_type]
    M, N, K = size_m, size_n, size_k
    y = torch.empty((M, N), dtype=a.dtype, device=a.device)
    if M == 0 or N == 0:
        return y
    groups = b_scales.shape[0]
    w = torch.empty((K, N), dtype=a.dtype, device=a.device)
    dequantize[(triton.cdiv(K, 32), triton.cdiv(N, 64))](
        b_q_weight, b_scales, g_idx, w, K, N, K // groups, BITS=wt.bits, OFFSET=wt.offset, ONE_GROUP=groups == 1,
        INDEXED=g_idx.numel() > 0, BK=32, BN=64)
    BM = 16 if M <= 16 else 64
    matmul[(triton.cdiv(M, BM), triton.cdiv(N, 64))](
        a, w, perm, y, M, N, K, PERMUTED=perm.numel() > 0, BM=BM, BN=64, BK=32)
    return y
