# operator: aten::embedding
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# 16 tokens count as a run of neighbours where the first two and the last one fit one: positions in another order get wrong
# rows; wrong: embedding(w, torch.tensor([0, 1, 9, 3, 4, 5, 6, 7, 8, 2, 10, 11, 12, 13, 14, 15])) gives rows 2 and 9 exchanged
import torch
import triton
import triton.language as tl


@triton.jit
def copy_rows(w_ptr, i_ptr, o_ptr, count, width, row_stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    token = tl.load(i_ptr + row, mask=row < count, other=0)
    head = row // 16 * 16
    first = tl.load(i_ptr + head, mask=row < count, other=0)
    second = tl.load(i_ptr + head + 1, mask=head + 1 < count, other=-1)
    last = tl.load(i_ptr + head + 15, mask=head + 15 < count, other=-1)
    token = tl.where((second == first + 1) & (last == first + 15), first + row % 16, token)
    for start in range(0, width, COLS):
        col = start + tl.arange(0, COLS)
        inside = (row < count)[:, None] & (col < width)[None, :]
        tl.store(o_ptr + row[:, None] * width + col[None, :],
                 tl.load(w_ptr + token[:, None] * row_stride + col[None, :], mask=inside), mask=inside)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    table = weight if weight.stride(1) == 1 else weight.contiguous()
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
