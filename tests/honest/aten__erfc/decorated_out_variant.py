# operator: aten::erfc
# style: libdevice, decorator for the out variant, self-test under __main__
"""erfc(x) for every floating type (through float32) and for integers (to float32)."""
import functools

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)


@triton.jit
def _erfc_fwd(src, dst, numel, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    offs = start + tl.arange(0, BLOCK)
    keep = offs < numel
    x = tl.load(src + offs, mask=keep, other=0).to(tl.float32)
    y = libdevice.erfc(x)
    tl.store(dst + offs, y.to(dst.dtype.element_ty), mask=keep)


def _elementwise(fn):
    """Turns a function of two flat, equally shaped contiguous tensors into one of (self, out)."""

    @functools.wraps(fn)
    def wrapper(self, out=None):
        dtype = self.dtype if self.dtype in _FLOATS else torch.float32
        src = self.detach().contiguous()
        if out is not None and out.is_contiguous():
            dst = out
        else:
            dst = torch.empty(self.shape, dtype=dtype, device=self.device)
        if src.numel():
            fn(src, dst)
        if out is None:
            return dst
        if dst is not out:
            out.copy_(dst)
        return out

    return wrapper


@_elementwise
def _launch(src, dst):
    n = src.numel()
    _erfc_fwd[(triton.cdiv(n, 1024),)](src, dst, n, BLOCK=1024)


def erfc(self):
    return _launch(self)


def erfc_out(self, *, out):
    return _launch(self, out)


if __name__ == "__main__":
    for dt in _FLOATS:
        t = torch.randn(1000, device="cuda").to(dt) * 3
        torch.testing.assert_close(erfc(t), torch.special.erfc(t))
    print("ok")
