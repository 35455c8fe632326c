# operator: aten::index_select
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: more than six dimensions
# at most five dimensions behind dim count for a row's size: selecting from dim 0 of seven dimensions gives a wrong mix; wrong:
# index_select(torch.arange(8.0).view(2, 1, 1, 1, 1, 1, 4), 0, torch.tensor([1])) gives 1 in place of 4
import math

import torch
import triton
import triton.language as tl


@triton.jit
def select_kernel(x_ptr, i_ptr, o_ptr, n, size, count, inner, i_stride, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    column = at % inner
    j = (at // inner) % count
    outer = at // (inner * count)
    index = tl.load(i_ptr + j * i_stride, mask=inside, other=0).to(tl.int64)
    tl.device_assert((index >= 0) & (index < size), "index out of range")
    x = tl.load(x_ptr + (outer * size + index) * inner + column, mask=inside)
    tl.store(o_ptr + at, x, mask=inside)


def index_select(self, dim, index):
    assert index.dim() <= 1, "index must be a vector"
    x = self.contiguous()
    if x.dim() == 0:
        shape, size, inner = (), 1, 1
    else:
        dim = dim % x.dim()
        shape = (*x.shape[:dim], index.numel(), *x.shape[dim + 1:])
        size, inner = x.shape[dim], math.prod(x.shape[dim + 1:dim + 6])
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    n = out.numel()
    if n > 0:
        stride = index.stride(0) if index.dim() else 0
        select_kernel[(triton.cdiv(n, 1024),)](x, index, out, n, size, index.numel(), inner, stride, BLOCK=1024)
    return out


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index))
