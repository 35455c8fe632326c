# operator: vllm13::topk_softmax
# style: softmax of a row in registers, k rounds of maximum and exclusion
import torch
import triton
import triton.language as tl


@triton.jit
def _topk_softmax_kernel(
    weights_ptr, ids_ptr, source_ptr, gating_ptr,
    tokens, experts,
    K: tl.constexpr,
    RENORMALIZE: tl.constexpr,
    T: tl.constexpr,
    E: tl.constexpr,
    KP: tl.constexpr,
):
    t = tl.program_id(0).to(tl.int64) * T + tl.arange(0, T)
    e = tl.arange(0, E)
    j = tl.arange(0, KP)
    mask_t = t < tokens
    mask = mask_t[:, None] & (e < experts)[None, :]

    x = tl.load(gating_ptr + t[:, None] * experts + e[None, :], mask=mask, other=0.0).to(tl.float32)
    x = tl.where((e < experts)[None, :], x, float("-inf"))
    top = tl.max(x, axis=1)
    total = tl.sum(tl.exp(x - top[:, None]), axis=1)

    values = tl.zeros((T, KP), dtype=tl.float32)
    ids = tl.zeros((T, KP), dtype=tl.int32)
    for i in range(K):
        best = tl.max(x, axis=1)
        # of equal values the lowest number
        who = tl.min(tl.where(x == best[:, None], e[None, :], E), axis=1)
        here = (j == i)[None, :]
        values = tl.where(here, best[:, None], values)
        ids = tl.where(here, who[:, None], ids)
        x = tl.where(e[None, :] == who[:, None], float("-inf"), x)

    p = tl.exp(values - top[:, None])
    if RENORMALIZE:
        total = tl.sum(tl.where((j < K)[None, :], p, 0.0), axis=1)
    w = p / total[:, None]

    out = t[:, None] * K + j[None, :]
    out_mask = mask_t[:, None] & (j < K)[None, :]
    tl.store(weights_ptr + out, w, mask=out_mask)
    tl.store(ids_ptr + out, ids, mask=out_mask)
    tl.store(source_ptr + out, (j[None, :] * tokens + t[:, None]).to(tl.int32), mask=out_mask)


def topk_softmax(topk_weights, topk_ids, token_expert_indices, gating_output, renormalize=False):
    tokens, experts = gating_output.shape
    k = topk_weights.shape[1]
    if tokens == 0 or k == 0:
        return None
    E = max(2, triton.next_power_of_2(experts))
    KP = max(2, triton.next_power_of_2(k))
    T = min(max(1, 1024 // E), triton.next_power_of_2(tokens))
    _topk_softmax_kernel[(triton.cdiv(tokens, T),)](
        topk_weights, topk_ids, token_expert_indices, gating_output,
        tokens, experts,
        K=k, RENORMALIZE=bool(renormalize), T=T, E=E, KP=KP, num_warps=4,
    )
    return None
