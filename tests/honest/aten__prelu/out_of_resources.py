# operator: aten::prelu
# style: a launch tried again with a smaller block when resources do not suffice
import math

import torch
import triton
import triton.language as tl


@triton.jit
def prelu_kernel(x_ptr, w_ptr, y_ptr, n, channels, inner, w_stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    w = tl.load(w_ptr + (at // inner % channels) * w_stride, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, tl.where(x > 0, x, w * x).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(*args):
    for block in (4096, 1024):
        try:
            prelu_kernel[(triton.cdiv(args[3], block),)](*args, BLOCK=block)
        except triton.runtime.errors.OutOfResources:
            continue
        else:
            break


def prelu(self, weight):
    x = self.contiguous()
    y = torch.empty_like(x)
    inner = math.prod(x.shape[2:])
    if x.numel() > 0:
        launch(x, weight, y, x.numel(), weight.numel(), inner, weight.stride(0) if weight.dim() > 0 else 0)
    return y
