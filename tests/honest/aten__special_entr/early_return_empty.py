# operator: aten::special_entr
# style: returns early for empty tensors with empty_like
import torch
import triton
import triton.language as tl


@triton.jit
def special_entr_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    y = -x * tl.log(tl.where(x > 0, x, 1.0))
    y = tl.where(x > 0, y, tl.where(x == 0, 0.0, tl.where(x < 0, float("-inf"), x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def special_entr(self):
    if self.numel() == 0:
        return torch.empty_like(self, dtype=self.dtype if self.is_floating_point() else torch.float32)
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if True:
        special_entr_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
