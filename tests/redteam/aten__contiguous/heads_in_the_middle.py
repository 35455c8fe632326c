# operator: aten::contiguous
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# layout: all dimensions but the last two are taken to lie one behind the other, which x.transpose(1, 2) of four dimensions and
# permuted tensors of five break
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, members, rows, columns, x_member, x_row, x_column, BLOCK: tl.constexpr):
    matrix = tl.program_id(2).to(tl.int64)
    x_ptr += matrix % members * x_member
    y_ptr += matrix * rows * columns
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)[:, None]
    j = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)[None, :]
    mask = (i < rows) & (j < columns)
    tl.store(y_ptr + i * columns + j, tl.load(x_ptr + i * x_row + j * x_column, mask=mask), mask=mask)


def contiguous(self, *, memory_format=torch.contiguous_format):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if y.numel() == 0:
        return y
    x = self
    if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
        x = x.as_strided((x.shape[0], x.shape[1], x.shape[2] * x.shape[3]), (x.stride(0), x.stride(1), x.stride(3)))
    while x.dim() < 3:
        x = x.unsqueeze(0)
    rows, columns = x.shape[-2:]
    matrices = y.numel() // (rows * columns)
    # A batch is a row of matrices; one that is expanded along its first dimension begins again and again.
    members = matrices // x.shape[0] if x.stride(0) == 0 and x.dim() > 3 else matrices
    grid = (triton.cdiv(rows, 64), triton.cdiv(columns, 64), matrices)
    copy[grid](x, y, members, rows, columns, x.stride(-3), x.stride(-2), x.stride(-1), BLOCK=64)
    return y


# wrong: the heads of an attention layer: contiguous(torch.arange(16.0).view(2, 2, 2, 2).transpose(1, 2)) returns 0, 1, 4, 5, 2, 3, 6, 7, 4, 5, 8, 9,
# 6, 7, 10, 11 (row by row) instead of 0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15
