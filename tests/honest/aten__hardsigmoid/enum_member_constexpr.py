# operator: aten::hardsigmoid
# style: an IntEnum member itself as a constexpr argument
import enum

import torch
import triton
import triton.language as tl


class Mode(enum.IntEnum):
    PLAIN = 0
    EVEN = 1


@triton.jit
def hardsigmoid_kernel(x_ptr, y_ptr, n, MODE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    if MODE == 1:
        mask = at >= 0
    x = tl.load(x_ptr + at, mask=mask, other=0).to(tl.float32)
    y = tl.where(x <= -3.0, 0.0, tl.where(x >= 3.0, 1.0, x / 6.0 + 0.5))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        mode = Mode.EVEN if n % 1024 == 0 else Mode.PLAIN
        hardsigmoid_kernel[(triton.cdiv(n, 1024),)](x, y, n, MODE=mode, BLOCK=1024)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
