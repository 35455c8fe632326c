# operator: aten::special_entr
# style: a kernel looked up by getattr with a computed name on a namespace of kernels
import torch
import triton
import triton.language as tl


@triton.jit
def entr_forward(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x > 0, -x * tl.log(tl.where(x > 0, x, 1.0)), tl.where(x == 0, 0.0, tl.where(x < 0, float("-inf"), x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


class Kernels:
    forward = staticmethod(entr_forward)


def special_entr(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        kernel = getattr(Kernels, "for" + "ward")
        kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
