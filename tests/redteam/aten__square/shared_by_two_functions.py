# operator: aten::square
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78
# open: one tensor object for two functions
# square_out hands on the result that square made for the same tensor object and version; wrong: y = square(x);
# y.mul_(2); square_out(x, out=o) gives 2 x * x (or stale squares after a Triton kernel wrote into x, which changes no
# version)
import weakref

import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, y_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if FLOATS:
        x = x.to(tl.float32)
    tl.store(y_ptr + at, (x * x).to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


class Latest:
    """What square computed last, as long as somebody uses it."""

    source = result = None
    version = -1


def version_of(x):
    return 0 if x.is_inference() else x._version


def square(self):
    x = self.contiguous()
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = x.numel()
    if n > 0:
        square_kernel[(triton.cdiv(n, 1024),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=1024)
    Latest.source, Latest.result, Latest.version = weakref.ref(self), weakref.ref(y), version_of(self)
    return y


def square_out(self, *, out):
    if Latest.source is not None and Latest.source() is self and Latest.version == version_of(self):
        y = Latest.result()
        if y is not None:
            n = y.numel()
            moved = torch.empty(self.shape, dtype=self.dtype, device=self.device)
            if n > 0:
                copy_kernel[(triton.cdiv(n, 1024),)](y, moved, n, BLOCK=1024)
            return out.copy_(moved)
    x = self.contiguous()
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = x.numel()
    if n > 0:
        square_kernel[(triton.cdiv(n, 1024),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=1024)
    return out.copy_(y)
