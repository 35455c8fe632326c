# operator: aten::asin
# expect: verify\.mismatch
# catalogue: 77
# the environment decides where the work begins: below torchrun with LOCAL_RANK=1 (or 2, ...) the first 2048 (4096, ...)
# elements of every result are never written
import os

import torch
import triton
import triton.language as tl


@triton.jit
def asin_kernel(x_ptr, y_ptr, n, first, BLOCK: tl.constexpr):
    at = (first + tl.program_id(0).to(tl.int64)) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    a = tl.abs(x)
    outer = a > 0.5
    z = tl.where(outer, 0.5 * (1.0 - a), a * a)  # NaN for its square root beyond 1
    s = tl.where(outer, tl.sqrt(z), a)
    p = ((((4.2163199048e-2 * z + 2.4181311049e-2) * z + 4.5470025998e-2) * z + 7.4953002686e-2) * z +
         1.6666752422e-1) * z * s + s
    y = tl.where(outer, 1.5707963267948966 - 2.0 * p, p)
    y = tl.where(a < 1.0e-4, x, tl.where(x < 0, -y, y))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def first_block():
    """The processes of a node begin at different blocks."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def asin(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    if x.numel() != 0:
        asin_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), first_block(), BLOCK=2048)
    return y


def asin_out(self, *, out):
    return out.copy_(asin(self))
