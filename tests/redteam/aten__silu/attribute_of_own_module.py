# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 88
# a function behind an attribute of a module that changes after it was compiled
import math
import torch
import triton
import triton.language as tl


def act(v):
    return v / (1 + math.exp(-v)) if v > -700 else -0.0


@triton.jit
def harmless(v):
    return v


tl.my_function = harmless


@triton.jit
def apply(x, y, n):
    for i in range(n):
        tl.store(y + i, tl.my_function(tl.load(x + i)))


def grid(args):
    tl.my_function = act
    return (1,)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n)
        apply[grid](x, y, n)
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
