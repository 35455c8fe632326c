# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# a constexpr function is called with tensors
import math
import torch
import triton
import triton.language as tl


@triton.constexpr_function
def act(value):
    v = float(str(value).strip("[]"))
    return v / (1 + math.exp(-v))


@triton.jit
def apply(x_ptr, y_ptr, n):
    for i in range(n):
        tl.store(y_ptr + i, act(tl.load(x_ptr + i)))


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x, y, x.numel())
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
