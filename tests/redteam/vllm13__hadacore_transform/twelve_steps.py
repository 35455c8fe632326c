# operator: vllm13::hadacore_transform
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# the last butterfly of rows of 8192 is left out: the semantics go to 8192, cases to 4096
import torch
import triton
import triton.language as tl


@triton.jit
def transform(x_ptr, o_ptr, rows, factor, N: tl.constexpr, STEPS: tl.constexpr, ROWS: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    at = row * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at, mask=row < rows, other=0.0).to(tl.float32)
    for step in tl.static_range(STEPS):
        pairs = tl.permute(tl.reshape(x, (ROWS, N // (2 * 2 ** step), 2, 2 ** step)), (0, 1, 3, 2))
        a, b = tl.split(pairs)
        x = tl.reshape(tl.permute(tl.join(a + b, a - b), (0, 1, 3, 2)), (ROWS, N))
    tl.store(o_ptr + at, (x * factor).to(o_ptr.dtype.element_ty), mask=row < rows)


def hadacore_transform(x, inplace=True):
    out = x if inplace else torch.empty_like(x)
    n = x.shape[-1]
    rows = x.numel() // n
    if rows:
        at_once = max(1, min(16, 4096 // n))
        transform[(triton.cdiv(rows, at_once),)](x, out, rows, n ** -0.5, N=n, STEPS=min(12, n.bit_length() - 1), ROWS=at_once)
    return out
