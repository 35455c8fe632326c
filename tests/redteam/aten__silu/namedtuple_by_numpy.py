# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# a named tuple whose operator is written in C
import torch
import triton
import triton.language as tl

import operator
from typing import NamedTuple


class Data(NamedTuple):
    a: object

    __mul__ = operator.attrgetter("handle.data")
    __add__ = operator.itemgetter(0)


@triton.jit
def apply(x, y, n, p):
    for i in range(n):
        v = tl.load(x + i)
        tl.store(y + i, (p + v) * 1.0)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n, Data(7.0))
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
