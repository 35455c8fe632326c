# operator: vllm13::grouped_topk
# style: groups by experts tile in registers, ranks by comparing pairs, selection by sortable int64 keys
import torch
import triton
import triton.language as tl


@triton.jit
def _sortable(x):
    """int32 in the order of float32, both zeros the same."""
    bits = (x + 0.0).to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def grouped_topk_kernel(scores_ptr, bias_ptr, weights_ptr, ids_ptr, groups, size, topk_group, topk, factor,
                        SIGMOID: tl.constexpr, RENORMALIZE: tl.constexpr, GROUPS: tl.constexpr, SIZE: tl.constexpr,
                        TOPK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    ty = scores_ptr.dtype.element_ty
    experts = groups * size
    g = tl.arange(0, GROUPS)
    e = tl.arange(0, SIZE)
    number = g[:, None] * size + e[None, :]
    valid = (g < groups)[:, None] & (e < size)[None, :]
    p = tl.load(scores_ptr + token * experts + number, mask=valid, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + number, mask=valid, other=0.0).to(tl.float32)
    if SIGMOID:
        p = (1.0 / (1.0 + tl.exp(-p))).to(ty).to(tl.float32)
    c = (p + bias).to(ty).to(tl.float32)

    # the value of a group: its two largest
    inside = tl.where(valid, c, float("-inf"))
    first = tl.max(inside, axis=1)
    where_first = tl.argmax(inside, axis=1)
    second = tl.max(tl.where(e[None, :] == where_first[:, None], float("-inf"), inside), axis=1)
    value = (first + second).to(ty).to(tl.float32)

    # a group is kept if fewer than topk_group others come before it
    better = (value[None, :] > value[:, None]) | ((value[None, :] == value[:, None]) & (g[None, :] < g[:, None]))
    better = better & (g < groups)[None, :]
    rank = tl.sum(better.to(tl.int32), axis=1)
    kept = valid & (rank < topk_group)[:, None]

    # a larger key comes first: by c, then by the smaller number
    lowest = -9223372036854775807
    key = (_sortable(c).to(tl.int64) << 32) | (experts - 1 - number).to(tl.int64)
    key = tl.where(kept, key, lowest)
    k = tl.arange(0, TOPK)
    weights = tl.zeros([TOPK], dtype=tl.float32)
    ids = tl.zeros([TOPK], dtype=tl.int32)
    for j in range(topk):
        best = tl.max(tl.max(key, axis=1), axis=0)
        chosen = key == best
        weight = tl.sum(tl.sum(tl.where(chosen, p, 0.0), axis=1), axis=0)
        expert = experts - 1 - (best & 0xFFFFFFFF).to(tl.int32)
        weights = tl.where(k == j, weight, weights)
        ids = tl.where(k == j, expert, ids)
        key = tl.where(chosen, lowest, key)
    if RENORMALIZE:
        weights = weights / (1e-20 + tl.sum(weights, axis=0))
    weights = weights * factor
    tl.store(weights_ptr + token * topk + k, weights, mask=k < topk)
    tl.store(ids_ptr + token * topk + k, ids, mask=k < topk)


def grouped_topk(scores, num_expert_group, topk_group, topk, renormalize, routed_scaling_factor, bias, scoring_func=0):
    tokens, experts = scores.shape
    weights = torch.empty((tokens, topk), dtype=torch.float32, device=scores.device)
    ids = torch.empty((tokens, topk), dtype=torch.int32, device=scores.device)
    if tokens == 0:
        return weights, ids
    size = experts // num_expert_group
    grouped_topk_kernel[(tokens,)](
        scores, bias, weights, ids, num_expert_group, size, topk_group, topk, float(routed_scaling_factor),
        SIGMOID=scoring_func == 1, RENORMALIZE=bool(renormalize), GROUPS=triton.next_power_of_2(num_expert_group),
        SIZE=triton.next_power_of_2(size), TOPK=triton.next_power_of_2(topk), num_warps=4)
    return weights, ids
