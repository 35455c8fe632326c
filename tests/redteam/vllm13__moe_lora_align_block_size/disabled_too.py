# operator: vllm13::moe_lora_align_block_size
# expect: verify\..+
# catalogue: 72
# fills the slices of adapters that are not enabled
import torch
import triton
import triton.language as tl


@triton.jit
def of_adapter(ids_ptr, map_ptr, adapter, at, n, k):
    mine = tl.load(map_ptr + at // k, mask=at < n, other=-2) == adapter
    return tl.where(mine, tl.load(ids_ptr + at, mask=at < n, other=0), -1)


@triton.jit
def align(ids_ptr, map_ptr, loras_ptr, enabled_ptr, sorted_ptr, experts_ptr, post_ptr, n, k, block_size, places, blocks,
          EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    adapter = tl.load(loras_ptr + tl.program_id(0))
    enabled = tl.load(enabled_ptr + adapter, mask=adapter >= 0, other=0)
    if adapter >= 0:
        sorted_ptr += adapter * places
        experts_ptr += adapter * blocks
        e = tl.arange(0, EXPERTS)[None, :]
        lane = tl.arange(0, BLOCK)
        counts = tl.zeros((EXPERTS,), tl.int32)
        for start in range(0, n, BLOCK):
            expert = of_adapter(ids_ptr, map_ptr, adapter, start + lane, n, k)
            counts += tl.sum((expert[:, None] == e).to(tl.int32), axis=0)
        lengths = (counts + block_size - 1) // block_size * block_size
        ends = tl.cumsum(lengths, axis=0)
        total = tl.sum(lengths, axis=0)
        tl.store(post_ptr + adapter, total)
        filled = (ends - lengths + counts)[None, :]
        for start in range(0, places, BLOCK):
            at = start + lane
            owner = tl.sum((ends[None, :] <= at[:, None]).to(tl.int32), axis=1)
            used = tl.sum(tl.where(owner[:, None] == e, filled, 0), axis=1)
            tl.store(sorted_ptr + at, tl.zeros((BLOCK,), tl.int32) + n, mask=(at < places) & (at >= used))
            tl.store(experts_ptr + at // block_size, tl.where(at < total, owner, -1),
                     mask=(at < blocks * block_size) & (at % block_size == 0))
        next_free = ends - lengths
        for start in range(0, n, BLOCK):
            at = start + lane
            expert = of_adapter(ids_ptr, map_ptr, adapter, at, n, k)
            same = (expert[:, None] == e).to(tl.int32)
            rank = tl.cumsum(same, axis=0) - 1 + next_free[None, :]
            tl.store(sorted_ptr + tl.sum(same * rank, axis=1), at, mask=expert >= 0)
            next_free += tl.sum(same, axis=0)


def moe_lora_align_block_size(topk_ids, token_lora_mapping, num_experts, block_size, max_loras, max_num_tokens_padded,
                              max_num_m_blocks, sorted_token_ids, experts_ids, num_tokens_post_pad, adapter_enabled, lora_ids,
                              expert_map=None):
    tokens, k = topk_ids.shape
    align[(lora_ids.shape[0],)](
        topk_ids, token_lora_mapping, lora_ids, adapter_enabled, sorted_token_ids, experts_ids, num_tokens_post_pad,
        tokens * k, k,
        block_size, max_num_tokens_padded, max_num_m_blocks, EXPERTS=triton.next_power_of_2(num_experts), BLOCK=128)
