# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# a plain Python function called by a kernel
import torch
import triton
import triton.language as tl


def gate(x):
    return tl.sigmoid(x)


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * gate(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
