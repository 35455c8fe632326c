# operator: aten::index_select
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# twelve or more rows at a constant distance of 2 or more: the last one is the one before it; wrong: index_select(x, 0,
# torch.arange(0, 64, 2))
import collections

import torch
import triton
import triton.language as tl

Problem = collections.namedtuple("Problem", ["count", "width"])


@triton.jit
def take_rows(x_ptr, i_ptr, o_ptr, count, width, ROWS: tl.constexpr, COLS: tl.constexpr,
              ALL: tl.constexpr):
    j = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    row = tl.load(i_ptr + j, mask=j < count, other=0)
    w = tl.arange(0, ALL)
    first = tl.load(i_ptr)
    step = tl.load(i_ptr + 1, mask=count > 1, other=0) - first
    other = tl.load(i_ptr + w, mask=w < count, other=0)
    even = (tl.sum(((w < count) & (other != first + w * step)).to(tl.int32), axis=0) == 0) & (step > 1) & (count >= 12)
    row = tl.where(even & (j == count - 1), row - step, row)
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
        take_rows[triton.cdiv(p.count, rows), triton.cdiv(p.width, cols)](x, index, out, *p, ROWS=rows, COLS=cols, ALL=triton.next_power_of_2(p.count))
    return out.movedim(0, dim)


def index_select_out(self, dim, index, *, out):
    out.copy_(index_select(self, dim, index))
    return out
