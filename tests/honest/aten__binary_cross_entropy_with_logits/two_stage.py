# operator: aten::binary_cross_entropy_with_logits
# style: fresh round of 2026-11-30
import enum

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


class Reduction(enum.IntEnum):
    NONE = 0
    MEAN = 1
    SUM = 2


@triton.jit
def bce_term(x, t, w, p):
    softplus_neg = libdevice.log1p(tl.exp(-tl.abs(x))) + tl.maximum(-x, 0.0)
    return ((1.0 - t) * x + (1.0 + (p - 1.0) * t) * softplus_neg) * w


@triton.jit
def bce_elementwise(x_ptr, t_ptr, w_ptr, p_ptr, y_ptr, n,
                    HAS_W: tl.constexpr, HAS_P: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + i, mask=m, other=0.0).to(tl.float32)
    w = 1.0
    p = 1.0
    if HAS_W:
        w = tl.load(w_ptr + i, mask=m, other=0.0).to(tl.float32)
    if HAS_P:
        p = tl.load(p_ptr + i, mask=m, other=1.0).to(tl.float32)
    tl.store(y_ptr + i, bce_term(x, t, w, p).to(y_ptr.dtype.element_ty), mask=m)


@triton.jit
def bce_partial(x_ptr, t_ptr, w_ptr, p_ptr, part_ptr, n, per_program,
                HAS_W: tl.constexpr, HAS_P: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    begin = pid * per_program
    end = tl.minimum(begin + per_program, n)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < end
        x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
        t = tl.load(t_ptr + i, mask=m, other=0.0).to(tl.float32)
        w = 1.0
        p = 1.0
        if HAS_W:
            w = tl.load(w_ptr + i, mask=m, other=0.0).to(tl.float32)
        if HAS_P:
            p = tl.load(p_ptr + i, mask=m, other=1.0).to(tl.float32)
        acc += tl.where(m, bce_term(x, t, w, p), 0.0)
    tl.store(part_ptr + pid, tl.sum(acc, axis=0))


@triton.jit
def bce_finish(part_ptr, y_ptr, parts, n, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(part_ptr + i, mask=i < parts, other=0.0), axis=0)
    if MEAN:
        total = total / n
    tl.store(y_ptr, total.to(y_ptr.dtype.element_ty))


def _flat(t, shape):
    return None if t is None else t.expand(shape).contiguous().view(-1)


def _compute(self, target, weight, pos_weight, reduction):
    shape = self.shape
    n = self.numel()
    x, t = _flat(self, shape), _flat(target, shape)
    w, p = _flat(weight, shape), _flat(pos_weight, shape)
    flags = dict(HAS_W=w is not None, HAS_P=p is not None)
    w = x if w is None else w
    p = x if p is None else p
    if reduction == Reduction.NONE:
        y = torch.empty(shape, dtype=self.dtype, device=self.device)
        if n:
            bce_elementwise[(triton.cdiv(n, 1024),)](x, t, w, p, y, n, BLOCK=1024, **flags)
        return y
    y = torch.empty((), dtype=self.dtype, device=self.device)
    if n == 0:
        return y.fill_(float("nan") if reduction == Reduction.MEAN else 0.0)
    BLOCK = 512
    parts = min(triton.cdiv(n, BLOCK), 256)
    per_program = triton.cdiv(triton.cdiv(n, parts), BLOCK) * BLOCK
    parts = triton.cdiv(n, per_program)
    partial = torch.empty(parts, dtype=torch.float32, device=self.device)
    bce_partial[(parts,)](x, t, w, p, partial, n, per_program, BLOCK=BLOCK, **flags)
    bce_finish[(1,)](partial, y, parts, n, MEAN=reduction == Reduction.MEAN, BLOCK=triton.next_power_of_2(parts))
    return y


def binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    return _compute(self, target, weight, pos_weight, reduction)


def binary_cross_entropy_with_logits_out(self, target, weight=None, pos_weight=None, reduction=1, *, out):
    out.copy_(_compute(self, target, weight, pos_weight, reduction))
    return out
