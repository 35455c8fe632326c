# operator: vllm13::awq_marlin_moe_repack
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def awq_field(column, BITS: tl.constexpr):
    """Field of its word in which AWQ keeps a column."""
    if BITS == 4:
        # 0 4 1 5 2 6 3 7
        return (column % 8) // 2 + 4 * (column % 2)
    else:
        # 0 2 1 3
        return (column % 4) // 2 + 2 * (column % 2)


@triton.jit
def fetch(src, k, n, row_words, BITS: tl.constexpr, mask):
    PACK: tl.constexpr = 32 // BITS
    word = tl.load(src + k * row_words + n // PACK, mask=mask, other=0)
    return (word >> (awq_field(n, BITS) * BITS)) & ((1 << BITS) - 1)


@triton.jit
def repack(src, dst, size_k, size_n, words, BITS: tl.constexpr, BLOCK: tl.constexpr):
    expert = tl.program_id(1).to(tl.int64)
    PACK: tl.constexpr = 32 // BITS
    TILE_WORDS: tl.constexpr = 16 * 64 // PACK
    row_words = size_n // PACK
    src += expert * size_k * row_words
    dst += expert * words
    w = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = w < words
    tiles = size_n // 64
    tile = w // TILE_WORDS
    inner = w % TILE_WORDS
    if BITS == 4:
        half = tl.zeros_like(inner)
        warp = inner % 4
        thread = inner // 4
    else:
        half = inner % 2
        warp = (inner // 2) % 4
        thread = inner // 8
    k0 = (tile // tiles) * 16 + 2 * (thread % 4)
    n0 = (tile % tiles) * 64 + 16 * warp + thread // 4
    out = tl.zeros([BLOCK], dtype=tl.int32)
    for field in tl.static_range(PACK):
        if BITS == 4:
            # v0 v2 v4 v6 v1 v3 v5 v7
            v = 2 * (field % 4) + field // 4
            n = n0 + 8 * (v // 4)
        else:
            # v0 v2 v1 v3, of the columns n0 or n0 + 8
            v = 2 * (field % 2) + field // 2
            n = n0 + 8 * half
        k = k0 + (v % 2) + 8 * ((v % 4) // 2)
        out |= fetch(src, k, n, row_words, BITS, ok) << (field * BITS)
    tl.store(dst + w, out, mask=ok)


def awq_marlin_moe_repack(b_q_weight, perm, size_k, size_n, num_bits, is_a_8bit=False):
    if num_bits not in (4, 8):
        raise ValueError(f"num_bits must be 4 or 8, not {num_bits}")
    experts = b_q_weight.shape[0]
    result = torch.empty((experts, size_k // 16, size_n * num_bits // 2), dtype=b_q_weight.dtype, device=b_q_weight.device)
    words = result.shape[1] * result.shape[2]
    if experts > 0 and words > 0:
        repack[(triton.cdiv(words, 256), experts)](b_q_weight, result, size_k, size_n, words, BITS=num_bits, BLOCK=256)
    return result
