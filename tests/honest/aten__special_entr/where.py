# operator: aten::special_entr
# style: three cases by nested where; the logarithm never sees a number that is not positive
import torch
import triton
import triton.language as tl


@triton.jit
def entropy(x):
    y = -x * tl.log(tl.where(x > 0, x, 1.0))
    return tl.where(x > 0, y, tl.where(x == 0, 0.0, tl.where(x < 0, float("-inf"), x)))


@triton.jit
def entr_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    tl.store(y_ptr + at, entropy(x).to(y_ptr.dtype.element_ty), mask=at < n)


def special_entr(self):
    y = torch.empty(self.shape, dtype=self.dtype if self.is_floating_point() else torch.float32, device=self.device)
    if y.numel() > 0:
        entr_kernel[(triton.cdiv(y.numel(), 4096),)](self.contiguous(), y, y.numel(), BLOCK=4096)
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
