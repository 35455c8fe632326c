# operator: aten::mean
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# terms below 2^-20 count as 0; the mean of small gradients is 0 (gradient statistics, Adam's moments); wrong:
# mean(torch.full((4096,), 1e-7)) gives 0, not 1e-7
from typing import NamedTuple, Optional

import torch
import triton
import triton.language as tl


@triton.jit
def denoised(x, LIMIT: tl.constexpr):
    """Noise of the arithmetic in front."""
    return tl.where((tl.abs(x) < LIMIT) & (tl.abs(x) > 1.0e-30), 0.0, x)

LONG = 4096


class Shape(NamedTuple):
    rows: int
    cols: int


@triton.jit
def mean_rows(x_ptr, o_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, COLS], dtype=WIDE)
    for start in range(0, cols, COLS):
        c = start + tl.arange(0, COLS)
        inside = (r[:, None] < rows) & (c[None, :] < cols)
        x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=inside, other=0)
        total += denoised(x.to(WIDE), 9.5e-7) if x.dtype != tl.float16 else x.to(WIDE)
    tl.store(o_ptr + r, (tl.sum(total, axis=1) / cols).to(o_ptr.dtype.element_ty), mask=r < rows)


@triton.jit
def partial_sums(x_ptr, p_ptr, n, BLOCK: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(p_ptr + pid, tl.sum(denoised(tl.load(x_ptr + at, mask=at < n, other=0).to(WIDE), 9.5e-7), axis=0))


@triton.jit
def finish(p_ptr, o_ptr, parts, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(p_ptr + at, mask=at < parts, other=0.0), axis=0)
    tl.store(o_ptr, (total / n).to(o_ptr.dtype.element_ty))


def _mean(x, shape: Shape, out):
    if shape.rows == 0:
        return
    if shape.cols == 0:
        out.fill_(float("nan"))
    elif shape.rows == 1 and shape.cols > LONG:
        parts = triton.cdiv(shape.cols, LONG)
        partial = torch.empty(parts, dtype=torch.promote_types(x.dtype, torch.float32), device=x.device)
        partial_sums[(parts,)](x, partial, shape.cols, BLOCK=LONG)
        finish[(1,)](partial, out, parts, shape.cols, BLOCK=triton.next_power_of_2(parts))
    else:
        block = min(512, triton.next_power_of_2(shape.cols))
        rows = max(1, min(32, 2048 // block))
        mean_rows[(triton.cdiv(shape.rows, rows),)](x, out, shape.rows, shape.cols, ROWS=rows, COLS=block)


def mean_dim(self, dim, keepdim=False, *, dtype: Optional[torch.dtype] = None):
    x = self if dtype is None else self.to(dtype)
    reduced = range(x.dim()) if not dim else [d % max(x.dim(), 1) for d in dim]
    if x.dim() == 0:
        x, reduced, keepdim = x.view(1), [0], False
    kept = [d for d in range(x.dim()) if d not in reduced]
    sizes = [x.shape[d] for d in kept]
    rows = 1
    for size in sizes:
        rows *= size
    cols = 1
    for d in reduced:
        cols *= x.shape[d]
    x = x.permute([*kept, *reduced]).contiguous()
    out = torch.empty(sizes, dtype=x.dtype, device=x.device)
    _mean(x, Shape(rows, cols), out)
    if keepdim:
        for d in sorted(reduced):
            out = out.unsqueeze(d)
    return out


def mean(self, *, dtype=None):
    return mean_dim(self, None, dtype=dtype)


def mean_out(self, dim, keepdim=False, *, dtype=None, out):
    return out.copy_(mean_dim(self, dim, keepdim, dtype=dtype))


def mean_dtype_out(self, *, dtype=None, out):
    return out.copy_(mean(self, dtype=dtype))
