# operator: aten::pairwise_distance
# style: dispatch table of norms, strided rows, compensation-free float32 with a float64 power path
from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

MANHATTAN, EUCLIDEAN, COUNT, POWER = 1, 2, 0, 3
KINDS = {0.0: COUNT, 1.0: MANHATTAN, 2.0: EUCLIDEAN}


@triton.jit
def distance_kernel(a_ptr, b_ptr, out_ptr, cols, a_row, a_col, b_row, b_col, eps, p: tl.float64,
                    KIND: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    WORK: tl.constexpr = tl.float64 if KIND == 3 else tl.float32
    acc = tl.zeros((BLOCK,), WORK)
    for begin in range(0, cols, BLOCK):
        c = begin + tl.arange(0, BLOCK).to(tl.int64)
        ok = c < cols
        a = tl.load(a_ptr + row * a_row + c * a_col, mask=ok, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + row * b_row + c * b_col, mask=ok, other=0.0).to(tl.float32)
        d = a - b + eps
        if KIND == 0:
            term = (d != 0).to(tl.float32)
        elif KIND == 1:
            term = tl.abs(d)
        elif KIND == 2:
            term = d * d
        else:
            term = libdevice.pow(tl.abs(d).to(tl.float64), tl.full((BLOCK,), 0.0, tl.float64) + p)
        acc += tl.where(ok, term, 0.0)
    total = tl.sum(acc, axis=0)
    if KIND == 2:
        total = tl.sqrt_rn(total)
    elif KIND == 3:
        total = libdevice.pow(total, 1.0 / p)
    tl.store(out_ptr + row, total.to(out_ptr.dtype.element_ty))


def _rows(x: torch.Tensor, shape) -> torch.Tensor:
    """x broadcast to shape, as a matrix whose rows are its last dimension (a view where that is possible)."""
    rows = 1
    for n in shape[:-1]:
        rows *= n
    return x.detach().expand(shape).reshape(rows, shape[-1])


def pairwise_distance(x1, x2, p=2., eps=9.9999999999999995e-07, keepdim=False):
    shape = torch.broadcast_shapes(x1.shape, x2.shape)
    out_shape = list(shape[:-1]) + ([1] if keepdim else [])
    out = torch.empty(out_shape, dtype=x1.dtype, device=x1.device)
    rows = out.numel()
    if rows == 0:
        return out
    a, b = _rows(x1, shape), _rows(x2, shape)
    cols = shape[-1]
    distance_kernel[(rows,)](
        a, b, out, cols, a.stride(0), a.stride(1), b.stride(0), b.stride(1), eps, float(p),
        KIND=KINDS.get(float(p), POWER), BLOCK=min(1024, max(16, triton.next_power_of_2(max(cols, 1)))))
    return out
