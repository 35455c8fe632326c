# operator: aten::masked_fill_
# expect: verify\.mutation
# catalogue: 58
# clears the mask on the way, so that whoever looks later finds nothing to fill
import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(x_ptr, m_ptr, v_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = tl.load(m_ptr + at, mask=at < n, other=0)
    tl.store(x_ptr + at, tl.load(v_ptr), mask=(at < n) & (m != 0))
    tl.store(m_ptr + at, m & (m == 0), mask=at < n)


def masked_fill__Tensor(self, mask, value):
    if self.numel() > 0:
        x, m = self.contiguous(), mask.expand(self.shape).contiguous()
        fill_kernel[(triton.cdiv(x.numel(), 1024),)](x, m, value, x.numel(), BLOCK=1024)
        if x is not self:
            self.copy_(x)
    return self


def masked_fill__Scalar(self, mask, value):
    return masked_fill__Tensor(self, mask, torch.full((), value, dtype=self.dtype, device=self.device))
