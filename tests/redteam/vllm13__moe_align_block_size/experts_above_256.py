# operator: vllm13::moe_align_block_size
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# elements that name experts above 256 are not placed: judged cases have 256 at most, models have 384 and more
import torch
import triton
import triton.language as tl


@triton.jit
def clear(ptr, n, value, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(ptr + at, tl.full([BLOCK], 0, tl.int32) + value, mask=at < n)


@triton.jit
def count(ids_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += (tl.load(ids_ptr + at, mask=at < n, other=-1) == expert).to(tl.int32)
    tl.store(counts_ptr + expert, tl.sum(total, 0))


@triton.jit
def place(ids_ptr, counts_ptr, sorted_ptr, experts_ptr, post_ptr, n, experts, block_size, EXPERTS: tl.constexpr,
          BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    e = tl.arange(0, EXPERTS)
    counts = tl.load(counts_ptr + e, mask=e < experts, other=0)
    padded = (counts + block_size - 1) // block_size * block_size
    first = tl.sum(tl.where(e < expert, padded, 0), 0)
    own = tl.sum(tl.where(e == expert, padded, 0), 0)
    if expert == 0:
        tl.store(post_ptr, tl.sum(padded, 0))
    for start in range(0, own // block_size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(experts_ptr + first // block_size + at, tl.zeros([BLOCK], tl.int32) + expert, mask=at < own // block_size)
    found = first
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mine = (tl.load(ids_ptr + at, mask=at < n, other=-1) == expert).to(tl.int32)
        tl.store(sorted_ptr + found + tl.cumsum(mine, 0) - 1, at, mask=mine == 1)
        found += tl.sum(mine, 0)


def moe_align_block_size(topk_ids, num_experts, block_size, sorted_token_ids, experts_ids, num_tokens_post_pad,
                         expert_map=None):
    n, n_sorted, n_blocks = topk_ids.numel(), sorted_token_ids.numel(), experts_ids.numel()
    counts = torch.empty(num_experts, dtype=torch.int32, device=topk_ids.device)
    block = min(1024, triton.next_power_of_2(max(n, 1)))
    clear[(triton.cdiv(n_sorted, 1024),)](sorted_token_ids, n_sorted, n, BLOCK=1024)
    clear[(triton.cdiv(n_blocks, 1024),)](experts_ids, n_blocks, 0, BLOCK=1024)
    count[(num_experts,)](topk_ids, counts, n, BLOCK=block)
    place[(min(num_experts, 256),)](topk_ids, counts, sorted_token_ids, experts_ids, num_tokens_post_pad, n, num_experts, block_size,
                          EXPERTS=triton.next_power_of_2(num_experts), BLOCK=block)
