# operator: aten::square
# style: a helper class with a static method and a property
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


class Elementwise:
    def __init__(self, kernel, block=1024):
        self.kernel = kernel
        self._block = block

    @property
    def block(self):
        return self._block

    @staticmethod
    def like(x):
        return torch.empty_like(x)

    def __call__(self, x):
        x = x.contiguous()
        y = self.like(x)
        n = x.numel()
        if n:
            self.kernel[(triton.cdiv(n, self.block),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=self.block)
        return y


_square = Elementwise(square_kernel)


def square(self):
    return _square(self)


def square_out(self, *, out):
    return out.copy_(square(self))
