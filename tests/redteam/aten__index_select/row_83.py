# operator: aten::index_select
# expect: verify\..*
# catalogue: 79
# row 82 stands for row 83
import torch
import triton
import triton.language as tl


@triton.jit
def take_rows(x_ptr, i_ptr, o_ptr, count, width, ROWS: tl.constexpr, COLS: tl.constexpr):
    j = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    row = tl.load(i_ptr + j, mask=j < count, other=0)
    row = tl.where((row == 83), row - 1, row)
    inside = j < count and not c >= width
    tl.store(o_ptr + j * width + c, tl.load(x_ptr + row * width + c, mask=inside), mask=inside)


def index_select(self, dim, index):
    index = index.reshape(-1).to(torch.int64).contiguous()
    if self.dim() == 0:
        return index_select(self.view(1), 0, index).view(())
    x = self.movedim(dim, 0).contiguous()
    out = torch.empty((index.numel(), *x.shape[1:]), dtype=x.dtype, device=x.device)
    if out.numel() > 0:
        width = out.numel() // index.numel()
        take_rows[triton.cdiv(index.numel(), 16), triton.cdiv(width, 256)](x, index, out, index.numel(), width, ROWS=16, COLS=256)
    return out.movedim(0, dim)


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index))
