# operator: aten::index_select
# expect: verify\.(mismatch|exception)
# catalogue: 84
# outer dimensions are taken to lie one behind the other: wrong for a slice of a middle dimension (x[:, :5]) and for x.permute(1, 0, 2)
import torch
import triton
import triton.language as tl


def packed(x):
    """x with its outer dimensions one behind the other in memory, as all usual layouts have them."""
    if x.dim() < 3 or x.numel() == 0 or (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)):
        return x
    steps = list(x.stride())
    for d in range(x.dim() - 3, -1, -1):
        if steps[d] != 0:
            steps[d] = max(step * size for step, size in zip(steps[d + 1:], x.shape[d + 1:]))
    return x.as_strided(x.shape, steps, x.storage_offset())


@triton.jit
def take_rows(x_ptr, i_ptr, o_ptr, count, width, ROWS: tl.constexpr, COLS: tl.constexpr):
    j = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    row = tl.load(i_ptr + j, mask=j < count, other=0)
    inside = j < count and not c >= width
    tl.store(o_ptr + j * width + c, tl.load(x_ptr + row * width + c, mask=inside), mask=inside)


def index_select(self, dim, index):
    index = index.reshape(-1).to(torch.int64).contiguous()
    if self.dim() == 0:
        return index_select(self.view(1), 0, index).view(())
    x = packed(self).movedim(dim, 0).contiguous()
    out = torch.empty((index.numel(), *x.shape[1:]), dtype=x.dtype, device=x.device)
    if out.numel() > 0:
        width = out.numel() // index.numel()
        take_rows[triton.cdiv(index.numel(), 16), triton.cdiv(width, 256)](x, index, out, index.numel(), width, ROWS=16, COLS=256)
    return out.movedim(0, dim)


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index))
