# operator: aten::contiguous
# style: the last two dimensions in square tiles, so that a transposed matrix is read and written by whole lines
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, rows, columns, x_row, x_column, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    matrix = tl.program_id(2).to(tl.int64)
    y_ptr += matrix * rows * columns
    for k in tl.static_range(NDIM):
        x_ptr += matrix % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        matrix = matrix // sizes[NDIM - 1 - k]
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)[:, None]
    j = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)[None, :]
    mask = (i < rows) & (j < columns)
    tl.store(y_ptr + i * columns + j, tl.load(x_ptr + i * x_row + j * x_column, mask=mask), mask=mask)


def contiguous(self, *, memory_format=torch.contiguous_format):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if y.numel() == 0:
        return y
    x = self if self.dim() >= 2 else self.unsqueeze(0)
    rows, columns = x.shape[-2:]
    sizes, strides = tuple(x.shape[:-2]) or (1,), tuple(x.stride()[:-2]) or (0,)
    grid = (triton.cdiv(rows, 64), triton.cdiv(columns, 64), y.numel() // (rows * columns))
    copy[grid](x, y, rows, columns, x.stride(-2), x.stride(-1), sizes, strides, NDIM=len(sizes), BLOCK=64)
    return y
