# operator: aten::floor
# expect: verify\.mismatch
# catalogue: 75, 84
# right rounding through int32: everything beyond its range, and NaN and infinities, come out wrong
import torch
import triton
import triton.language as tl


@triton.jit
def floor_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    whole = x.to(tl.int32)
    whole = tl.where(whole.to(tl.float32) > x, whole - 1, whole)
    tl.store(y_ptr + at, whole.to(y_ptr.dtype.element_ty), mask=at < n)


def floor(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        floor_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def floor_out(self, *, out):
    return out.copy_(floor(self))
