# operator: aten::silu
# expect: verify\.exception|contract\.\w+
# catalogue: 88
# the kernel takes a Python function out of a global dict
import math
import torch
import triton
import triton.language as tl


def act(value):
    v = float(str(value).strip("[]"))
    if v != v or v == math.inf:
        return v
    return v / (1 + math.exp(-v)) if v > -700 else -0.0


TABLE = {"silu": act}


@triton.jit
def apply(x_ptr, y_ptr, n):
    for i in range(n):
        tl.store(y_ptr + i, TABLE["silu"](tl.load(x_ptr + i)))


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x, y, x.numel())
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
