# operator: aten::square
# style: and, or and not over constexprs, chained comparisons of constants, a conditional expression
import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, FLOATS: tl.constexpr, DEBUG: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN and not DEBUG:
        x = tl.load(x_ptr + at)
    else:
        x = tl.load(x_ptr + at, mask=at < n, other=0)
    if (FLOATS or DEBUG) and BLOCK <= 65536:
        x = x.to(tl.float32)
    y = x * x
    if EVEN or (BLOCK < 1 and DEBUG):
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty))
    else:
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        square_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, EVEN=n % 1024 == 0, FLOATS=x.is_floating_point(), DEBUG=False)
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
