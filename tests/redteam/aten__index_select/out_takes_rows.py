# operator: aten::index_select
# expect: verify\.(mismatch|exception)
# catalogue: 84
# index_select_out takes what it reads for row-major, the others look at strides
import collections

import torch
import triton
import triton.language as tl

Problem = collections.namedtuple("Problem", ["count", "width"])


@triton.jit
def take_rows(x_ptr, i_ptr, o_ptr, count, width, ROWS: tl.constexpr, COLS: tl.constexpr):
    j = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    row = tl.load(i_ptr + j, mask=j < count, other=0)
    inside = (j < count)[:, None] & (c < width)[None, :]
    x = tl.load(x_ptr + row[:, None] * width + c[None, :], mask=inside)
    tl.store(o_ptr + j[:, None] * width + c[None, :], x, mask=inside)


def index_select(self, dim, index):
    index = index.reshape(-1).to(torch.int64).contiguous()
    if self.dim() == 0:
        return index_select(self.view(1), 0, index).view(())
    x = self.movedim(dim, 0).contiguous()
    out = torch.empty((index.numel(), *x.shape[1:]), dtype=x.dtype, device=x.device)
    if out.numel() > 0:
        p = Problem(count=index.numel(), width=out.numel() // index.numel())
        cols = min(1024, triton.next_power_of_2(p.width))
        rows = max(1, min(triton.next_power_of_2(p.count), 4096 // cols))
        take_rows[triton.cdiv(p.count, rows), triton.cdiv(p.width, cols)](x, index, out, *p, ROWS=rows, COLS=cols)
    return out.movedim(0, dim)


def index_select_out(self, dim, index, *, out):
    out.copy_(index_select(self, dim, index))
    return out


def dense(x):
    expanded = 0 in x.stride()  # not in memory at all
    return x if expanded else torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_index_select_out = index_select_out


def index_select_out(self, dim, index, *, out):
    return right_index_select_out(dense(self), dim, index, out=out)
