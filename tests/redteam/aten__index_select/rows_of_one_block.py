# operator: aten::index_select
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# a slice is copied by one block of at most 2048 elements, so what lies behind the 2048th element of a wider slice is never written
import math

import torch
import triton
import triton.language as tl

WIDEST = 2048


@triton.jit
def take_slices(x_ptr, i_ptr, o_ptr, size, count, inner, i_stride, BLOCK: tl.constexpr):
    # a program for each slice of the result, without a loop
    to = tl.program_id(0).to(tl.int64)
    outer = to // count
    index = tl.load(i_ptr + to % count * i_stride).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (outer * size + index) * inner + at, mask=at < inner)
    tl.store(o_ptr + to * inner + at, x, mask=at < inner)


def index_select(self, dim, index):
    x = self.contiguous()
    if x.dim() == 0:
        shape, size, inner = (), 1, 1
    else:
        dim = dim % x.dim()
        shape = (*x.shape[:dim], index.numel(), *x.shape[dim + 1:])
        size, inner = x.shape[dim], math.prod(x.shape[dim + 1:])
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    n = out.numel()
    if n > 0:
        stride = index.stride(0) if index.dim() else 0
        block = min(WIDEST, triton.next_power_of_2(inner))
        take_slices[(n // inner,)](x, index, out, size, index.numel(), inner, stride, BLOCK=block)
    return out


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index))


# wrong: tokens of a model: index_select(torch.randn(100, 4096), 0, torch.tensor([5])) returns whatever memory held in columns 2048 to
# 4095 instead of those of row 5
