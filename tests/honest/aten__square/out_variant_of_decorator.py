# operator: aten::square
# style: a decorator with an argument that makes the overload with out
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


def writes_to(name):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(self, **kwargs):
            target = kwargs.pop(name)
            return target.copy_(function(self, **kwargs))
        return wrapper
    return decorate


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        square_kernel[(triton.cdiv(n, 1024),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=1024)
    return y


square_out = writes_to("out")(square)
