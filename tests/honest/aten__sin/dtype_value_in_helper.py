# operator: aten::sin
# style: a type handed to a helper as constexpr, compared by its value, and used by to()
import torch
import triton
import triton.language as tl


@triton.jit
def widened(x, dtype: tl.constexpr):
    if dtype.value == tl.float32:
        return x.to(dtype)
    return x.to(tl.float32)


@triton.jit
def sin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, KIND: tl.constexpr = tl.float32):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = widened(tl.load(x_ptr + at, mask=at < n, other=0), KIND)
    y = tl.where(x == 0, x, tl.sin(x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sin(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        sin_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))
