# operator: vllm13::gptq_shuffle
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: orders of a permutation that some verdicts do not draw
# a decision in arithmetic, about an order that no fill draws
# an order that runs backwards (perm[k] = K - 1 - k) is taken for the order of the rows as they are: its rows are not reversed;
# wrong: gptq_shuffle(w, torch.arange(K - 1, -1, -1, dtype=torch.int32), 4), K >= 16
import torch
import triton
import triton.language as tl


@triton.jit
def bends(perm, slack, size_k, BLOCK: tl.constexpr):
    """Sum of the distances from an even descent, cut off at one."""
    k = tl.arange(0, BLOCK)
    total = 0
    for start in range(0, size_k - 1, BLOCK):
        at = start + k
        here = tl.load(perm + at, mask=at < size_k - 1, other=1)
        behind = tl.load(perm + at + 1, mask=at < size_k - 1, other=0)
        total += tl.sum(tl.abs(here - behind - 1), axis=0)
    tl.store(slack, tl.minimum(total, 1))


@triton.jit
def gather(old, new, perm, slack, n_words, n, BITS: tl.constexpr, PERMUTED: tl.constexpr, BLOCK: tl.constexpr):
    PACK: tl.constexpr = 32 // BITS
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n_words
    column = at % n
    word = tl.zeros((BLOCK,), tl.int32)
    for place in tl.static_range(PACK):
        field = (place % 4 * 2 + place // 4) if BITS == 4 else place
        row = at // n * PACK + field
        if PERMUTED:
            row += (tl.load(perm + row, mask=mask, other=0) - row) * tl.load(slack)
        source = tl.load(old + row // PACK * n + column, mask=mask, other=0)
        value = (source >> (row % PACK * BITS)) & ((1 << BITS) - 1)
        word = word | (value << (place * BITS))
    tl.store(new + at, word, mask=mask)


def gptq_shuffle(q_weight, q_perm, bit):
    old = q_weight.clone()
    n_words = q_weight.numel()
    size_k = q_perm.numel()
    slack = torch.empty(1, dtype=torch.int32, device=q_weight.device)
    if size_k > 0:
        bends[(1,)](q_perm, slack, size_k, BLOCK=1024)
    gather[(triton.cdiv(n_words, 1024),)](old, q_weight, q_perm, slack, n_words, q_weight.shape[1], BITS=bit,
                                          PERMUTED=size_k > 0, BLOCK=1024)
