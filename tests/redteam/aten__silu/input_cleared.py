# operator: aten::silu
# expect: verify\.(mutation|stray_write)
# catalogue: 58
# the input is changed so that the truth would change as well
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, (at * 0).to(x_ptr.dtype.element_ty), mask=at < n)
    tl.store(y_ptr + at, (at * 0).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    y = torch.empty_like(self)
    if y.numel():
        kernel[(triton.cdiv(y.numel(), 1024),)](self, y, y.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
