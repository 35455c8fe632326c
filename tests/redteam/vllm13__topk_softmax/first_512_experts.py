# operator: vllm13::topk_softmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# experts beyond the 512th are not looked at: cases have 300 at most
import torch
import triton
import triton.language as tl


@triton.jit
def take(rest, at, BLOCK: tl.constexpr):
    best = tl.max(rest, 0)
    expert = tl.min(tl.where(rest == best, at, BLOCK), 0)
    return best, expert, tl.where(at == expert, float("-inf"), rest)


@triton.jit
def route(w_ptr, i_ptr, t_ptr, g_ptr, tokens, experts, k, RENORMALIZE: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(g_ptr + token.to(tl.int64) * experts + at, mask=(at < experts) & (at < 512), other=float("-inf")).to(tl.float32)
    most = tl.max(x, 0)
    total = tl.sum(tl.exp(x - most), 0)
    if RENORMALIZE:
        total = 0.0
        rest = x
        for _ in range(0, k):
            best, expert, rest = take(rest, at, BLOCK)
            total += tl.exp(best - most)
    rest = x
    for j in range(0, k):
        best, expert, rest = take(rest, at, BLOCK)
        tl.store(w_ptr + token * k + j, tl.exp(best - most) / total)
        tl.store(i_ptr + token * k + j, expert)
        tl.store(t_ptr + token * k + j, j * tokens + token)


def topk_softmax(topk_weights, topk_ids, token_expert_indices, gating_output, renormalize=False):
    tokens, experts = gating_output.shape
    if tokens:
        route[(tokens,)](topk_weights, topk_ids, token_expert_indices, gating_output, tokens, experts,
                         topk_ids.shape[1], RENORMALIZE=renormalize, BLOCK=triton.next_power_of_2(experts))
