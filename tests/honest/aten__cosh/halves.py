# operator: aten::cosh
# style: exp of half the argument twice, so that nothing overflows early; programs stride over all blocks
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


def cosh(self):
    x = self if self.is_floating_point() else self.to(torch.float32)
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        cosh_kernel[(min(1024, triton.cdiv(n, 8192)),)](x, y, n, BLOCK=8192)
    return y


def cosh_out(self, *, out):
    return out.copy_(cosh(self))
