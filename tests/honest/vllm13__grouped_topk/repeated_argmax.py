# operator: vllm13::grouped_topk
# style: tokens x groups x experts in three dimensions; repeated argmax, first over groups, then over experts
import torch
import triton
import triton.language as tl


@triton.jit
def choose(x_ptr, bias_ptr, weights_ptr, ids_ptr, tokens, groups, per_group, kept, top_k, factor, SIGMOID: tl.constexpr,
           RENORMALIZE: tl.constexpr, T: tl.constexpr, G: tl.constexpr, P: tl.constexpr, K: tl.constexpr):
    token = (tl.program_id(0) * T + tl.arange(0, T)).to(tl.int64)
    kind = x_ptr.dtype.element_ty
    none = float("-inf")
    g, p = tl.arange(0, G), tl.arange(0, P)
    real = ((g < groups)[:, None] & (p < per_group)[None, :])[None, :, :] & (token < tokens)[:, None, None]
    expert = (g[:, None] * per_group + p[None, :])[None, :, :]
    at = token[:, None, None] * groups * per_group + expert
    score = tl.load(x_ptr + at, mask=real, other=0.0).to(tl.float32)
    if SIGMOID:
        score = tl.sigmoid(score).to(kind).to(tl.float32)
    bias = tl.load(bias_ptr + tl.broadcast_to(expert, (T, G, P)), mask=real, other=0.0).to(tl.float32)
    c = tl.where(real, (score + bias).to(kind).to(tl.float32), none)
    best, where = tl.max(c, axis=2, return_indices=True)
    second = tl.max(tl.where(p[None, None, :] == where[:, :, None], none, c), axis=2)
    value = tl.where((g < groups)[None, :], (best + second).to(kind).to(tl.float32), none)
    keep = tl.zeros((T, G), tl.int32)
    for _ in range(kept):
        chosen = g[None, :] == tl.argmax(value, axis=1)[:, None]
        keep = tl.where(chosen, 1, keep)
        value = tl.where(chosen, none, value)
    c = tl.reshape(tl.where((keep > 0)[:, :, None] & real, c, none), (T, G * P))
    score = tl.reshape(score, (T, G * P))
    place = tl.arange(0, G * P)[None, :]
    k = tl.arange(0, K)[None, :]
    weights = tl.zeros((T, K), tl.float32)
    ids = tl.zeros((T, K), tl.int32)
    for i in range(top_k):
        chosen = tl.argmax(c, axis=1)[:, None]
        weights = tl.where(k == i, tl.sum(tl.where(place == chosen, score, 0.0), axis=1)[:, None], weights)
        ids = tl.where(k == i, chosen // P * per_group + chosen % P, ids)
        c = tl.where(place == chosen, none, c)
    if RENORMALIZE:
        weights = weights / (1e-20 + tl.sum(weights, axis=1))[:, None]
    inside = (token < tokens)[:, None] & (k < top_k)
    tl.store(weights_ptr + token[:, None] * top_k + k, weights * factor, mask=inside)
    tl.store(ids_ptr + token[:, None] * top_k + k, ids, mask=inside)


def grouped_topk(scores, num_expert_group, topk_group, topk, renormalize, routed_scaling_factor, bias, scoring_func=0):
    tokens, experts = scores.shape
    weights = torch.empty((tokens, topk), dtype=torch.float32, device=scores.device)
    ids = torch.empty((tokens, topk), dtype=torch.int32, device=scores.device)
    per_group = experts // num_expert_group
    if tokens:
        choose[(triton.cdiv(tokens, 8),)](
            scores, bias, weights, ids, tokens, num_expert_group, per_group, topk_group, topk, routed_scaling_factor,
            SIGMOID=scoring_func == 1, RENORMALIZE=renormalize, T=8, G=triton.next_power_of_2(num_expert_group),
            P=triton.next_power_of_2(per_group), K=triton.next_power_of_2(topk))
    return weights, ids
