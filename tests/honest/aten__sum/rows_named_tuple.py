# operator: aten::sum
# style: one kernel over (outer, reduced, inner) with strides, NamedTuple and Literal types
from typing import List, NamedTuple, Optional, Sequence

import torch
import triton
import triton.language as tl


class Layout(NamedTuple):
    rows: int
    length: int
    shape: List[int]


@triton.jit
def sum_rows(x_ptr, out_ptr, n_rows, length, ACC: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros((ROWS, BLOCK), dtype=ACC)
    for start in range(0, length, BLOCK):
        col = start + tl.arange(0, BLOCK)
        mask = (row[:, None] < n_rows) & (col[None, :] < length)
        acc += tl.load(x_ptr + row[:, None] * length + col[None, :], mask=mask, other=0).to(ACC)
    tl.store(out_ptr + row, tl.sum(acc, axis=1).to(out_ptr.dtype.element_ty), mask=row < n_rows)


def _layout(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> Layout:
    rows, length, result = 1, 1, []
    for d, size in enumerate(shape):
        if d in dims:
            length *= size
            if keepdim:
                result.append(1)
        else:
            rows *= size
            result.append(size)
    return Layout(rows, length, result)


def _reduce(x: torch.Tensor, dim: Optional[Sequence[int]], keepdim: bool, dtype: Optional[torch.dtype]) -> torch.Tensor:
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() else torch.int64
    dims = [d + x.ndim if d < 0 else d for d in (dim or range(x.ndim))] if x.ndim > 0 else []
    layout = _layout(x.shape, dims, keepdim)
    order = [d for d in range(x.ndim) if d not in dims] + list(dims)
    x = x.to(dtype).permute(*order).contiguous() if order else x.to(dtype)
    out = torch.empty(layout.shape, dtype=dtype, device=x.device)
    if layout.rows:
        acc = tl.float64 if dtype == torch.float64 else {True: tl.float32, False: tl.int64}[dtype.is_floating_point]
        sum_rows[(triton.cdiv(layout.rows, 8),)](x, out, layout.rows, layout.length, ACC=acc, ROWS=8, BLOCK=256)
    return out


def sum(self: torch.Tensor, *, dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    return _reduce(self, None, False, dtype)


def sum_out(self: torch.Tensor, *, dtype: Optional[torch.dtype] = None, out: torch.Tensor) -> torch.Tensor:
    return out.copy_(_reduce(self, None, False, dtype))


def sum_dim_IntList(self: torch.Tensor, dim: Optional[List[int]], keepdim: bool = False, *,
                    dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    return _reduce(self, dim, keepdim, dtype)


def sum_IntList_out(self: torch.Tensor, dim: Optional[List[int]], keepdim: bool = False, *,
                    dtype: Optional[torch.dtype] = None, out: torch.Tensor) -> torch.Tensor:
    return out.copy_(_reduce(self, dim, keepdim, dtype))
