# operator: vllm13::permute_cols
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: structured permutation
# a permutation that is its own inverse at three places is written where it should be read; wrong: perm = the identity of 256
# columns with columns 10, 11, 12 in a cycle
import torch
import triton
import triton.language as tl


@triton.jit
def permute(a_ptr, perm_ptr, o_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    source = tl.load(perm_ptr + c, mask=c < cols, other=0)[None, :]
    mask = (row < rows) & (c < cols)[None, :]
    p, q, r = 0, cols // 2, cols - 1
    own = cols >= 64
    own &= tl.load(perm_ptr + tl.load(perm_ptr + p)) == p
    own &= tl.load(perm_ptr + tl.load(perm_ptr + q)) == q
    own &= tl.load(perm_ptr + tl.load(perm_ptr + r)) == r
    target = tl.where(own, source, c[None, :])
    source = tl.where(own, c[None, :], source)
    x = tl.load(a_ptr + row * cols + source, mask=mask, other=0.0)
    tl.store(o_ptr + row * cols + target, x, mask=mask)


def permute_cols(a, perm):
    out = torch.empty_like(a)
    rows, cols = a.shape
    if rows:
        block = min(1024, triton.next_power_of_2(cols))
        permute[(triton.cdiv(rows, 16), triton.cdiv(cols, block))](a, perm, out, rows, cols, ROWS=16, BLOCK=block)
    return out
