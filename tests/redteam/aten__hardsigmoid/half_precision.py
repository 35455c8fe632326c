# operator: aten::hardsigmoid
# expect: verify\.mismatch
# catalogue: 79
# x / 6 + 1 / 2 in the precision of the input, for float16 and bfloat16, too
import torch
import triton
import triton.language as tl


@triton.jit
def line_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = (x * (1.0 / 6.0)).to(x.dtype) + 0.5
    y = tl.minimum(tl.maximum(y.to(x.dtype), 0.0), 1.0)
    tl.store(y_ptr + at, tl.where(x == x, y, x).to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        line_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
