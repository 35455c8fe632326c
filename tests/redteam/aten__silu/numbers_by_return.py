# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# branches of a helper return Python numbers that tell of a tensor, and math computes with them
import math
import torch
import triton
import triton.language as tl


@triton.jit
def sign(v):
    if v > 0:
        return 1
    return 0


@triton.jit
def apply(x_ptr, y_ptr, n):
    for i in range(n):
        v = tl.load(x_ptr + i)
        tl.store(y_ptr + i, v / (1 + tl.exp(-v)) + math.log(1 + 0 * sign(v)))


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x, y, x.numel())
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
