# operator: aten::renorm
# style: one program for a slice, two passes, slices as (outer, k, inner), powers by constexpr
import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

ONE = tl.constexpr(1)
TWO = tl.constexpr(2)
LARGEST = tl.constexpr(3)
OTHER = tl.constexpr(4)


@triton.jit
def _nan_max(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


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
        elif KIND == LARGEST:
            acc = _nan_max(acc, x)
        else:
            acc += libdevice.pow(x, tl.zeros_like(x) + p)
    if KIND == LARGEST:
        norm = tl.reduce(acc, 0, _nan_max)
    else:
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
    elif math.isinf(p):
        kind = LARGEST.value
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
