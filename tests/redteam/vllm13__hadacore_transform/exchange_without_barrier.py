# operator: vllm13::hadacore_transform
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81
# lanes exchange partners through global memory without a barrier: a race between warps of one program on a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def transform(x_ptr, w_ptr, o_ptr, factor, N: tl.constexpr, STEPS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + i).to(tl.float32)
    for step in tl.static_range(STEPS):
        w = w_ptr + (row * STEPS + step) * N
        tl.store(w + i, x)
        other = tl.load(w + (i ^ (1 << step)))
        x = tl.where((i >> step) % 2 == 0, x + other, other - x)
    tl.store(o_ptr + row * N + i, (x * factor).to(o_ptr.dtype.element_ty))


def hadacore_transform(x, inplace=True):
    out = x if inplace else torch.empty_like(x)
    n = x.shape[-1]
    rows = x.numel() // n
    steps = n.bit_length() - 1
    if rows:
        work = torch.empty(rows * steps * n, dtype=torch.float32, device=x.device)
        transform[(rows,)](x, work, out, n ** -0.5, N=n, STEPS=steps)
    return out
