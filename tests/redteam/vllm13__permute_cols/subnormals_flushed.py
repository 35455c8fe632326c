# operator: vllm13::permute_cols
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# bfloat16 subnormals become 0 though elements are to be copied bit by bit
import torch
import triton
import triton.language as tl


@triton.jit
def permute(a_ptr, perm_ptr, o_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    source = tl.load(perm_ptr + c, mask=c < cols, other=0)[None, :]
    mask = (r < rows) & (c < cols)[None, :]
    x = tl.load(a_ptr + r * cols + source, mask=mask, other=0.0)
    if x.dtype == tl.bfloat16:
        x = tl.where(tl.abs(x.to(tl.float32)) < 1.1754943508222875e-38, x * 0.0, x)
    tl.store(o_ptr + r * cols + c[None, :], x, mask=mask)


def permute_cols(a, perm):
    out = torch.empty_like(a)
    rows, cols = a.shape
    if rows:
        block = min(1024, triton.next_power_of_2(cols))
        permute[(triton.cdiv(rows, 16), triton.cdiv(cols, block))](a, perm, out, rows, cols, ROWS=16, BLOCK=block)
    return out
