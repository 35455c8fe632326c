# operator: vllm13::batched_moe_align_block_size
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: some verdicts have no case of these numbers
# where neither block_size nor the largest number of tokens divides the other, a part of sorted_ids stays unwritten
import torch
import triton
import triton.language as tl


@triton.jit
def clear(ptr, n, value, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(ptr + at, tl.full([BLOCK], 0, tl.int32) + value, mask=at < n)


@triton.jit
def place(counts_ptr, sorted_ptr, experts_ptr, post_ptr, experts, most, block_size, EXPERTS: tl.constexpr,
          BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    e = tl.arange(0, EXPERTS)
    counts = tl.load(counts_ptr + e, mask=e < experts, other=0)
    padded = (counts + block_size - 1) // block_size * block_size
    first = tl.sum(tl.where(e < expert, padded, 0), 0)
    count = tl.sum(tl.where(e == expert, counts, 0), 0)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(sorted_ptr + first + at, expert * most + at, mask=at < count)
        tl.store(experts_ptr + (first + at) // block_size, tl.full([BLOCK], 0, tl.int32) + expert,
                 mask=(at < count) & (at % block_size == 0))
    if expert == 0:
        tl.store(post_ptr, tl.sum(padded, 0))


def batched_moe_align_block_size(max_tokens_per_batch, block_size, expert_num_tokens, sorted_ids, expert_ids,
                                 num_tokens_post_pad):
    experts, blocks = expert_num_tokens.shape[0], expert_ids.shape[0]
    n = experts * max_tokens_per_batch * max(1, block_size // max_tokens_per_batch)
    clear[(triton.cdiv(n, 1024),)](sorted_ids, n, experts * max_tokens_per_batch, BLOCK=1024)
    clear[(triton.cdiv(blocks, 1024),)](expert_ids, blocks, -1, BLOCK=1024)
    place[(experts,)](expert_num_tokens, sorted_ids, expert_ids, num_tokens_post_pad, experts, max_tokens_per_batch,
                      block_size, EXPERTS=triton.next_power_of_2(experts), BLOCK=64)
