# operator: aten::masked_fill_
# expect: verify\.mismatch
# catalogue: 79, 84
# x * (1 - m) + value * m: NaN and infinities under the mask stay
import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(x_ptr, m_ptr, v_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    m = tl.load(m_ptr + at, mask=at < n).to(tl.float32)
    v = tl.load(v_ptr).to(tl.float32)
    tl.store(x_ptr + at, (x * (1 - m) + v * m).to(x_ptr.dtype.element_ty), mask=at < n)


def masked_fill__Tensor(self, mask, value):
    if self.numel() > 0:
        x, m = self.contiguous(), mask.expand(self.shape).contiguous()
        fill_kernel[(triton.cdiv(x.numel(), 1024),)](x, m, value, x.numel(), BLOCK=1024)
        if x is not self:
            self.copy_(x)
    return self


def masked_fill__Scalar(self, mask, value):
    return masked_fill__Tensor(self, mask, torch.full((), value, dtype=self.dtype, device=self.device))
