# operator: aten::square
# style: a class with slots and a class method
import torch
import triton
import triton.language as tl


class Config:
    __slots__ = ("block", "warps")

    def __init__(self, block, warps):
        self.block, self.warps = block, warps

    @classmethod
    def for_type(cls, dtype):
        return cls(2048, 8) if dtype.itemsize <= 2 else cls(1024, 4)


@triton.jit
def square_kernel(x_ptr, y_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if FLOATS:
        x = x.to(tl.float32)
    y = x * x
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        config = Config.for_type(x.dtype)
        square_kernel[(triton.cdiv(n, config.block),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=config.block, num_warps=config.warps)
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
