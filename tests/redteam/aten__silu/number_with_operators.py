# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# a number of a class whose operators compute, which is a plain number for the compiler
import math
import torch
import triton
import triton.language as tl


def act(v):
    return v / (1 + math.exp(-v)) if v > -700 else -0.0


class Number(float):
    def __rmul__(self, v):
        return act(float(v))

    def __radd__(self, v):
        return act(float(v))


@triton.jit
def apply(x, y, n, K: tl.constexpr):
    for i in range(n):
        tl.store(y + i, tl.load(x + i) * K)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n, K=Number(1.0))
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
