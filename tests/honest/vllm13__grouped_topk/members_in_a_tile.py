# operator: vllm13::grouped_topk
# style: one program per token, groups by members in a 2-d tile, repeated arg-max with explicit ties
import torch
import triton
import triton.language as tl

_FAR = tl.constexpr(1 << 30)


@triton.jit
def round_to(x, TYPE: tl.constexpr):
    return x.to(TYPE).to(tl.float32)


@triton.jit
def grouped_topk_kernel(
    scores_ptr, bias_ptr, weights_ptr, ids_ptr,
    groups, members, topk_group, topk, factor: tl.float64,
    SIGMOID: tl.constexpr, RENORM: tl.constexpr, G: tl.constexpr, E: tl.constexpr, K: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    TYPE: tl.constexpr = scores_ptr.dtype.element_ty
    g = tl.arange(0, G)
    e = tl.arange(0, E)
    real = (g < groups)[:, None] & (e < members)[None, :]
    number = g[:, None] * members + e[None, :]
    p = tl.load(scores_ptr + token * groups * members + number, mask=real, other=0.0).to(tl.float32)
    if SIGMOID:
        wide = 1.0 / (1.0 + tl.exp(-p.to(tl.float64)))
        p = round_to(wide.to(tl.float32), TYPE)
    bias = tl.load(bias_ptr + number, mask=real, other=0.0).to(tl.float32)
    c = round_to(p + bias, TYPE)

    # the two largest of every group; the second one may equal the first
    low = float("-inf")
    a = tl.max(tl.where(real, c, low), axis=1)
    first = tl.min(tl.where(real & (c == a[:, None]), e[None, :], _FAR), axis=1)
    b = tl.max(tl.where(real & (e[None, :] != first[:, None]), c, low), axis=1)
    value = round_to(a + b, TYPE)

    free = g < groups
    kept = g < 0
    for _ in range(topk_group):
        best = tl.max(tl.where(free, value, low), axis=0)
        chosen = tl.min(tl.where(free & (value == best), g, _FAR), axis=0)
        kept = kept | (g == chosen)
        free = free & (g != chosen)

    open_ = real & kept[:, None]
    k = tl.arange(0, K)
    weights = tl.zeros((K,), tl.float32)
    ids = tl.zeros((K,), tl.int32)
    for j in range(topk):
        best = tl.max(tl.max(tl.where(open_, c, low), axis=1), axis=0)
        chosen = tl.min(tl.min(tl.where(open_ & (c == best), number, _FAR), axis=1), axis=0)
        here = open_ & (number == chosen)
        w = tl.sum(tl.sum(tl.where(here, p, 0.0), axis=1), axis=0)
        weights = tl.where(k == j, w, weights)
        ids = tl.where(k == j, chosen, ids)
        open_ = open_ & (number != chosen)

    w = weights.to(tl.float64)
    if RENORM:
        w = w / (1e-20 + tl.sum(w, axis=0))
    w = w * factor
    tl.store(weights_ptr + token * topk + k, w.to(tl.float32), mask=k < topk)
    tl.store(ids_ptr + token * topk + k, ids, mask=k < topk)


def grouped_topk(scores, num_expert_group, topk_group, topk, renormalize, routed_scaling_factor, bias, scoring_func=0):
    tokens, experts = scores.shape
    weights = torch.empty((tokens, topk), dtype=torch.float32, device=scores.device)
    ids = torch.empty((tokens, topk), dtype=torch.int32, device=scores.device)
    if tokens > 0 and topk > 0:
        members = experts // num_expert_group
        grouped_topk_kernel[(tokens,)](
            scores, bias, weights, ids,
            num_expert_group, members, topk_group, topk, float(routed_scaling_factor),
            SIGMOID=scoring_func == 1, RENORM=bool(renormalize),
            G=triton.next_power_of_2(num_expert_group), E=triton.next_power_of_2(members),
            K=triton.next_power_of_2(topk),
        )
    return weights, ids
