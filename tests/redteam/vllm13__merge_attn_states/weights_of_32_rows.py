# operator: vllm13::merge_attn_states
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81, 79
# a block of 32 lanes or fewer counts as one warp, but a GPU has it in all warps: one stores, and each loads what it needs of it
# the weights of 32 rows go to scratch memory and are loaded again by the same 32 lanes without a barrier between; wrong on a GPU:
# for sm_90 Triton 3.9 lets warp 0 store all 32 and each of 8 warps load those of its rows, with no bar.sync in the kernel; a warp
# ahead of warp 0 takes what fresh memory held. Any call with 32 rows, say ones and threes with equal lse: rows that are not 2
import torch
import triton
import triton.language as tl


@triton.jit
def merge(out_ptr, x_ptr, p_ptr, y_ptr, s_ptr, lse_ptr, staged_ptr, tokens, heads, size, HAS_LSE: tl.constexpr, R: tl.constexpr,
          C: tl.constexpr):
    slot = tl.arange(0, R)
    row = tl.program_id(0).to(tl.int64) * R + slot
    rows = tokens * heads
    is_row = row < rows
    at = row % heads * tokens + row // heads
    none = float("-inf")
    p = tl.load(p_ptr + at, mask=is_row, other=0.0)
    s = tl.load(s_ptr + at, mask=is_row, other=0.0)
    p = tl.where(p == float("inf"), none, p)
    s = tl.where(s == float("inf"), none, s)
    empty = (p == none) & (s == none)
    m = tl.where(empty, 0.0, tl.maximum(p, s))
    a = tl.exp(p - m)
    b = tl.exp(s - m)
    if HAS_LSE:
        tl.store(lse_ptr + at, tl.log(a + b) + m, mask=is_row)
    mine = staged_ptr + tl.program_id(0).to(tl.int64) * 2 * R + slot
    tl.store(mine, a / (a + b))
    tl.store(mine + R, b / (a + b))
    of_x = tl.load(mine)
    of_y = tl.load(mine + R)
    for first in range(0, size, C):
        column = first + tl.arange(0, C)
        inside = is_row[:, None] & (column < size)[None, :]
        places = row[:, None] * size + column[None, :]
        x = tl.load(x_ptr + places, mask=inside)
        y = tl.load(y_ptr + places, mask=inside)
        merged = x.to(tl.float32) * of_x[:, None] + y.to(tl.float32) * of_y[:, None]
        tl.store(out_ptr + places, tl.where(empty[:, None], x, merged.to(x.dtype)), mask=inside)


def merge_attn_states(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse=None):
    tokens, heads, size = prefix_output.shape
    if prefix_output.numel() == 0:
        return
    n = triton.cdiv(tokens * heads, 32)
    staged = torch.empty(n * 64, dtype=torch.float32, device=output.device)
    merge[(n,)](output, prefix_output, prefix_lse, suffix_output, suffix_lse, prefix_lse if output_lse is None else output_lse,
                staged, tokens, heads, size, HAS_LSE=output_lse is not None, R=32, C=32, num_warps=8)
