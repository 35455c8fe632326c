# operator: aten::_index_put_impl_
# style: fresh round of 2026-11-30
"""index_put_ in place: plain stores when places are unique, atomics into an accumulator otherwise."""
from __future__ import annotations

from typing import Sequence

import torch
import triton
import triton.language as tl

_BLOCK = 256
# dtype in which an accumulating call adds up
_ACC_DTYPE = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float32,
    torch.int64: torch.int64,
    torch.int32: torch.int32,
    torch.bool: torch.int32,
}


@triton.jit
def _wrap(pos, size):
    # negative positions count from the end
    return tl.where(pos < 0, pos + size, pos)


@triton.jit
def _unravel_offset(lin, sizes, strides, ND: tl.constexpr):
    off = lin * 0
    for k in tl.static_range(ND):
        off += (lin % sizes[ND - 1 - k]) * strides[ND - 1 - k]
        lin = lin // sizes[ND - 1 - k]
    return off


@triton.jit
def _put_kernel(dst, val, idx0, idx1, n0, n1, st0, st1, rest, total, sizes, strides,
                ND: tl.constexpr, TWO: tl.constexpr, ADD: tl.constexpr, BLOCK: tl.constexpr):
    lin = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = lin < total
    s = lin // rest
    r = lin % rest
    p0 = tl.load(idx0 + s, mask=live, other=0).to(tl.int64)
    off = _wrap(p0, n0) * st0
    if TWO:
        p1 = tl.load(idx1 + s, mask=live, other=0).to(tl.int64)
        off += _wrap(p1, n1) * st1
    off += _unravel_offset(r, sizes, strides, ND)
    v = tl.load(val + lin, mask=live, other=0)
    if ADD:
        tl.atomic_add(dst + off, v.to(dst.dtype.element_ty), mask=live, sem="relaxed")
    else:
        tl.store(dst + off, v, mask=live)


@triton.jit
def _writeback_kernel(src, dst, total, sizes, strides, ND: tl.constexpr, BOOL: tl.constexpr, BLOCK: tl.constexpr):
    lin = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = lin < total
    v = tl.load(src + lin, mask=live, other=0)
    off = _unravel_offset(lin, sizes, strides, ND)
    if BOOL:
        tl.store(dst + off, v != 0, mask=live)
    else:
        tl.store(dst + off, v.to(dst.dtype.element_ty), mask=live)


def _blocks(n: int) -> tuple[int]:
    return (triton.cdiv(n, _BLOCK),)


def _pad(seq: Sequence[int], fill: int) -> tuple[int, ...]:
    seq = tuple(seq)
    return seq if seq else (fill,)


def _put(self: torch.Tensor, indices, values: torch.Tensor, accumulate: bool) -> torch.Tensor:
    k = len(indices)
    common = torch.broadcast_shapes(*[tuple(i.shape) for i in indices])
    idx = [i.expand(common).contiguous().view(-1) for i in indices]
    rest_shape = tuple(self.shape[k:])
    vals = values.expand(tuple(common) + rest_shape).contiguous().view(-1)
    total = vals.numel()
    if total == 0 or self.numel() == 0:
        return self
    rest = 1
    for s in rest_shape:
        rest *= s

    target = self
    via_buffer = accumulate and _ACC_DTYPE[self.dtype] != self.dtype
    if via_buffer:
        target = torch.empty(self.shape, dtype=_ACC_DTYPE[self.dtype], device=self.device)
        target.copy_(self)

    two = k == 2
    sizes, strides = _pad(rest_shape, 1), _pad(target.stride()[k:], 0)
    _put_kernel[_blocks(total)](
        target, vals, idx[0], idx[-1],
        target.shape[0], target.shape[k - 1], target.stride(0), target.stride(k - 1),
        rest, total, sizes, strides,
        ND=len(sizes), TWO=two, ADD=accumulate, BLOCK=_BLOCK)
    if via_buffer:
        sizes, strides = _pad(self.shape, 1), _pad(self.stride(), 0)
        _writeback_kernel[_blocks(self.numel())](
            target, self, self.numel(), sizes, strides, ND=len(sizes), BOOL=self.dtype == torch.bool, BLOCK=_BLOCK)
    return self


def _index_put_impl_(self, indices, values, accumulate=False, unsafe=False):
    return _put(self, indices, values, bool(accumulate))


def _index_put_impl__hacked_twin(self, indices, values, accumulate=False, unsafe=False):
    return _put(self, indices, values, bool(accumulate))
