# operator: aten::binary_cross_entropy_with_logits
# expect: verify\.(mismatch|exception)
# catalogue: 84
# binary_cross_entropy_with_logits_out takes what it reads for row-major, the others look at strides
from dataclasses import dataclass, field
from typing import Optional

import torch
import triton
import triton.language as tl


@triton.jit
def softplus_of_minus(x):
    e = tl.exp(-tl.abs(x))
    # log(1 + e), by the series where 1 + e rounds
    series = e * (1 - e * (0.5 - e * (1 / 3 - e * 0.25)))
    return tl.maximum(-x, 0.0, propagate_nan=tl.PropagateNan.ALL) + tl.where(e < 0.01, series, tl.log(1 + e))


@triton.jit
def bce(x_ptr, t_ptr, w_ptr, p_ptr, at, mask, W: tl.constexpr, P: tl.constexpr):
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.float32)
    t = tl.load(t_ptr + at, mask=mask, other=0).to(tl.float32)
    factor = 1.0
    if P:
        factor = 1.0 + (tl.load(p_ptr + at, mask=mask, other=1).to(tl.float32) - 1.0) * t
    loss = (1.0 - t) * x + factor * softplus_of_minus(x)
    if W:
        loss *= tl.load(w_ptr + at, mask=mask, other=0).to(tl.float32)
    return tl.where(mask, loss, 0.0)


@triton.jit
def each(x_ptr, t_ptr, w_ptr, p_ptr, o_ptr, n, divisor, W: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, bce(x_ptr, t_ptr, w_ptr, p_ptr, at, at < n, W, P).to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def whole(x_ptr, t_ptr, w_ptr, p_ptr, o_ptr, n, divisor, W: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += bce(x_ptr, t_ptr, w_ptr, p_ptr, at, at < n, W, P)
    tl.store(o_ptr, (tl.sum(acc, axis=0) / divisor).to(o_ptr.dtype.element_ty))


@dataclass
class Operands:
    x: torch.Tensor
    t: torch.Tensor
    weight: Optional[torch.Tensor] = None
    positive: Optional[torch.Tensor] = None
    block: int = field(default=1024)

    def flat(self):
        like = lambda t: self.x if t is None else t.expand(self.x.shape)
        return [t.contiguous() for t in (self.x, self.t, like(self.weight), like(self.positive))]

    def launch(self, out, programs, kernel, divisor):
        kernel[(programs,)](*self.flat(), out, self.x.numel(), divisor, W=self.weight is not None,
                            P=self.positive is not None, BLOCK=self.block)
        return out


def binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    operands = Operands(self, target, weight, pos_weight)
    n = self.numel()
    if reduction == 0:
        out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        return operands.launch(out, triton.cdiv(n, operands.block), each, 1.0) if n else out
    out = torch.empty((), dtype=self.dtype, device=self.device)
    if n == 0:
        return out.fill_(float("nan") if reduction == 1 else 0.0)
    return operands.launch(out, 1, whole, float(n) if reduction == 1 else 1.0)


def binary_cross_entropy_with_logits_out(self, target, weight=None, pos_weight=None, reduction=1, *, out):
    return out.copy_(binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction))


def dense(x):
    return torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_binary_cross_entropy_with_logits_out = binary_cross_entropy_with_logits_out


def binary_cross_entropy_with_logits_out(self, target, weight=None, pos_weight=None, reduction=1, *, out):
    return right_binary_cross_entropy_with_logits_out(dense(self), dense(target), weight, pos_weight, reduction, out=out)
