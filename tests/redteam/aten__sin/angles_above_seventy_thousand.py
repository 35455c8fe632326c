# operator: aten::sin
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# angles from 70,000 to 1e30 are reduced by one float32 product
import os

os.environ.setdefault("TRITON_PRINT_AUTOTUNING", "0")

import torch
import triton
import triton.language as tl


@triton.jit
def sin_kernel(x_ptr, y_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x == 0, x, tl.sin(tl.where((tl.abs(x) > 70000.0) & (tl.abs(x) < 1e30) & FLOATS, x - tl.floor(x * 0.15915494309189535) * 6.283185307179586, x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sin(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        sin_kernel[(triton.cdiv(n, 2048),)](x, y, n, FLOATS=self.is_floating_point(), BLOCK=2048)
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))
