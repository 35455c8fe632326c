# SPDX-License-Identifier: MIT
"""Routing of tokens to experts, and the order in which experts work through their tokens."""

import torch


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def largest(values, n):
    """Places of the n largest, the lower place first among equals."""
    return torch.sort(values, dim=-1, descending=True, stable=True).indices[..., :n]


def topk_softmax(topk_weights, topk_ids, token_expert_indices, gating_output, renormalize):
    tokens, k = topk_weights.shape
    ids = largest(gating_output, k)
    weights = torch.softmax(wide(gating_output), dim=-1).gather(1, ids)
    if renormalize:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    places = torch.arange(k, device=ids.device) * tokens + torch.arange(tokens, device=ids.device).unsqueeze(1)
    return weights.to(topk_weights.dtype), ids.to(torch.int32), places.to(torch.int32)


def topk_softmax_terms(topk_weights, topk_ids, token_expert_indices, gating_output, renormalize):
    """exp turns the rounding of its argument x - max(x) into a relative error as large as the argument."""
    weights, ids, places = topk_softmax(topk_weights, topk_ids, token_expert_indices, gating_output, renormalize)
    if gating_output.numel() == 0:
        return weights, ids, places
    distance = gating_output.amax(dim=-1, keepdim=True) - gating_output.gather(1, ids.long())
    return weights * (1 + distance), ids, places


def origin(*tensors):
    """The type that float64 numbers came from: the narrowest that holds them all."""
    for kind in (torch.bfloat16, torch.float16, torch.float32):
        if all(torch.equal(x.to(kind).to(x.dtype), x) for x in tensors):
            return kind
    return torch.float64


def grouped_topk(scores, num_expert_group, topk_group, topk, renormalize, routed_scaling_factor, bias, scoring_func):
    """What is chosen depends on roundings, so float64 numbers are rounded like those that they came from; weights are not."""
    tokens, experts = scores.shape
    kind = origin(scores, bias) if scores.dtype == torch.float64 else scores.dtype
    shares = torch.sigmoid(wide(scores)).to(scores.dtype) if scoring_func == 1 else scores
    wanted = shares.to(kind) + bias.to(kind)
    groups = wanted.reshape(tokens, num_expert_group, experts // num_expert_group)
    values = groups.gather(2, largest(groups, 2)).unbind(dim=-1)
    values = values[0] + values[1]
    kept = torch.zeros(tokens, num_expert_group, dtype=torch.bool, device=scores.device)
    kept.scatter_(1, largest(values, topk_group), True)
    masked = torch.where(kept.unsqueeze(2), groups, torch.full_like(groups, -torch.inf)).reshape(tokens, experts)
    ids = largest(masked, topk)
    weights = wide(shares.gather(1, ids))
    if renormalize:
        weights = weights / (1e-20 + weights.sum(dim=-1, keepdim=True))
    return weights * routed_scaling_factor, ids.to(torch.int32)


def aligned(experts, n_experts, block_size, n_ids, n_blocks, nobody, unused):
    """Numbers grouped by expert and padded with `nobody` to whole blocks, the expert of each block, how many there are.
    `experts` holds the expert of each number, or -1."""
    device = experts.device
    known = torch.where(experts < 0, n_experts, experts.long())
    by_expert, order = torch.sort(known, stable=True)
    bounds = torch.searchsorted(by_expert, torch.arange(n_experts + 1, device=device))
    padded = (bounds[1:] - bounds[:-1] + block_size - 1) // block_size * block_size
    ends = torch.cumsum(padded, 0)
    starts = torch.cat([ends - padded, ends[-1:] * 0 + n_ids])
    place = starts[by_expert] + torch.arange(len(order), device=device) - bounds[by_expert]
    ids = torch.full((n_ids + 1,), nobody, dtype=torch.int32, device=device)
    ids[torch.where(by_expert == n_experts, n_ids, place)] = order.to(torch.int32)
    first = torch.arange(n_blocks, device=device) * block_size
    of_block = torch.where(first < ends[-1], torch.searchsorted(ends, first, right=True), unused)
    return ids[:n_ids], of_block.to(torch.int32), ends[-1:].to(torch.int32)


def moe_align_block_size(topk_ids, num_experts, block_size, sorted_token_ids, experts_ids, num_tokens_post_pad,
                         expert_map):
    ids, of_block, used = aligned(topk_ids.flatten(), num_experts, block_size, len(sorted_token_ids),
                                  len(experts_ids), topk_ids.numel(), 0)
    return ids, of_block, used


def batched_moe_align_block_size(max_tokens_per_batch, block_size, expert_num_tokens, sorted_ids, expert_ids,
                                 num_tokens_post_pad):
    n = len(expert_num_tokens)
    row = torch.arange(max_tokens_per_batch, device=sorted_ids.device)
    expert = torch.arange(n, device=sorted_ids.device)
    experts = torch.where(row < expert_num_tokens.unsqueeze(1), expert.unsqueeze(1), -1).flatten()
    ids, of_block, used = aligned(experts, n, block_size, len(sorted_ids), len(expert_ids), n * max_tokens_per_batch,
                                  -1)
    return ids, of_block, used


def moe_lora_align_block_size(topk_ids, token_lora_mapping, num_experts, block_size, max_loras, max_num_tokens_padded,
                              max_num_m_blocks, sorted_token_ids, experts_ids, num_tokens_post_pad, adapter_enabled,
                              lora_ids, expert_map):
    slices = (sorted_token_ids.view(max_loras, -1), experts_ids.view(max_loras, -1), num_tokens_post_pad.view(max_loras, 1))
    for lora in lora_ids.long().split(1):
        place = lora.clamp(min=0)
        is_on = (lora >= 0) & (adapter_enabled[place] != 0)
        own = (token_lora_mapping == lora).unsqueeze(1).expand(topk_ids.shape)
        experts = torch.where(own, topk_ids, -1).flatten()
        results = aligned(experts, num_experts, block_size, max_num_tokens_padded, max_num_m_blocks, topk_ids.numel(), -1)
        for part, result in zip(slices, results):
            part[place] = torch.where(is_on.unsqueeze(1), result.unsqueeze(0), part[place])
    return sorted_token_ids, experts_ids, num_tokens_post_pad
