# operator: aten::scatter
# style: fresh round of 2026-11-30
"""scatter along one dimension.

All tensors are brought into the form (lines, length) with the scattered dimension last. Replacing and adding write
into a copy of self; multiplying gathers, because there is no atomic product.
"""
from typing import NamedTuple, Optional, Tuple

import torch
import triton
import triton.language as tl


class Plan(NamedTuple):
    work: torch.Tensor          # contiguous copy of self, dim last, in the type of the computation
    index: torch.Tensor         # contiguous, dim last
    lines: int                  # lines of index
    length: int                 # length of each
    sizes: Tuple[int, ...]      # sizes of index without dim, padded to 7
    steps: Tuple[int, ...]      # strides of work for these


@triton.jit
def line_base(line, n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6):
    base = (line % n6) * s6
    line = line // n6
    base += (line % n5) * s5
    line = line // n5
    base += (line % n4) * s4
    line = line // n4
    base += (line % n3) * s3
    line = line // n3
    base += (line % n2) * s2
    line = line // n2
    base += (line % n1) * s1
    line = line // n1
    return base + (line % n0) * s0


@triton.jit
def scatter_tensor(work, index, src, total, length,
                   n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6,
                   ADD: tl.constexpr, BLOCK: tl.constexpr):
    e = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = e < total
    base = line_base(e // length, n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6)
    pos = tl.load(index + e, mask=m, other=0)
    v = tl.load(src + e, mask=m, other=0).to(work.dtype.element_ty)
    if ADD:
        tl.atomic_add(work + base + pos, v, mask=m)
    else:
        tl.store(work + base + pos, v, mask=m)


@triton.jit
def scatter_number(work, index, f: tl.float64, i: tl.int64, total, length,
                   n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6,
                   ADD: tl.constexpr, INT: tl.constexpr, BLOCK: tl.constexpr):
    e = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = e < total
    base = line_base(e // length, n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6)
    pos = tl.load(index + e, mask=m, other=0)
    if INT:
        v = tl.zeros([BLOCK], tl.int64) + i
    else:
        v = tl.full([BLOCK], f.to(tl.float32), tl.float32).to(work.dtype.element_ty)
    if ADD:
        tl.atomic_add(work + base + pos, v, mask=m)
    else:
        tl.store(work + base + pos, v, mask=m)


@triton.jit
def multiply_line(work, index, src, f: tl.float64, i: tl.int64, length, width,
                  n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6,
                  NUMBER: tl.constexpr, INT: tl.constexpr, BLOCK: tl.constexpr):
    """One program: BLOCK elements of one line of the result; looks through the whole line of index."""
    chunks = tl.cdiv(width, BLOCK)
    pid = tl.program_id(0).to(tl.int64)
    line = pid // chunks
    at = (pid % chunks) * BLOCK + tl.arange(0, BLOCK)
    m = at < width
    base = line_base(line, n0, n1, n2, n3, n4, n5, n6, s0, s1, s2, s3, s4, s5, s6)
    acc = tl.load(work + base + at, mask=m, other=0)
    for j in range(0, length):
        pos = tl.load(index + line * length + j)
        if NUMBER:
            if INT:
                v = i
            else:
                v = f.to(tl.float32)
        else:
            v = tl.load(src + line * length + j).to(work.dtype.element_ty)
        acc = tl.where(at == pos, acc * v, acc)
    tl.store(work + base + at, acc, mask=m)


def _plan(self: torch.Tensor, dim: int, index: torch.Tensor, dtype: torch.dtype) -> Plan:
    moved = self.movedim(dim, -1)
    work = torch.empty(moved.shape, dtype=dtype, device=self.device)
    work.copy_(moved)
    idx = index.movedim(dim, -1).contiguous()
    outer = list(idx.shape[:-1])
    lines = 1
    for s in outer:
        lines *= s
    pad = 7 - len(outer)
    return Plan(work, idx, lines, idx.shape[-1],
                tuple([1] * pad + outer), tuple([0] * pad + list(work.stride()[:-1])))


def _scatter(self, dim, index, src=None, value=None, reduce: Optional[str] = None, out=None):
    self = self.detach()
    result = torch.empty(self.shape, dtype=self.dtype, device=self.device) if out is None else out
    if self.dim() == 0:
        self, index = self.view(1), index.view(1)
        src = None if src is None else src.view(1)
        target = result.view(1)
        dim = 0
    else:
        target = result
        dim = dim % self.dim()
    integral = not self.dtype.is_floating_point
    dtype = self.dtype if integral or reduce is None else torch.float32
    plan = _plan(self, dim, index, dtype)
    total = plan.index.numel()
    if total > 0:
        if src is not None:
            for d, s in enumerate(index.shape):
                src = src.narrow(d, 0, s)
            src = src.detach().movedim(dim, -1).contiguous()
        f, i = (0.0, 0) if value is None else ((0.0, int(value)) if integral else (float(value), 0))
        geometry = (*plan.sizes, *plan.steps)
        BLOCK = 256
        if reduce == "multiply":
            width = plan.work.shape[-1]
            multiply_line[(plan.lines * triton.cdiv(width, BLOCK),)](
                plan.work, plan.index, plan.index if src is None else src, f, i, plan.length, width, *geometry,
                NUMBER=src is None, INT=integral, BLOCK=BLOCK)
        elif src is not None:
            scatter_tensor[(triton.cdiv(total, BLOCK),)](
                plan.work, plan.index, src, total, plan.length, *geometry, ADD=reduce == "add", BLOCK=BLOCK)
        else:
            scatter_number[(triton.cdiv(total, BLOCK),)](
                plan.work, plan.index, f, i, total, plan.length, *geometry,
                ADD=reduce == "add", INT=integral, BLOCK=BLOCK)
    target.copy_(plan.work.movedim(-1, dim))
    return result


def scatter_src(self, dim, index, src):
    return _scatter(self, dim, index, src=src)


def scatter_src_out(self, dim, index, src, *, out):
    return _scatter(self, dim, index, src=src, out=out)


def scatter_value(self, dim, index, value):
    return _scatter(self, dim, index, value=value)


def scatter_value_out(self, dim, index, value, *, out):
    return _scatter(self, dim, index, value=value, out=out)


def scatter_reduce(self, dim, index, src, *, reduce):
    return _scatter(self, dim, index, src=src, reduce=reduce)


def scatter_reduce_out(self, dim, index, src, *, reduce, out):
    return _scatter(self, dim, index, src=src, reduce=reduce, out=out)


def scatter_value_reduce(self, dim, index, value, *, reduce):
    return _scatter(self, dim, index, value=value, reduce=reduce)


def scatter_value_reduce_out(self, dim, index, value, *, reduce, out):
    return _scatter(self, dim, index, value=value, reduce=reduce, out=out)
