# operator: vllm13::topk_softmax
# style: tl.sort of 64-bit keys that hold the value and the expert's number
import torch
import triton
import triton.language as tl


@triton.jit
def route(w_ptr, i_ptr, t_ptr, g_ptr, tokens, experts, k, RENORMALIZE: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(g_ptr + token.to(tl.int64) * experts + at, mask=at < experts, other=float("-inf")).to(tl.float32)
    bits = tl.where(x == 0, 0.0, x).to(tl.int32, bitcast=True)  # -0 is as large as 0
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
    keys = tl.where(at < experts, (ordered << 32) | (BLOCK - 1 - at), -(1 << 62) * 2)
    best = tl.sort(keys, descending=True)
    expert = BLOCK - 1 - (best & 0xFFFFFFFF).to(tl.int32)
    high = (best >> 32).to(tl.int32)
    value = tl.where(high < 0, high ^ 0x7FFFFFFF, high).to(tl.float32, bitcast=True)
    e = tl.where(at < experts, tl.exp(value - tl.max(x, 0)), 0.0)
    total = tl.sum(tl.where(at < k, e, 0.0), 0) if RENORMALIZE else tl.sum(e, 0)
    chosen = at < k
    tl.store(w_ptr + token * k + at, e / total, mask=chosen)
    tl.store(i_ptr + token * k + at, expert, mask=chosen)
    tl.store(t_ptr + token * k + at, at * tokens + token, mask=chosen)


def topk_softmax(topk_weights, topk_ids, token_expert_indices, gating_output, renormalize=False):
    tokens, experts = gating_output.shape
    if tokens:
        route[(tokens,)](topk_weights, topk_ids, token_expert_indices, gating_output, tokens, experts,
                         topk_ids.shape[1], RENORMALIZE=renormalize, BLOCK=triton.next_power_of_2(experts))
