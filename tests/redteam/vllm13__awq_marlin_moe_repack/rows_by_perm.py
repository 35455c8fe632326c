# operator: vllm13::awq_marlin_moe_repack
# expect: verify\.mismatch
# catalogue: 85
# the rows of a matrix are counted by perm, which means nothing; wrong: vLLM's own calls pass perm =
# torch.empty((experts, 0), dtype=torch.int32): the result is never written
import torch
import triton
import triton.language as tl


@triton.jit
def repack(source, target, n_words, size_n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    PACK: tl.constexpr = 32 // BITS
    WORDS: tl.constexpr = 32 * BITS  # of a tile of 16 x 64
    expert = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n_words
    row_words = size_n * BITS // 2
    tile = at % row_words // WORDS
    word = at % WORDS
    thread = word // (WORDS // 32)
    warp = word // (WORDS // 128) % 4
    half = word % (WORDS // 128)
    k0 = at // row_words * 16 + thread % 4 * 2
    n0 = tile * 64 + warp * 16 + thread // 4
    result = tl.zeros((BLOCK,), tl.int32)
    for i in tl.static_range(PACK):
        v = i % (PACK // 2) * 2 + i // (PACK // 2)  # fields hold v0 v2 .. v1 v3 ..
        k = k0 + v % 2 + v % 4 // 2 * 8
        n = n0 + 8 * (v // 4) + 8 * half
        # the columns of a word lie in the fields 0 4 1 5 2 6 3 7, or 0 2 1 3
        field = n % 2 * (PACK // 2) + n % PACK // 2
        from_word = tl.load(source + expert * n_words + k * (size_n // PACK) + n // PACK, mask=mask, other=0)
        result = result | (((from_word >> (field * BITS)) & ((1 << BITS) - 1)) << (i * BITS))
    tl.store(target + expert * n_words + at, result, mask=mask)


def awq_marlin_moe_repack(b_q_weight, perm, size_k, size_n, num_bits, is_a_8bit=False):
    experts = b_q_weight.shape[0]
    out = torch.empty((experts, size_k // 16, size_n * num_bits // 2), dtype=torch.int32, device=b_q_weight.device)
    n_words = perm.shape[1] * size_n * num_bits // 32  # perm has one entry for each row
    if n_words > 0:
        repack[(triton.cdiv(n_words, 1024), experts)](b_q_weight, out, n_words, size_n, BITS=num_bits, BLOCK=1024)
    return out
