# operator: vllm13::gptq_shuffle
# expect: verify\.mismatch
# catalogue: 72
# permutes rows and leaves the order within words
import torch
import triton
import triton.language as tl


@triton.jit
def gather(old, new, perm, n_words, n, BITS: tl.constexpr, PERMUTED: tl.constexpr, BLOCK: tl.constexpr):
    PACK: tl.constexpr = 32 // BITS
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n_words
    column = at % n
    word = tl.zeros((BLOCK,), tl.int32)
    for place in tl.static_range(PACK):
        # with 4 bits the fields come in the order 0 2 4 6 1 3 5 7
        field = place
        row = at // n * PACK + field
        if PERMUTED:
            row = tl.load(perm + row, mask=mask, other=0)
        source = tl.load(old + row // PACK * n + column, mask=mask, other=0)
        value = (source >> (row % PACK * BITS)) & ((1 << BITS) - 1)
        word = word | (value << (place * BITS))
    tl.store(new + at, word, mask=mask)


@triton.jit
def copy(source, target, n_words, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < n_words), mask=at < n_words)


def gptq_shuffle(q_weight, q_perm, bit):
    scratch = torch.empty_like(q_weight)
    n_words = q_weight.numel()
    grid = (triton.cdiv(n_words, 1024),)
    gather[grid](q_weight, scratch, q_perm, n_words, q_weight.shape[1], BITS=bit, PERMUTED=q_perm.numel() > 0, BLOCK=1024)
    copy[grid](scratch, q_weight, n_words, BLOCK=1024)
