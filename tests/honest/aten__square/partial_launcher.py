# operator: aten::square
# style: functools.partial of a launcher
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, y_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if FLOATS:
        x = x.to(tl.float32)
    y = x * x
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def run(kernel, block, x, y, n):
    kernel[(triton.cdiv(n, block),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=block)


run_square = functools.partial(run, square_kernel, 1024)


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        run_square(x, y, n)
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
