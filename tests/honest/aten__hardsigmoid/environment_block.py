# operator: aten::hardsigmoid
# style: a block size that may come from the environment
import os

import torch
import triton
import triton.language as tl

BLOCK = int(os.environ.get("HARDSIGMOID_BLOCK", "2048"))
DEBUG = os.getenv("HARDSIGMOID_DEBUG", "0") == "1"


@triton.jit
def hardsigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x <= -3.0, 0.0, tl.where(x >= 3.0, 1.0, x / 6.0 + 0.5))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        if DEBUG:
            print(n)
        hardsigmoid_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
