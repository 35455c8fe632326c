# operator: aten::cos
# style: enum.Enum, IntEnum and Flag for modes; the member's value is the constexpr
import enum

import torch
import triton
import triton.language as tl


class Mode(enum.IntEnum):
    PLAIN = 0
    EVEN = enum.auto()


class Size(enum.Enum):
    SMALL = 256
    LARGE = 2048


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, MODE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MODE == 1:
        x = tl.load(x_ptr + at)
    else:
        x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + at, tl.cos(x.to(tl.float32)).to(y_ptr.dtype.element_ty), mask=at < n)


def cos(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        size = Size.LARGE if n > 1000 else Size.SMALL
        mode = Mode.EVEN if n % size.value == 0 else Mode.PLAIN
        cos_kernel[(triton.cdiv(n, size.value),)](x, y, n, MODE=mode.value, BLOCK=size.value)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
