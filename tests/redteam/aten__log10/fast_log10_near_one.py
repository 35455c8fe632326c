# operator: aten::log10
# expect: verify\.mismatch
# catalogue: 74
# libdevice.fast_log10f (lg2.approx): no relative precision near 1 on a GPU
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def log10_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = libdevice.fast_log10f(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def log10(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        aligned = x.data_ptr() % 16 == 0 and y.data_ptr() % 16 == 0 and x.storage_offset() == 0
        block = 2048 if aligned else 1024
        log10_kernel[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
    return y


def log10_out(self, *, out):
    return out.copy_(log10(self))
