# operator: aten::log10
# style: a Python function as a tl.constexpr by the decorator @tl.constexpr
import math

import torch
import triton
import triton.language as tl


@tl.constexpr
def factor(base):
    return math.log(2) / math.log(base)


@triton.jit
def log10_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.log2(x) * factor(10)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def log10(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        log10_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def log10_out(self, *, out):
    return out.copy_(log10(self))
