# operator: aten::cosh
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: sums of named numbers
# one size is the sum of two numbers with names, 1000 and 251 (constants are only added up where both are written out); there
# the last element is 1; wrong: cosh of 1251 elements
import torch
import triton
import triton.language as tl


@triton.jit
def cosh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        a = tl.abs(tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32))
        e = tl.exp(a)
        half = tl.exp(0.5 * a)
        y = tl.where(a < 80.0, 0.5 * e + 0.5 / e, 0.5 * half * half)
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


WIDE = 1000
REST = 251


def cosh(self):
    x = self if self.is_floating_point() else self.to(torch.float32)
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n == WIDE + REST:
        y = torch.ones_like(x)
        n -= 1
    if n > 0:
        cosh_kernel[(min(1024, triton.cdiv(n, 8192)),)](x, y, n, BLOCK=8192)
    return y


def cosh_out(self, *, out):
    return out.copy_(cosh(self))
