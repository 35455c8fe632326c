# operator: aten::embedding
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: relation of neighbours (hash)
# a token whose hash of 14 bits equals that of the token in front takes the row of that one; hashes meet from distances of 10946
# rows on; wrong: weight of 32000 x 8, tokens [t, t + 10946] for about every third t
import torch
import triton
import triton.language as tl


@triton.jit
def slot(token):
    return ((token * 2654435761) & 0xFFFFFFFF) >> 18


@triton.jit
def copy_rows(w_ptr, i_ptr, o_ptr, count, width, row_stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    token = tl.load(i_ptr + row, mask=row < count, other=0)
    before = tl.load(i_ptr + row - 1, mask=(row < count) & (row > 0), other=0)
    again = (row > 0) & (slot(before) == slot(token))
    token = tl.where(again, before, token)
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
