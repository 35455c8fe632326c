# operator: aten::gather
# expect: verify\.mismatch
# catalogue: 79
# takes the index of the first line for all lines, as index_select would
import math

import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(x_ptr, i_ptr, o_ptr, n, size, count, inner, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = at // inner % count
    index = tl.load(i_ptr + j * inner, mask=at < n, other=0)
    outer = at // (inner * count)
    tl.store(o_ptr + at, tl.load(x_ptr + (outer * size + index) * inner + at % inner, mask=at < n), mask=at < n)


def gather(self, dim, index, *, sparse_grad=False):
    out = torch.empty(index.shape, dtype=self.dtype, device=self.device)
    if out.numel() == 0:
        return out
    if self.dim() == 0:
        self, index, dim = self.view(1), index.view(1), 0
    dim = dim % self.dim()
    for d in range(self.dim()):
        if d != dim:
            self = self.narrow(d, 0, index.shape[d])
    x, i = self.contiguous(), index.contiguous()
    gather_kernel[(triton.cdiv(out.numel(), 1024),)](x, i, out, out.numel(), x.shape[dim], i.shape[dim],
                                                     math.prod(i.shape[dim + 1:]), BLOCK=1024)
    return out


def gather_out(self, dim, index, *, sparse_grad=False, out):
    return out.copy_(gather(self, dim, index))
