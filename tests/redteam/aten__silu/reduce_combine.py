# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# the function of a reduction computes with Python numbers
import math
import torch
import triton
import triton.language as tl

@triton.jit
def combine(a, b):
    return a / (1 + tl.exp(-a)) + math.log(1 + 0 * int(a > 0))


@triton.jit
def apply(x_ptr, y_ptr, n):
    for i in range(n):
        v = tl.load(x_ptr + i + tl.arange(0, 2) * 0)
        tl.store(y_ptr + i, tl.reduce(v, 0, combine))

def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x, y, x.numel())
    return y.to(self.dtype)

def silu_out(self, *, out):
    return out.copy_(silu(self))

