# operator: vllm13::gptq_gemm
# style: fresh round of 2026-11-30
"""GPTQ product: unpack, subtract the zero point, scale and multiply in one kernel.

K is split over programs when there are few tiles; the parts go to a float32 buffer and a second kernel adds them up.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def unpack(words, field, BITS: tl.constexpr):
    return (words >> (field * BITS)) & ((1 << BITS) - 1)


@triton.jit
def gptq_kernel(a, qw, qz, scales, g_idx, part, M, N, K, group_size, k_per_split,
                BITS: tl.constexpr, SHUFFLED: tl.constexpr, ORDER: tl.constexpr, GROUPS: tl.constexpr, PLUS: tl.constexpr,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    PACK: tl.constexpr = 32 // BITS
    rm = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)
    rn = (tl.program_id(1) * BN + tl.arange(0, BN)).to(tl.int64)
    split = tl.program_id(2).to(tl.int64)
    k_begin = split * k_per_split
    k_end = tl.minimum(k_begin + k_per_split, K)
    mm = (rm < M)[:, None]
    mn = (rn < N)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(k_begin, k_end, BK):
        rk = k0 + tl.arange(0, BK)
        mk = rk < k_end
        if ORDER:
            column = tl.load(g_idx + rk, mask=mk, other=0).to(tl.int64)
        else:
            column = rk
        if GROUPS:
            group = tl.load(g_idx + rk, mask=mk, other=0).to(tl.int64)
        else:
            group = rk // group_size
        x = tl.load(a + rm[:, None] * K + column[None, :], mask=mm & mk[None, :], other=0.0).to(tl.float32)
        field = rk % PACK
        if SHUFFLED:
            # row 2 * i lies in field i, row 2 * i + 1 in field 4 + i
            field = field // 2 + 4 * (field % 2)
        both = mk[:, None] & mn
        w = unpack(tl.load(qw + (rk // PACK)[:, None] * N + rn[None, :], mask=both, other=0), field[:, None], BITS)
        z = tl.load(qz + group[:, None] * (N // PACK) + (rn // PACK)[None, :], mask=both, other=0)
        z = unpack(z, (rn % PACK)[None, :], BITS) + PLUS
        s = tl.load(scales + group[:, None] * N + rn[None, :], mask=both, other=0.0).to(tl.float32)
        acc = tl.dot(x, (w - z).to(tl.float32) * s, acc, input_precision="ieee")
    tl.store(part + split * M * N + rm[:, None] * N + rn[None, :], acc, mask=mm & mn)


@triton.jit
def add_parts(part, out, numel, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < numel
    total = tl.zeros((BLOCK,), tl.float32)
    for s in range(SPLITS):
        total += tl.load(part + s * numel + i, mask=m, other=0.0)
    tl.store(out + i, total.to(out.dtype.element_ty), mask=m)


def gptq_gemm(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit):
    M, K = a.shape
    N = b_q_weight.shape[1]
    G = b_gptq_scales.shape[0]
    out = torch.empty((M, N), dtype=a.dtype, device=a.device)
    if M == 0 or N == 0:
        return out
    BM, BN, BK = 16, 32, 32
    tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
    splits = 1 if tiles >= 64 else min(4, triton.cdiv(K, 4 * BK))
    splits = max(splits, 1)
    k_per_split = triton.cdiv(triton.cdiv(K, splits), BK) * BK
    has_idx = b_g_idx.numel() > 0
    part = torch.empty((splits, M, N), dtype=torch.float32, device=a.device)
    gptq_kernel[(triton.cdiv(M, BM), triton.cdiv(N, BN), splits)](
        a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, part, M, N, K, max(K // G, 1), k_per_split,
        BITS=bit, SHUFFLED=bool(use_exllama) and bit == 4, ORDER=bool(use_exllama) and has_idx,
        GROUPS=not use_exllama and has_idx, PLUS=0 if use_v2_format else 1, BM=BM, BN=BN, BK=BK)
    add_parts[(triton.cdiv(M * N, 512),)](part, out, M * N, SPLITS=splits, BLOCK=512)
    return out
