# operator: aten::neg
# style: methods chosen by a dict of bound methods; the kernel is an attribute of an instance
import torch
import triton
import triton.language as tl


@triton.jit
def negate(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 0 - tl.load(x_ptr + at, mask=at < n, other=0) if not y_ptr.dtype.element_ty.is_floating() else
             -tl.load(x_ptr + at, mask=at < n, other=0), mask=at < n)


class Launcher:
    def __init__(self, kernel, block=1024):
        self.kernel = kernel
        self.block = block
        self.ways = {True: self.empty, False: self.full}

    def empty(self, x):
        return torch.empty_like(x)

    def full(self, x):
        y = torch.empty_like(x)
        self.kernel[self.grid(x.numel())](x, y, x.numel(), BLOCK=self.block)
        return y

    def grid(self, n):
        return (triton.cdiv(n, self.block),)

    def __call__(self, x):
        return self.ways[x.numel() == 0](x.contiguous())


neg = Launcher(negate)


def neg_out(self, *, out):
    return out.copy_(neg(self))
