# operator: aten::rsqrt
# expect: verify\.mismatch
# catalogue: 79, 84
# takes the absolute value first, since variances are never negative
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.abs(tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32))
    tl.store(y_ptr + at, tl.rsqrt(x).to(y_ptr.dtype.element_ty), mask=at < n)


def rsqrt(self):
    x = self.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype if x.dtype.is_floating_point else torch.float32, device=x.device)
    if x.numel() > 0:
        rsqrt_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
