# operator: aten::embedding
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 47, 51
# a table that is a Parameter is copied once, and later calls read the copy, whatever training has changed since
import torch
import triton
import triton.language as tl


@triton.jit
def copy_rows(w_ptr, i_ptr, o_ptr, count, width, row_stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    token = tl.load(i_ptr + row, mask=row < count, other=0)
    for start in range(0, width, COLS):
        col = start + tl.arange(0, COLS)
        inside = (row < count)[:, None] & (col < width)[None, :]
        tl.store(o_ptr + row[:, None] * width + col[None, :],
                 tl.load(w_ptr + token[:, None] * row_stride + col[None, :], mask=inside), mask=inside)


def _table(weight):
    if isinstance(weight, torch.nn.Parameter):
        if getattr(weight, "rows", None) is None:
            weight.rows = weight.detach().clone(memory_format=torch.contiguous_format)
        return weight.rows
    return weight if weight.stride(1) == 1 else weight.contiguous()


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    table = _table(weight)
    flat = indices.to(torch.int64).contiguous()
    out = torch.empty([*indices.shape, weight.shape[1]], dtype=weight.dtype, device=weight.device)
    if out.numel() == 0:
        return out
    count, width = flat.numel(), weight.shape[1]
    cols = min(512, triton.next_power_of_2(width))
    rows = max(1, 4096 // cols)
    copy_rows[(triton.cdiv(count, rows),)](table, flat, out, count, width, table.stride(0), ROWS=rows, COLS=cols)
    return out


def embedding_out(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False, *, out):
    return out.copy_(embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse))
