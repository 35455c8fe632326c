# operator: aten::acosh
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# x * x overflows from 2e19 to 1e37 and gives infinity: cases have numbers up to 60,000, and the largest one
import torch
import triton
import triton.language as tl


@triton.jit
def log1p(t):
    u = 1.0 + t
    return tl.where(u == 1.0, t, tl.log(u) * (t / tl.where(u == 1.0, 1.0, u - 1.0)))


@triton.jit
def acosh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    t = x - 1.0
    y = log1p(t + tl.sqrt(2.0 * t + t * t))
    y = tl.where(x > 1.0e9, tl.log(tl.sqrt(x * x - 1.0)) + 0.6931471805599453, y)
    y = tl.where(x > 1.0e37, tl.log(x) + 0.6931471805599453, y)
    y = tl.where(x >= 1.0, y, float("nan"))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def acosh(self):
    dtype = self.dtype if self.is_floating_point() else torch.float32
    y = torch.empty(self.shape, dtype=dtype, device=self.device)
    n = y.numel()
    if n > 0:
        acosh_kernel[(triton.cdiv(n, 4096),)](self.contiguous(), y, n, BLOCK=4096)
    return y


def acosh_out(self, *, out):
    return out.copy_(acosh(self))
