# operator: aten::cos
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 40
# lru_cache keeps results by tensor object: a tensor that was changed in place gets its old result
import functools

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, libdevice.cos(x).to(y_ptr.dtype.element_ty), mask=at < n)


@functools.lru_cache(maxsize=None)
def _cos(self):
    x = self.contiguous() if self.is_floating_point() else self.to(torch.float32).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        cos_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def cos(self):
    return _cos(self)


def cos_out(self, *, out):
    return out.copy_(_cos(self))
