# operator: vllm13::gptq_marlin_moe_repack
# style: gather by output word on a flat grid, index arithmetic from the word number, fields unrolled
import torch
import triton
import triton.language as tl

TILE_K = 16
TILE_N = 64


@triton.jit
def repack_kernel(
    q_ptr, perm_ptr, out_ptr, total, size_k, size_n, words_per_strip,
    BITS: tl.constexpr, HAS_PERM: tl.constexpr, BLOCK: tl.constexpr,
):
    PACK: tl.constexpr = 32 // BITS  # fields of a word, in and out
    HALVES: tl.constexpr = BITS // 4  # words of one thread and warp
    MASK: tl.constexpr = (1 << BITS) - 1

    word = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = word < total

    half = word % HALVES
    warp = word // HALVES % 4
    thread = word // (HALVES * 4) % 32
    in_strip = word % words_per_strip
    n_tile = in_strip // (HALVES * 128)
    strip = word // words_per_strip
    strips = size_k // 16
    k_tile = strip % strips
    expert = strip // strips

    k0 = k_tile * 16 + 2 * (thread % 4)
    n0 = n_tile * 64 + 16 * warp + thread // 4
    q_base = expert * (size_k // PACK) * size_n
    packed = tl.zeros([BLOCK], dtype=tl.int32)
    for field in tl.static_range(PACK):
        # Even values first, then the odd ones; value 4 h + i has row offset (0, 1, 8, 9)[i] and column offset 8 h.
        in_word = (2 * field) % PACK + (2 * field) // PACK
        value = half * 4 + in_word
        k = k0 + value % 2 + (value % 4) // 2 * 8
        n = n0 + value // 4 * 8
        if HAS_PERM:
            p = tl.load(perm_ptr + expert * size_k + k, mask=live, other=0).to(tl.int64)
        else:
            p = k
        source = tl.load(q_ptr + q_base + p // PACK * size_n + n, mask=live, other=0)
        bits = (source >> (p % PACK * BITS).to(tl.int32)) & MASK
        packed = packed | (bits << (field * BITS))
    tl.store(out_ptr + word, packed, mask=live)


def gptq_marlin_moe_repack(b_q_weight, perm, size_k, size_n, num_bits, is_a_8bit=False):
    experts = b_q_weight.shape[0]
    words_per_strip = size_n * num_bits // 2
    result = torch.empty(
        (experts, size_k // TILE_K, words_per_strip), dtype=torch.int32, device=b_q_weight.device
    )
    total = result.numel()
    if total == 0:
        return result
    block = 256
    repack_kernel[(triton.cdiv(total, block),)](
        b_q_weight, perm, result, total, size_k, size_n, words_per_strip,
        BITS=num_bits, HAS_PERM=perm.shape[1] > 0, BLOCK=block,
    )
    return result
