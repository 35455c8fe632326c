# operator: aten::cos
# style: tl.math and triton.language.math by both names; absolute values by both
import torch
import triton
import triton.language as tl
import triton.language.math as tlm


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tlm.cos(tl.math.abs(x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def cos(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        cos_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
