# operator: vllm13::merge_attn_states
# style: one program for a head of a token, optional output by constexpr flag, 2D grid
import triton
import triton.language as tl


@triton.jit
def merge_kernel(out_ptr, prefix_ptr, prefix_lse_ptr, suffix_ptr, suffix_lse_ptr, out_lse_ptr, tokens, heads, size,
                 HAS_LSE: tl.constexpr, SIZE: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1).to(tl.int64)
    neg_inf = float("-inf")
    p = tl.load(prefix_lse_ptr + h * tokens + t)
    s = tl.load(suffix_lse_ptr + h * tokens + t)
    p = tl.where(p == float("inf"), neg_inf, p)
    s = tl.where(s == float("inf"), neg_inf, s)
    empty = (p == neg_inf) & (s == neg_inf)
    m = tl.where(empty, 0.0, tl.maximum(p, s))
    a = tl.exp(p - m)
    b = tl.exp(s - m)
    total = a + b
    if HAS_LSE:
        tl.store(out_lse_ptr + h * tokens + t, tl.log(total) + m)

    d = tl.arange(0, SIZE)
    at = (t * heads + h) * size + d
    mask = d < size
    x = tl.load(prefix_ptr + at, mask=mask)
    y = tl.load(suffix_ptr + at, mask=mask)
    merged = x.to(tl.float32) * (a / total) + y.to(tl.float32) * (b / total)
    tl.store(out_ptr + at, tl.where(empty, x, merged.to(x.dtype)), mask=mask)


def merge_attn_states(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse=None):
    tokens, heads, size = prefix_output.shape
    if prefix_output.numel() == 0:
        return
    merge_kernel[(tokens, heads)](
        output, prefix_output, prefix_lse, suffix_output, suffix_lse,
        prefix_lse if output_lse is None else output_lse, tokens, heads, size,
        HAS_LSE=output_lse is not None, SIZE=triton.next_power_of_2(size), num_warps=2)
