# operator: aten::hardsigmoid
# expect: verify\.mismatch
# catalogue: 79
# float32 goes through bfloat16 on its way
import torch
import triton
import triton.language as tl


@triton.jit
def line_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.minimum(tl.maximum(x.to(tl.bfloat16).to(tl.float32) * (1.0 / 6.0) + 0.5, 0.0), 1.0)
    tl.store(y_ptr + at, tl.where(x == x, y, x).to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        line_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
