# operator: vllm13::gptq_marlin_gemm
# style: finds each weight's field in Marlin's tiles, dequantises to the type of a, sums products in float32
import torch
import triton
import triton.language as tl


@triton.jit
def place(k, j, n, BITS: tl.constexpr):
    """(word, field) of weight [k, j]."""
    row, column = k % 16, j % 16
    thread = column % 8 * 4 + row % 8 // 2
    warp = j % 64 // 16
    half = column // 8
    v = row % 2 + row // 8 * 2
    tile = k // 16 * (n * BITS // 2) + j // 64 * (32 * BITS)
    if BITS == 4:
        v += 4 * half
        word, field = tile + thread * 4 + warp, v // 2 + v % 2 * 4
    else:
        word, field = tile + thread * 8 + warp * 2 + half, v // 2 + v % 2 * 2
    return word, field


@triton.jit
def gemm(a_ptr, w_ptr, s_ptr, group_ptr, perm_ptr, o_ptr, m, n, size_k, group, BITS: tl.constexpr, GROUPS: tl.constexpr,
         ORDERED: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * 64 + tl.arange(0, 64)
    if GROUPS > 1:
        stored = j // 64 * 64 + j % 8 * 8 + j % 64 // 8
    else:
        stored = j // 32 * 32 + j % 8 // 2 * 8 + j % 32 // 8 * 2 + j % 2
    acc = tl.zeros((BM, 64), tl.float32)
    for start in range(0, size_k, BK):
        k = start + tl.arange(0, BK)
        column = tl.load(perm_ptr + k) if ORDERED else k
        g = tl.load(group_ptr + k) if ORDERED else k // group
        word, field = place(k[:, None], j[None, :], n, BITS)
        q = (tl.load(w_ptr + word) >> (field * BITS)) & ((1 << BITS) - 1)
        scale = tl.load(s_ptr + g[:, None] * n + stored[None, :])
        w = (q - (1 << (BITS - 1))).to(scale.dtype) * scale
        a = tl.load(a_ptr + i[:, None] * size_k + column[None, :], mask=(i < m)[:, None], other=0.0)
        acc = tl.dot(a, w, acc)
    tl.store(o_ptr + i[:, None] * n + j[None, :], acc.to(o_ptr.dtype.element_ty), mask=(i < m)[:, None])


def gptq_marlin_gemm(a, c, b_q_weight, b_bias, b_scales, a_scales, global_scale, b_zeros, g_idx, perm, workspace, b_q_type,
                     size_m, size_n, size_k, is_k_full=True, use_atomic_add=False, use_fp32_reduce=False, is_zp_float=False):
    out = torch.empty((size_m, size_n), dtype=a.dtype, device=a.device)
    groups = b_scales.shape[0]
    block_k = next(size for size in (128, 64, 32, 16) if size_k % size == 0)
    gemm[(triton.cdiv(size_m, 16), size_n // 64)](
        a, b_q_weight, b_scales, g_idx, perm, out, size_m, size_n, size_k, size_k // groups,
        BITS={"uint4b8": 4, "uint8b128": 8}[b_q_type], GROUPS=groups, ORDERED=g_idx.numel() > 0, BM=16, BK=block_k)
    return out
