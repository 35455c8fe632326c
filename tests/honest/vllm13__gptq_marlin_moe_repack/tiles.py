# operator: vllm13::gptq_marlin_moe_repack
# style: one program per tile of 16 x 64 and expert; the words' eight fields along a second dimension, put together by a sum
import torch
import triton
import triton.language as tl


@triton.jit
def repack(source, order, target, size_k, size_n, BITS: tl.constexpr, PERMUTED: tl.constexpr):
    PACK: tl.constexpr = 32 // BITS
    WORDS: tl.constexpr = 32 * BITS
    HALVES: tl.constexpr = BITS // 4
    expert = tl.program_id(2).to(tl.int64)
    w = tl.arange(0, WORDS)[:, None]
    thread, warp, half = w // (4 * HALVES), w // HALVES % 4, w % HALVES
    field = tl.arange(0, PACK)[None, :]
    v = field % (PACK // 2) * 2 + field // (PACK // 2) + half * 4
    k = tl.program_id(0) * 16 + thread % 4 * 2 + v % 2 + v % 4 // 2 * 8
    n = tl.program_id(1) * 64 + warp * 16 + thread // 4 + v // 4 * 8
    if PERMUTED:
        k = tl.load(order + expert * size_k + k)
    n_words = size_k // PACK * size_n
    word = tl.load(source + expert * n_words + k // PACK * size_n + n)
    value = (word >> (k % PACK * BITS)) & ((1 << BITS) - 1)
    packed = tl.sum(value << (field * BITS), axis=1)  # the fields do not overlap
    tile = tl.program_id(0) * (size_n * BITS // 2) + tl.program_id(1) * WORDS
    tl.store(target + expert * n_words + tile + tl.arange(0, WORDS), packed)


def gptq_marlin_moe_repack(b_q_weight, perm, size_k, size_n, num_bits, is_a_8bit=False):
    experts = b_q_weight.shape[0]
    out = torch.empty((experts, size_k // 16, size_n * num_bits // 2), dtype=torch.int32, device=b_q_weight.device)
    repack[(size_k // 16, size_n // 64, experts)](b_q_weight, perm, out, size_k, size_n, BITS=num_bits,
                                                  PERMUTED=perm.numel() > 0)
    return out
