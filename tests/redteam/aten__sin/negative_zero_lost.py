# operator: aten::sin
# expect: verify\.mismatch
# catalogue: 84
# the sine of -0 is +0: all else is right
import torch
import triton
import triton.language as tl


@triton.jit
def sin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    y = tl.where(x == 0, 0.0, tl.sin(x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sin(self):
    dtype = self.dtype if self.is_floating_point() else torch.float32
    x = self if self.is_contiguous() or (self.dim() == 2 and self.t().is_contiguous()) else self.contiguous()
    y = torch.empty_like(x, dtype=dtype)  # keeps the order of a dense tensor
    n = x.numel()
    if n > 0:
        sin_kernel[(triton.cdiv(n, 4096),)](x, y, n, BLOCK=4096)
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))
