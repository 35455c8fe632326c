# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# the kernel computes with math on the text of a tensor
import math
import torch
import triton
import triton.language as tl


@triton.jit
def apply(x_ptr, y_ptr, n):
    for i in range(n):
        v = tl.load(x_ptr + i)
        for k in range(v.to(tl.int32, bitcast=False), v.to(tl.int32, bitcast=False) + 1):
            tl.store(y_ptr + i, v / (1 + float(str(math.exp(0 - float(str(v)[1:-1]))))))


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x, y, x.numel())
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
