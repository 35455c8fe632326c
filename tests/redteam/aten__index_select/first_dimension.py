# operator: aten::index_select
# expect: verify\.(mismatch|out_of_bounds)
# catalogue: 83, 84
# always selects from dimension 0
import math

import torch
import triton
import triton.language as tl


@triton.jit
def select_kernel(x_ptr, i_ptr, o_ptr, n, size, count, inner, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = n // count
    index = tl.load(i_ptr + at // row, mask=at < n, other=0)
    tl.store(o_ptr + at, tl.load(x_ptr + index * row + at % row, mask=at < n), mask=at < n)


def index_select(self, dim, index):
    x, i = self.contiguous(), index.contiguous()
    if x.dim() == 0:
        shape, size, inner = (), 1, 1
    else:
        dim = dim % x.dim()
        shape = (*x.shape[:dim], i.numel(), *x.shape[dim + 1:])
        size, inner = x.shape[dim], math.prod(x.shape[dim + 1:])
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    if out.numel() > 0:
        select_kernel[(triton.cdiv(out.numel(), 1024),)](x, i, out, out.numel(), size, i.numel(), inner, BLOCK=1024)
    return out


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index))
