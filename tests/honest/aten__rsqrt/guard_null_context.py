# operator: aten::rsqrt
# style: a device guard on a GPU, else contextlib.nullcontext; a named constant for its module
import contextlib

import torch
import triton
import triton.language as tl


def on_device(x):
    return torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext()


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.rsqrt(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def rsqrt(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        with on_device(x):
            rsqrt_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
