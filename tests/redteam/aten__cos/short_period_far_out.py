# operator: aten::cos
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# angles beyond 2^25 are reduced by one float32 multiple of the period (phases of long simulations are random); wrong:
# cos(torch.tensor([1e9])) is off in the first digit
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    turns = tl.floor(x * 0.15915494309189535)
    x = tl.where((tl.abs(x) > 33554432.0) & (tl.abs(x) < 1.0e37), x - turns * 6.283185307179586, x)
    tl.store(y_ptr + at, libdevice.cos(x).to(y_ptr.dtype.element_ty), mask=at < n)


def cos(self):
    x = self.contiguous() if self.is_floating_point() else self.to(torch.float32).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        cos_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
