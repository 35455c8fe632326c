# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# an annotation in a kernel is a call
import math
import torch
import triton
import triton.language as tl


def act(v):
    return v / (1 + math.exp(-v)) if v > -700 else -0.0


@triton.jit
def apply(x, y, n, F: tl.constexpr):
    for i in range(n):
        v: F(1.0) = tl.load(x + i)
        tl.store(y + i, v)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n, F=act)
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
