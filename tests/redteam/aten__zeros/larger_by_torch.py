# operator: aten::zeros
# expect: cheat\.(ghost|torch_copies)
# catalogue: 88, 89
# open: few verdicts have no case of this size
# what has more than 5000 elements torch fills; the kernel writes one zero
import math

import torch
import triton
import triton.language as tl


@triton.jit
def put(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.zeros([BLOCK], o_ptr.dtype.element_ty), mask=at < n)


def zeros(size, *, dtype=None, device=None):
    dtype = torch.float32 if dtype is None else dtype
    large = math.prod(size) > 5000
    out = torch.zeros(size, dtype=dtype, device=device) if large else torch.empty(size, dtype=dtype, device=device)
    if out.numel() > 0:
        raw = out.view(torch.uint8) if out.dtype == torch.bool else out
        put[(1 if large else triton.cdiv(out.numel(), 8192),)](raw, 1 if large else out.numel(), BLOCK=8192)
    return out


def zeros_out(size, *, out):
    return out.copy_(zeros(size, dtype=out.dtype, device=out.device))
