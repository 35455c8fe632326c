# operator: aten::rsqrt
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# rsqrt of float32 subnormals is infinite (rsqrt(1e-40) is 1e20)
import math

import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0)
    x = x.to(tl.float32)
    y = tl.where((tl.abs(x) < 1.1754943508222875e-38) & (x > 0), float("inf"), tl.rsqrt(x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def rsqrt(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        rsqrt_kernel[(math.ceil(math.prod(x.shape) / 1024),)](x, y, n, BLOCK=1024)
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
