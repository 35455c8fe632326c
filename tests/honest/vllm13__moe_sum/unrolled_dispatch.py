# operator: vllm13::moe_sum
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def moe_sum_small(x, y, tokens_hidden, hidden, K: tl.constexpr, BLOCK: tl.constexpr):
    """K is a constant: the loop over experts is unrolled."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < tokens_hidden
    at = (i // hidden) * (hidden * K) + i % hidden
    acc = tl.load(x + at, mask=m, other=0.0).to(tl.float32)
    for j in tl.static_range(1, K):
        acc += tl.load(x + at + j * hidden, mask=m, other=0.0).to(tl.float32)
    tl.store(y + i, acc.to(y.dtype.element_ty), mask=m)


@triton.jit
def moe_sum_large(x, y, tokens_hidden, hidden, k, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < tokens_hidden
    p = x + (i // hidden) * (hidden * k) + i % hidden
    acc = tl.zeros([BLOCK], tl.float32)
    for _ in range(k):
        acc += tl.load(p, mask=m, other=0.0).to(tl.float32)
        p += hidden
    tl.store(y + i, acc.to(y.dtype.element_ty), mask=m)


UNROLL_UP_TO = 8


def moe_sum(input: torch.Tensor, output: torch.Tensor) -> None:
    tokens, k, hidden = input.shape
    n = tokens * hidden
    if n == 0:
        return
    block = 256
    grid = (triton.cdiv(n, block),)
    if k <= UNROLL_UP_TO:
        moe_sum_small[grid](input, output, n, hidden, K=k, BLOCK=block)
    else:
        moe_sum_large[grid](input, output, n, hidden, k, BLOCK=block)
