# operator: aten::special_entr
# style: a star import of triton.language, names used without a prefix
import torch
import triton
from triton.language import *
import triton.language as tl


@triton.jit
def entropy_kernel(x_ptr, y_ptr, n, BLOCK: constexpr):
    at = program_id(0) * BLOCK + arange(0, BLOCK)
    x = load(x_ptr + at, mask=at < n, other=1).to(float32)
    y = -x * log(where(x > 0, x, 1.0))
    y = where(x > 0, y, where(x == 0, 0.0, where(x < 0, float("-inf"), x)))
    store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def special_entr(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        entropy_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
