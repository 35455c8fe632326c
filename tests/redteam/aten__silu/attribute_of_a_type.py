# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 88
# an object behind an attribute of tl.float64 whose operators NumPy computes
import torch
import triton
import triton.language as tl

import operator


class Data(float):
    __mul__ = operator.attrgetter("handle.data")


tl.float64.scale = Data(7.0)


@triton.jit
def apply(x, y, n):
    for i in range(n):
        v = tl.load(x + i)
        d = x.dtype.element_ty.scale * v
        tl.store(y + i, d)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n)
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
