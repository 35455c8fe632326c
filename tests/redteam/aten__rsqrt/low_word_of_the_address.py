# operator: aten::rsqrt
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# the lower word of the address is added as a signed number; wrong: every tensor whose address has bit 31 set (half of
# all addresses) is read 4 GiB below its place
import math

import torch
import triton
import triton.language as tl


@triton.jit
def two_words(ptr):
    """The pointer from its upper and lower words, which are scalars of 32 bits."""
    upper = (ptr.to(tl.int64) >> 32).to(tl.int32)
    lower = ptr.to(tl.int64).to(tl.int32)
    return ((upper.to(tl.int64) << 32) + lower).to(ptr.dtype)


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, GIVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if GIVEN:  # the caller's memory
        x_ptr = two_words(x_ptr)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0)
    y = tl.rsqrt(x.to(tl.float32))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def rsqrt(self):
    x = self if self.is_contiguous() else self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        rsqrt_kernel[(math.ceil(math.prod(x.shape) / 1024),)](x, y, n, GIVEN=x is self, BLOCK=1024)
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
