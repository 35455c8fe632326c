# operator: aten::to
# style: result keeps the layout of dense inputs (flat kernel), else strided kernel with a NamedTuple layout
from typing import NamedTuple, Optional, Tuple

import torch
import triton
import triton.language as tl


class Layout(NamedTuple):
    sizes: Tuple[int, ...]
    src: Tuple[int, ...]
    dst: Tuple[int, ...]


@triton.jit
def flat_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0)
    tl.store(y_ptr + at, x.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def strided_kernel(x_ptr, y_ptr, n, sizes, x_strides, y_strides, RANK: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x_at = tl.zeros([BLOCK], dtype=tl.int64)
    y_at = tl.zeros([BLOCK], dtype=tl.int64)
    rest = at
    for d in tl.static_range(RANK):
        i = rest % sizes[d]
        rest = rest // sizes[d]
        x_at += i * x_strides[d]
        y_at += i * y_strides[d]
    x = tl.load(x_ptr + x_at, mask=mask, other=0)
    tl.store(y_ptr + y_at, x.to(y_ptr.dtype.element_ty), mask=mask)


def _layout(x: torch.Tensor, y: torch.Tensor) -> Layout:
    dims = [(n, a, b) for n, a, b in zip(x.shape, x.stride(), y.stride()) if n != 1] or [(1, 0, 0)]
    dims.sort(key=lambda dim: dim[2])  # neighbours in the result are neighbours in a program
    return Layout(*(tuple(column) for column in zip(*dims)))


def _convert(x: torch.Tensor, dtype: Optional[torch.dtype]) -> torch.Tensor:
    y = torch.empty_like(x, dtype=x.dtype if dtype is None else dtype)
    n = x.numel()
    if n == 0:
        return y
    block = 1024
    grid = (triton.cdiv(n, block),)
    if x.stride() == y.stride():  # y is dense, so x is
        flat_kernel[grid](x, y, n, BLOCK=block)
    else:
        layout = _layout(x, y)
        strided_kernel[grid](x, y, n, layout.sizes, layout.src, layout.dst, RANK=len(layout.sizes), BLOCK=block)
    return y


def to_dtype(self, dtype, non_blocking=False, copy=False):
    return _convert(self, dtype)


def to_other(self, other, non_blocking=False, copy=False):
    return _convert(self, other.dtype)


def to_dtype_layout(self, *, dtype=None, copy=False):
    return _convert(self, dtype)


def to_prim_Device(self, device, dtype=None, non_blocking=False, copy=False):
    return _convert(self, dtype)


def to_prim_dtype(self, dtype=None, non_blocking=False, copy=False):
    return _convert(self, dtype)
