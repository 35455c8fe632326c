# operator: vllm13::moe_align_block_size
# style: pipeline of four launches (histogram, scan, placement per expert, tail) over a small workspace object
import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(ids_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    found = tl.zeros([BLOCK], dtype=tl.int32)
    for base in range(0, n, BLOCK):
        at = base + tl.arange(0, BLOCK)
        ids = tl.load(ids_ptr + at, mask=at < n, other=-1)
        found += (ids == expert).to(tl.int32)
    tl.store(counts_ptr + expert, tl.sum(found, axis=0))


@triton.jit
def scan_kernel(counts_ptr, starts_ptr, post_pad_ptr, num_experts, block_size, EXPERTS: tl.constexpr):
    e = tl.arange(0, EXPERTS)
    real = e < num_experts
    counts = tl.load(counts_ptr + e, mask=real, other=0)
    padded = (counts + block_size - 1) // block_size * block_size
    ends = tl.cumsum(padded, axis=0)
    tl.store(starts_ptr + e, ends - padded, mask=real)
    total = tl.sum(padded, axis=0)
    tl.store(starts_ptr + num_experts, total)
    tl.store(post_pad_ptr, total)


@triton.jit
def place_kernel(ids_ptr, starts_ptr, counts_ptr, sorted_ptr, experts_ptr, n, block_size, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    begin = tl.load(starts_ptr + expert)
    end = tl.load(starts_ptr + expert + 1)
    position = begin
    for base in range(0, n, BLOCK):
        at = base + tl.arange(0, BLOCK)
        mine = (tl.load(ids_ptr + at, mask=at < n, other=-1) == expert).to(tl.int32)
        rank = tl.cumsum(mine, axis=0) - 1
        tl.store(sorted_ptr + position + rank, at, mask=mine != 0)
        position += tl.sum(mine, axis=0)
    for base in range(begin + tl.load(counts_ptr + expert), end, BLOCK):
        at = base + tl.arange(0, BLOCK)
        tl.store(sorted_ptr + at, tl.full([BLOCK], n, tl.int32), mask=at < end)
    last = end // block_size
    for base in range(begin // block_size, last, BLOCK):
        at = base + tl.arange(0, BLOCK)
        tl.store(experts_ptr + at, tl.zeros([BLOCK], tl.int32) + expert, mask=at < last)


@triton.jit
def tail_kernel(total_ptr, sorted_ptr, sorted_len, experts_ptr, experts_len, n, block_size, BLOCK: tl.constexpr):
    total = tl.load(total_ptr)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sorted_ptr + at, tl.full([BLOCK], n, tl.int32), mask=(at < sorted_len) & (at >= total))
    blocks = total // block_size
    tl.store(experts_ptr + at, tl.zeros([BLOCK], tl.int32), mask=(at < experts_len) & (at >= blocks))


class Workspace:
    def __init__(self, num_experts, device):
        self.counts = torch.empty((num_experts,), dtype=torch.int32, device=device)
        self.starts = torch.empty((num_experts + 1,), dtype=torch.int32, device=device)


def moe_align_block_size(
    topk_ids, num_experts, block_size, sorted_token_ids, experts_ids, num_tokens_post_pad, expert_map=None
):
    n = topk_ids.numel()
    block = 1024 if n > 256 else 256
    work = Workspace(num_experts, topk_ids.device)

    histogram_kernel[(num_experts,)](topk_ids, work.counts, n, BLOCK=block)
    scan_kernel[(1,)](
        work.counts, work.starts, num_tokens_post_pad, num_experts, block_size,
        EXPERTS=max(16, triton.next_power_of_2(num_experts)),
    )
    place_kernel[(num_experts,)](
        topk_ids, work.starts, work.counts, sorted_token_ids, experts_ids, n, block_size, BLOCK=block
    )
    length = max(sorted_token_ids.numel(), experts_ids.numel())
    if length > 0:
        tail_kernel[(triton.cdiv(length, 512),)](
            num_tokens_post_pad, sorted_token_ids, sorted_token_ids.numel(),
            experts_ids, experts_ids.numel(), n, block_size, BLOCK=512,
        )
    return None
