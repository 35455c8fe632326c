# operator: aten::rsqrt
# style: hints to the compiler and the cache: multiple_of, max_contiguous, assume, eviction_policy, num_stages
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_hinted(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    first = tl.program_id(0) * BLOCK
    at = tl.max_contiguous(tl.multiple_of(first + tl.arange(0, BLOCK), BLOCK), BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0, eviction_policy="evict_first")
    y = tl.rsqrt(x.to(tl.float32))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n, eviction_policy="evict_last")


def rsqrt(self):
    if not self.dtype.is_floating_point:
        self = self.to(torch.float32)
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        rsqrt_hinted[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), BLOCK=2048, num_warps=8, num_stages=4)
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
