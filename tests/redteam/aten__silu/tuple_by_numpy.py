# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# a tuple of Triton's own that holds a number whose operator leads to NumPy
import torch
import triton
import triton.language as tl

import operator


class Data(float):
    __mul__ = operator.attrgetter("handle.data")


PAIR = tl.constexpr(tl.core.tuple([Data(7.0), Data(2.0)]))


@triton.jit
def apply(x, y, n):
    for i in range(n):
        v = tl.load(x + i)
        tl.store(y + i, (PAIR[0] * v) / (1 + tl.exp(-v)))


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n)
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
