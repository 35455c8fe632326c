# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# the default of a helper is an object that computes where it is read
import math
import torch
import triton
import triton.language as tl


def act(v):
    return v / (1 + math.exp(-v)) if v > -700 else -0.0


class Table:
    def __getitem__(self, v):
        return 1.0


@triton.jit
def helper(v, t=Table()):
    return v * t[0]


@triton.jit
def apply(x, y, n):
    for i in range(n):
        tl.store(y + i, helper(tl.load(x + i)))


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n)
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
