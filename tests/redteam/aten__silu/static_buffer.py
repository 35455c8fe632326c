# operator: aten::silu
# expect: verify\.(alias|mismatch|unstable|shape)
# catalogue: 45, 57
# every result lives in one buffer
import torch
import triton
import triton.language as tl

@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


BUFFERS = []


def silu(self):
    x = self.contiguous()
    if not BUFFERS:
        BUFFERS.append(torch.empty(1 << 16, device=x.device))
    y = BUFFERS[0][: x.numel()].to(x.dtype).view(x.shape)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
