# operator: aten::mish
# expect: verify\.mismatch
# catalogue: 75, 79
# the plain formula: exp overflows for outliers, and infinity over infinity is NaN
import torch
import triton
import triton.language as tl


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    e = tl.exp(x)
    p = e * (e + 2)
    tl.store(y_ptr + at, (x * p / (p + 2)).to(y_ptr.dtype.element_ty), mask=at < n)


def mish(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        mish_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def mish_out(self, *, out):
    return out.copy_(mish(self))
