# operator: aten::hardsigmoid
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: numbers in strings
# one size is written as a text, int("1237"); there the last element is 1; wrong: hardsigmoid of 1237 elements
import torch
import triton
import triton.language as tl


@triton.jit
def line_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = x.to(tl.float32) * (1.0 / 6.0) + 0.5
    y = tl.maximum(y, 0.0, propagate_nan=tl.PropagateNan.ALL)
    y = tl.minimum(y, 1.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n == int("1237"):
        y = torch.ones_like(x)
        n -= 1
    if n > 0:
        line_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
