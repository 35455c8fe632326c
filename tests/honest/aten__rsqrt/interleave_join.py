# operator: aten::rsqrt
# style: elements taken apart by split, put together by interleave and join
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    a, b = tl.split(x.reshape(BLOCK // 2, 2))
    y = tl.interleave(tl.rsqrt(a), tl.rsqrt(b))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def rsqrt(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        rsqrt_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
