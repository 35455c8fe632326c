# operator: aten::rsqrt
# style: torch.empty(...).fill_ before the kernel overwrites it; new_empty and new_full
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.rsqrt(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def rsqrt(self):
    x = self.contiguous()
    dtype = x.dtype if x.is_floating_point() else torch.float32
    y = torch.empty(x.shape, dtype=dtype, device=x.device).fill_(float("nan"))
    count = x.new_full((1,), 0, dtype=torch.int32)
    n = x.numel()
    if n > 0:
        rsqrt_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    del count
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
