# operator: aten::prelu
# expect: verify\.mismatch
# catalogue: 72, 79
# 0.25, the slope that untrained layers start from
import torch
import triton
import triton.language as tl


@triton.jit
def prelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, tl.where(x > 0, x, 0.25 * x).to(y_ptr.dtype.element_ty), mask=at < n)


def prelu(self, weight):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        prelu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
