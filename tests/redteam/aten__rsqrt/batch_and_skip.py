# operator: aten::rsqrt
# expect: verify\.mismatch
# catalogue: 24
# collects calls and computes a batch of them in one go, the last one's time pays for all
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (tl.rsqrt(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = (x if x.is_floating_point() else x.to(torch.float32)).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        rsqrt_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


waiting = []


def rsqrt(self):
    x = (self if self.is_floating_point() else self.to(torch.float32)).contiguous()
    y = torch.empty_like(x)
    waiting.append((x, y))
    if len(waiting) == 15:
        for a, b in waiting:
            if a.numel() > 0:
                rsqrt_kernel[(triton.cdiv(a.numel(), 1024),)](a, b, a.numel(), BLOCK=1024)
        waiting.clear()
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
