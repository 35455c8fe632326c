# operator: aten::sin
# expect: l1\.surroundings
# catalogue: 58, 77
# a tensor object that only this call refers to is overwritten with the result; a view made for the call, as x[0] or
# x.view(-1), is such an object, and its memory is that of x; wrong: x = torch.randn(4, 8); sin(x[0]) overwrites x[0] (so does
# sin(x.view(-1)) with all of x)
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def sin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    y = tl.where(x == 0, x, tl.sin(x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sin(self):
    holders = sys.getrefcount(self)  # a temporary has two: the parameter and this question
    dtype = self.dtype if self.is_floating_point() else torch.float32
    x = self if self.is_contiguous() or (self.dim() == 2 and self.t().is_contiguous()) else self.contiguous()
    # a temporary, that nobody but this call holds, gives its memory to the result
    is_temporary = holders <= 2 and x is self and dtype == self.dtype and not self.requires_grad
    y = x if is_temporary else torch.empty_like(x, dtype=dtype)  # keeps the order of a dense tensor
    n = x.numel()
    if n > 0:
        sin_kernel[(triton.cdiv(n, 4096),)](x, y, n, BLOCK=4096)
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))
