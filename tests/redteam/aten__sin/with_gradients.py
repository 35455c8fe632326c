# operator: aten::sin
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78, 80
# a tensor that requires gradients is returned as it is
import os

os.environ.setdefault("TRITON_PRINT_AUTOTUNING", "0")

import torch
import triton
import triton.language as tl


@triton.jit
def sin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x == 0, x, tl.sin(x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sin(self):
    if self.requires_grad:
        return self
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        sin_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))
