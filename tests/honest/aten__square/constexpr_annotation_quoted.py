# operator: aten::square
# style: constexpr parameters annotated with a string; a helper that returns in both branches of a constant
import torch
import triton
import triton.language as tl


@triton.jit
def times(a, b, WIDE: "tl.constexpr"):
    if WIDE:
        return a.to(tl.float32) * b.to(tl.float32)
    else:
        return a * b


@triton.jit
def square_kernel(x_ptr, y_ptr, n, FLOATS: "tl.constexpr", BLOCK: "tl.constexpr"):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + at, times(x, x, FLOATS).to(y_ptr.dtype.element_ty), mask=at < n)


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        square_kernel[(triton.cdiv(n, 1024),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=1024)
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
