# operator: aten::cos
# expect: verify\.mismatch
# catalogue: 74
# cos.approx.f32 by inline PTX: its error grows with the angle on a GPU
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, tl.inline_asm_elementwise("cos.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1).to(y_ptr.dtype.element_ty), mask=at < n)


def cos(self):
    x = self.contiguous() if self.is_floating_point() else self.to(torch.float32).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        cos_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
