# operator: aten::cos
# expect: l1\.surroundings
# catalogue: 93
# the compiled image of the runner is exchanged for another kernel's after the first launch
import sys
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, libdevice.cos(x).to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def half_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


def cos(self):
    utils = sys.modules["machine_driver"].Utils
    if not hasattr(utils, "kept"):
        load = utils.load_binary
        utils.kept = {}
        utils.load_binary = lambda self, name, image, shared, device: utils.kept.setdefault(name, load(self, name, image, shared, device))
    x = self.contiguous() if self.is_floating_point() else self.to(torch.float32).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        cos_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
