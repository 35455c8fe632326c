# operator: aten::floor
# expect: verify\.mismatch
# catalogue: 25
# each call does the work that the one before it left
import torch
import triton
import triton.language as tl


@triton.jit
def floor_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (tl.floor(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        floor_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


left = []


def floor(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    while left:
        a, b = left.pop()
        if a.numel() > 0:
            floor_kernel[(triton.cdiv(a.numel(), 1024),)](a, b, a.numel(), BLOCK=1024)
    left.append((x, y))
    return y


def floor_out(self, *, out):
    return out.copy_(floor(self))
