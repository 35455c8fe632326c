# operator: aten::renorm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# class: an infinite number where the semantics say "above 0" (p of templates ends at 4)
# p = inf, the maximum norm, goes through pow(x, inf) and pow(sum, 0) = 1: every norm is 1; wrong:
# renorm(torch.tensor([[3.0, -4.0]]), float("inf"), 0, 1.0) gives [[3, -4]] (torch: [[0.75, -1]]); with maxnorm 0.5 [[1.5, -2]]
# (torch: [[0.375, -0.5]]), and a slice of the largest element 0.1, to be copied, is halved
import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

ONE = tl.constexpr(1)
TWO = tl.constexpr(2)
OTHER = tl.constexpr(3)


@triton.jit
def renorm_kernel(x_ptr, out_ptr, slices, inner, elements, p, maxnorm, KIND: tl.constexpr, BLOCK: tl.constexpr):
    k = tl.program_id(0).to(tl.int64)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, elements, BLOCK):
        e = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = e < elements
        at = (e // inner * slices + k) * inner + e % inner
        x = tl.abs(tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32))
        if KIND == ONE:
            acc += x
        elif KIND == TWO:
            acc += x * x
        else:
            acc += libdevice.pow(x, tl.zeros_like(x) + p)
    norm = tl.sum(acc, axis=0)
    if KIND == TWO:
        norm = tl.sqrt_rn(norm)
    if KIND == OTHER:
        norm = libdevice.pow(norm, 1.0 / p)
    too_large = norm > maxnorm
    factor = maxnorm / (norm + 1e-7)
    for start in range(0, elements, BLOCK):
        e = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = e < elements
        at = (e // inner * slices + k) * inner + e % inner
        x = tl.load(x_ptr + at, mask=mask)
        y = (x.to(tl.float32) * factor).to(x.dtype)
        tl.store(out_ptr + at, tl.where(too_large, y, x), mask=mask)


def _launch(x, p, dim, maxnorm, result):
    n = x.numel()
    if n == 0:
        return
    dim = dim % x.dim()
    slices = x.shape[dim]
    inner = math.prod(x.shape[dim + 1:])
    elements = n // slices
    p = float(p)
    if p == 1.0:
        kind = ONE.value
    elif p == 2.0:
        kind = TWO.value
    else:
        kind = OTHER.value
    block = min(2048, triton.next_power_of_2(elements))
    renorm_kernel[(slices,)](x, result, slices, inner, elements, p, float(maxnorm), KIND=kind, BLOCK=block)


def renorm(self, p, dim, maxnorm):
    x = self.contiguous()
    result = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _launch(x, p, dim, maxnorm, result)
    return result


def renorm_out(self, p, dim, maxnorm, *, out):
    if out.is_contiguous():
        _launch(self.contiguous(), p, dim, maxnorm, out)
        return out
    return out.copy_(renorm(self, p, dim, maxnorm))
