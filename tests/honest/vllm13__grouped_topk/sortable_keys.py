# operator: vllm13::grouped_topk
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl

LOWEST = tl.constexpr(-2147483648)


@triton.jit
def sort_key(x):
    """Integers in the order of the floats x; equal floats (also both zeros) get equal ones."""
    b = (x + 0.0).to(tl.int32, bitcast=True)
    b = tl.where(x == 0.0, 0, b)
    return tl.where(b < 0, b ^ 0x7FFFFFFF, b)


@triton.jit
def first_best(key, index, NONE: tl.constexpr):
    """Lowest index among those with the largest key."""
    best = tl.max(key, axis=0)
    return tl.min(tl.where(key == best, index, NONE), axis=0)


@triton.jit
def grouped_topk_kernel(scores, bias, weights, ids, experts, per_group, factor, groups, keep_groups,
                        TOPK: tl.constexpr, SIGMOID: tl.constexpr, NORM: tl.constexpr,
                        BE: tl.constexpr, BG: tl.constexpr, BT: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    e = tl.arange(0, BE)
    real = e < experts
    raw = tl.load(scores + token * experts + e, mask=real, other=0.0)
    kind = raw.dtype
    p = raw.to(tl.float32)
    if SIGMOID:
        p = (1.0 / (1.0 + tl.exp(-p))).to(kind).to(tl.float32)
    c = (p + tl.load(bias + e, mask=real, other=0.0).to(tl.float32)).to(kind).to(tl.float32)
    key = tl.where(real, sort_key(c), LOWEST)

    group_of = e // per_group
    g = tl.arange(0, BG)
    value = tl.zeros([BG], tl.float32)
    for h in range(0, groups):
        mine = tl.where(group_of == h, key, LOWEST)
        i1 = first_best(mine, e, BE)
        i2 = first_best(tl.where(e == i1, LOWEST, mine), e, BE)
        a = tl.sum(tl.where(e == i1, c, 0.0), axis=0)
        b = tl.sum(tl.where(e == i2, c, 0.0), axis=0)
        value = tl.where(g == h, (a + b).to(kind).to(tl.float32), value)

    group_key = tl.where(g < groups, sort_key(value), LOWEST)
    allowed = e < 0
    for _ in range(0, keep_groups):
        w = first_best(group_key, g, BG)
        allowed = allowed | (group_of == w)
        group_key = tl.where(g == w, LOWEST, group_key)

    key = tl.where(allowed & real, key, LOWEST)
    t = tl.arange(0, BT)
    chosen = tl.zeros([BT], tl.int32)
    weight = tl.zeros([BT], tl.float32)
    for j in range(0, TOPK):
        i = first_best(key, e, BE)
        chosen = tl.where(t == j, i, chosen)
        weight = tl.where(t == j, tl.sum(tl.where(e == i, p, 0.0), axis=0), weight)
        key = tl.where(e == i, LOWEST, key)
    if NORM:
        weight = weight / (1e-20 + tl.sum(weight, axis=0))
    weight = weight * factor
    tl.store(weights + token * TOPK + t, weight, mask=t < TOPK)
    tl.store(ids + token * TOPK + t, chosen, mask=t < TOPK)


def grouped_topk(scores, num_expert_group, topk_group, topk, renormalize, routed_scaling_factor, bias, scoring_func=0):
    tokens, experts = scores.shape
    weights = torch.empty((tokens, topk), dtype=torch.float32, device=scores.device)
    ids = torch.empty((tokens, topk), dtype=torch.int32, device=scores.device)
    if tokens > 0:
        grouped_topk_kernel[(tokens,)](
            scores, bias, weights, ids, experts, experts // num_expert_group, float(routed_scaling_factor),
            num_expert_group, topk_group, TOPK=topk, SIGMOID=scoring_func == 1, NORM=bool(renormalize),
            BE=triton.next_power_of_2(experts), BG=triton.next_power_of_2(num_expert_group),
            BT=triton.next_power_of_2(topk))
    return weights, ids
