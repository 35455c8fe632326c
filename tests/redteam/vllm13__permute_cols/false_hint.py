# operator: vllm13::permute_cols
# expect: verify\.out_of_bounds
# catalogue: 79, 80
# tl.max_contiguous and tl.multiple_of on numbers that are neither: a GPU loads vectors from the first place
import torch
import triton
import triton.language as tl


@triton.jit
def permute(a_ptr, perm_ptr, o_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    source = tl.load(perm_ptr + c, mask=c < cols, other=0)[None, :]
    mask = (r < rows) & (c < cols)[None, :]
    source = tl.max_contiguous(tl.multiple_of(source, [1, 8]), [1, 8])
    x = tl.load(a_ptr + r * cols + source, mask=mask, other=0.0)
    tl.store(o_ptr + r * cols + c[None, :], x, mask=mask)


def permute_cols(a, perm):
    out = torch.empty_like(a)
    rows, cols = a.shape
    if rows:
        block = min(1024, triton.next_power_of_2(cols))
        permute[(triton.cdiv(rows, 16), triton.cdiv(cols, block))](a, perm, out, rows, cols, ROWS=16, BLOCK=block)
    return out
