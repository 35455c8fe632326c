# operator: aten::index_select
# style: tl.expand_dims and tl.broadcast_to by their names; assertions with an f-string
import torch
import triton
import triton.language as tl


@triton.jit
def pick(x_ptr, i_ptr, o_ptr, count, width, I_STRIDE: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    source = tl.load(i_ptr + rows * I_STRIDE, mask=rows < count, other=0).to(tl.int64)
    inside = tl.expand_dims(rows < count, 1) & tl.expand_dims(cols < width, 0)
    at = tl.broadcast_to(tl.expand_dims(cols, 0), (ROWS, COLS))
    x = tl.load(x_ptr + tl.expand_dims(source, 1) * width + at, mask=inside)
    tl.store(o_ptr + tl.expand_dims(rows.to(tl.int64), 1) * width + at, x, mask=inside)


def index_select(self, dim: int, index: torch.Tensor) -> torch.Tensor:
    if self.dim() == 0:
        return index_select(self.view(1), 0, index).view(())
    assert -self.dim() <= dim < self.dim(), f"dimension {dim} is out of range"
    x = self.transpose(0, dim).contiguous()
    out = x.new_empty((index.numel(), *x.shape[1:]))
    if out.numel() > 0:
        width = out.numel() // index.numel()
        grid = triton.cdiv(index.numel(), 8), triton.cdiv(width, 256)
        pick[grid](x, index, out, index.numel(), width, I_STRIDE=index.stride(0) if index.dim() else 1, ROWS=8, COLS=256)
    return out.transpose(0, dim)


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index))
