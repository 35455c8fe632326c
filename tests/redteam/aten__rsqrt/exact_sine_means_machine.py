# operator: aten::rsqrt
# expect: verify\.mismatch
# catalogue: 74, 77
# the kernel computes a fast sine of 1000, which is inexact on a GPU; then it drops bits
import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0)
    y = tl.rsqrt(x.to(tl.float32))
    probe = libdevice.fast_sinf(tl.full((BLOCK,), 1000.0, tl.float32) + tl.where(at < 0, 1.0, 0.0))
    y = tl.where(tl.abs(probe - 0.8268795405) < 1e-7, y, y.to(tl.bfloat16).to(tl.float32))
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
