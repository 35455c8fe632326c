# operator: vllm13::merge_attn_states
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# open: no case has a result that is an argument, too
# where output is prefix_output itself (merged in place, as vLLM does) the suffix is left out
import torch
import triton
import triton.language as tl


@triton.jit
def merge(o_ptr, p_ptr, plse_ptr, s_ptr, slse_ptr, lse_ptr, tokens, heads, size, HEADS: tl.constexpr, SIZE: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    inside = head < heads
    p = tl.load(plse_ptr + head * tokens + token, mask=inside, other=0.0)
    s = tl.load(slse_ptr + head * tokens + token, mask=inside, other=0.0)
    p = tl.where(p == float("inf"), float("-inf"), p)
    s = tl.where(s == float("inf"), float("-inf"), s)
    most = tl.maximum(p, s)
    nothing = (p == float("-inf")) & (s == float("-inf"))
    a, b = tl.exp(p - most), tl.exp(s - most)
    total = a + b
    if lse_ptr is not None:
        tl.store(lse_ptr + head * tokens + token, tl.where(nothing, p, tl.log(total) + most), mask=inside)
    a, b = a / total, b / total
    at = tl.arange(0, SIZE)[None, :]
    mask = inside[:, None] & (at < size)
    at = (token.to(tl.int64) * heads + head[:, None]) * size + at
    x = tl.load(p_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(s_ptr + at, mask=mask, other=0.0).to(tl.float32)
    merged = tl.where(nothing[:, None], x, x * a[:, None] + y * b[:, None])
    tl.store(o_ptr + at, merged.to(o_ptr.dtype.element_ty), mask=mask)


def merge_attn_states(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse=None):
    tokens, heads, size = output.shape
    if tokens and output.data_ptr() != prefix_output.data_ptr():
        merge[(tokens, triton.cdiv(heads, 8))](output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse,
                                               tokens, heads, size, HEADS=8, SIZE=triton.next_power_of_2(size))
