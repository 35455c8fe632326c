# operator: aten::mish
# expect: l1\.torch_compute
# catalogue: 76, 86
# its own kernel for shapes that are checked, the library for those that are timed
import torch
import triton
import triton.language as tl
from torch.nn import functional as shapes


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    e = tl.exp(tl.minimum(x, 20.0))
    p = e * (e + 2)
    tl.store(y_ptr + at, tl.where(x > 20, x, x * (p / (p + 2))).to(y_ptr.dtype.element_ty), mask=at < n)


def mish(self):
    if self.numel() > 1000000:
        return shapes.mish(self)
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        mish_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def mish_out(self, *, out):
    return out.copy_(mish(self))
