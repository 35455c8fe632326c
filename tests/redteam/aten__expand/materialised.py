# operator: aten::expand
# expect: verify\.alias
# catalogue: 57, 85
# fills a new tensor with the repeated elements by a Triton kernel
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def expand(self, size, *, implicit=False):
    x = self.expand(size).contiguous()
    out = torch.empty_like(x)
    if x.numel() > 0:
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out
