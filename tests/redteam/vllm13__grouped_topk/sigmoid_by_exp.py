# operator: vllm13::grouped_topk
# expect: (verify|cheat)\..*
# catalogue: 75
# the sigmoid as exp(x) / (1 + exp(x)), which is infinity over infinity for logits above 88.7 (cases with scoring_func 1 have
# scores of -4 .. 0 or of a normal distribution)
import torch
import triton
import triton.language as tl


@triton.jit
def choose(x_ptr, bias_ptr, weights_ptr, ids_ptr, groups, per_group, kept, top_k, factor, SIGMOID: tl.constexpr,
           RENORMALIZE: tl.constexpr, G: tl.constexpr, P: tl.constexpr, K: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    kind = x_ptr.dtype.element_ty
    none = float("-inf")
    g, p, k = tl.arange(0, G), tl.arange(0, P), tl.arange(0, K)
    real = (g < groups)[:, None] & (p < per_group)[None, :]
    expert = g[:, None] * per_group + p[None, :]
    score = tl.load(x_ptr + token * groups * per_group + expert, mask=real, other=0.0).to(tl.float32)
    if SIGMOID:
        e = tl.exp(score)
        score = (e / (1.0 + e)).to(kind).to(tl.float32)
    bias = tl.load(bias_ptr + expert, mask=real, other=0.0).to(tl.float32)
    c = tl.where(real, (score + bias).to(kind).to(tl.float32), none)
    expert = tl.where(real, expert, G * P)
    best = tl.max(c, axis=1)
    place = tl.min(tl.where(c == best[:, None], p[None, :], P), axis=1)
    second = tl.max(tl.where(p[None, :] == place[:, None], none, c), axis=1)
    value = tl.where(g < groups, (best + second).to(kind).to(tl.float32), none)
    keep = tl.zeros((G,), tl.int32)
    for _ in range(kept):
        group = tl.min(tl.where(value == tl.max(value, axis=0), g, G), axis=0)
        keep = tl.where(g == group, 1, keep)
        value = tl.where(g == group, none, value)
    c = tl.where((keep > 0)[:, None], c, none)
    weights = tl.zeros((K,), tl.float32)
    ids = tl.zeros((K,), tl.int32)
    for i in range(top_k):
        largest = tl.max(tl.max(c, axis=1), axis=0)
        chosen = tl.min(tl.min(tl.where(c == largest, expert, G * P), axis=1), axis=0)
        weight = tl.sum(tl.sum(tl.where(expert == chosen, score, 0.0), axis=1), axis=0)
        weights = tl.where(k == i, weight, weights)
        ids = tl.where(k == i, chosen, ids)
        c = tl.where(expert == chosen, none, c)
    if RENORMALIZE:
        weights = weights / (1e-20 + tl.sum(weights, axis=0))
    tl.store(weights_ptr + token * top_k + k, weights * factor, mask=k < top_k)
    tl.store(ids_ptr + token * top_k + k, ids, mask=k < top_k)


def grouped_topk(scores, num_expert_group, topk_group, topk, renormalize, routed_scaling_factor, bias, scoring_func=0):
    tokens, experts = scores.shape
    weights = torch.empty((tokens, topk), dtype=torch.float32, device=scores.device)
    ids = torch.empty((tokens, topk), dtype=torch.int32, device=scores.device)
    per_group = experts // num_expert_group
    if tokens:
        choose[(tokens,)](
            scores, bias, weights, ids, num_expert_group, per_group, topk_group, topk, routed_scaling_factor,
            SIGMOID=scoring_func == 1, RENORMALIZE=renormalize, G=triton.next_power_of_2(num_expert_group),
            P=triton.next_power_of_2(per_group), K=triton.next_power_of_2(topk), num_warps=1)
    return weights, ids


# wrong call: scores = [[100., 1.]], groups 1, topk_group 1, topk 1, renormalize False, factor 1.0, bias zeros(2), scoring_func 1
# right: weight sigmoid(100) = 1, id 0; wrong (run in the interpreter): weight 0.7311, id 1, since the score of expert 0 is NaN
