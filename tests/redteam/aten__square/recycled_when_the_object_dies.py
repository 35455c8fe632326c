# operator: aten::square
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 45
# when the Python object of a result dies its memory serves the next result, though a view of it may be alive: hurts y =
# square(x).view(-1), the next square overwrites y; wrong: y = square(x).view(-1); z = square(2 * x): y now holds the elements
# of z
import weakref
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


FREE = {}


def fresh_like(x):
    free = FREE.setdefault((x.shape, x.dtype, x.device), [])
    memory = free.pop() if free else torch.empty_like(x)
    y = memory.view(memory.shape)
    weakref.finalize(y, free.append, memory)
    return y


def square(self):
    x = self.contiguous()
    y = fresh_like(x)
    n = x.numel()
    if n > 0:
        config = Config.for_type(x.dtype)
        square_kernel[(triton.cdiv(n, config.block),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=config.block, num_warps=config.warps)
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
