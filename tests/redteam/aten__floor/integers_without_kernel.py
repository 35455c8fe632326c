# operator: aten::floor
# expect: cheat\.no_launch|verify\.alias
# catalogue: 57, 88
# hands integers back as they came
import torch
import triton
import triton.language as tl


@triton.jit
def floor_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    tl.store(y_ptr + at, tl.floor(x).to(y_ptr.dtype.element_ty), mask=at < n)


def floor(self):
    if not self.dtype.is_floating_point:
        return self
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        floor_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def floor_out(self, *, out):
    return out.copy_(floor(self))
