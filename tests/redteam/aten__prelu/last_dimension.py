# operator: aten::prelu
# expect: verify\.(mismatch|out_of_bounds)
# catalogue: 79, 84
# takes the last dimension for the channels: right for matrices only
import torch
import triton
import triton.language as tl


@triton.jit
def prelu_kernel(x_ptr, w_ptr, y_ptr, n, channels, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    w = tl.load(w_ptr + at % channels, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, tl.where(x > 0, x, w * x).to(y_ptr.dtype.element_ty), mask=at < n)


def prelu(self, weight):
    x, w = self.contiguous(), weight.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        prelu_kernel[(triton.cdiv(x.numel(), 1024),)](x, w, y, x.numel(), w.numel(), BLOCK=1024)
    return y
