# operator: vllm13::moe_align_block_size
# style: three launches (count by expert, fill by place, stable scatter by expert with a running cumsum), no atomics, scratch counts
import torch
import triton
import triton.language as tl


@triton.jit
def _count_kernel(ids_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.int32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        ids = tl.load(ids_ptr + at, mask=at < n, other=-1)
        total += (ids == expert).to(tl.int32)
    tl.store(counts_ptr + expert, tl.sum(total, axis=0))


@triton.jit
def _padded_counts(counts_ptr, num_experts, block_size, EXPERTS: tl.constexpr):
    e = tl.arange(0, EXPERTS)
    counts = tl.load(counts_ptr + e, mask=e < num_experts, other=0)
    return (counts + block_size - 1) // block_size * block_size


@triton.jit
def _fill_kernel(
    counts_ptr,
    sorted_ptr,
    experts_ptr,
    total_ptr,
    n,
    num_experts,
    block_size,
    sorted_length,
    experts_length,
    EXPERTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(sorted_ptr + at, tl.zeros((BLOCK,), tl.int32) + n, mask=at < sorted_length)

    padded = _padded_counts(counts_ptr, num_experts, block_size, EXPERTS)
    ends = tl.cumsum(padded, axis=0)
    total = tl.sum(padded, axis=0)
    e = tl.arange(0, EXPERTS)
    # The expert of a place: so many groups end at or before it.
    place = at.to(tl.int64) * block_size
    before = (ends[None, :] <= place[:, None]) & (e < num_experts)[None, :]
    expert = tl.sum(before.to(tl.int32), axis=1)
    expert = tl.where(place < total, expert, 0)
    tl.store(experts_ptr + at, expert, mask=at < experts_length)
    if pid == 0:
        tl.store(total_ptr, total)


@triton.jit
def _scatter_kernel(
    ids_ptr,
    counts_ptr,
    sorted_ptr,
    n,
    num_experts,
    block_size,
    EXPERTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    expert = tl.program_id(0)
    padded = _padded_counts(counts_ptr, num_experts, block_size, EXPERTS)
    next_place = tl.sum(tl.where(tl.arange(0, EXPERTS) < expert, padded, 0), axis=0)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mine = (tl.load(ids_ptr + at, mask=at < n, other=-1) == expert).to(tl.int32)
        rank = tl.cumsum(mine, axis=0) - mine
        tl.store(sorted_ptr + next_place + rank, at, mask=mine != 0)
        next_place += tl.sum(mine, axis=0)


def moe_align_block_size(
    topk_ids,
    num_experts,
    block_size,
    sorted_token_ids,
    experts_ids,
    num_tokens_post_pad,
    expert_map=None,
):
    assert expert_map is None
    n = topk_ids.numel()
    counts = torch.empty((num_experts,), dtype=torch.int32, device=topk_ids.device)
    experts = max(16, triton.next_power_of_2(num_experts))
    scan = min(1024, max(32, triton.next_power_of_2(max(n, 1))))
    fill = 64
    length = max(sorted_token_ids.numel(), experts_ids.numel(), 1)

    _count_kernel[(num_experts,)](topk_ids, counts, n, BLOCK=scan)
    _fill_kernel[(triton.cdiv(length, fill),)](
        counts,
        sorted_token_ids,
        experts_ids,
        num_tokens_post_pad,
        n,
        num_experts,
        block_size,
        sorted_token_ids.numel(),
        experts_ids.numel(),
        EXPERTS=experts,
        BLOCK=fill,
    )
    if n > 0:
        _scatter_kernel[(num_experts,)](
            topk_ids,
            counts,
            sorted_token_ids,
            n,
            num_experts,
            block_size,
            EXPERTS=experts,
            BLOCK=scan,
        )
