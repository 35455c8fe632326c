# operator: aten::index
# style: 2-D tile (position by slice element) with a jit address helper over tuples; indices flattened on the host
import math

import torch
import triton
import triton.language as tl


@triton.jit
def _offsets(number, sizes, strides, RANK: tl.constexpr):
    """Offsets of row-major numbers of elements in a strided tensor."""
    total = number * 0
    for back in tl.static_range(RANK):
        total += (number % sizes[RANK - 1 - back]) * strides[RANK - 1 - back]
        number = number // sizes[RANK - 1 - back]
    return total


@triton.jit
def _start(idx_ptr, at, valid, size, stride):
    position = tl.load(idx_ptr + at, mask=valid, other=0).to(tl.int64)
    position = tl.where(position < 0, position + size, position)
    return position * stride


@triton.jit
def take_kernel(
    src, dst, i0_ptr, i1_ptr, i2_ptr,
    size0, size1, size2, stride0, stride1, stride2,
    lead_sizes, lead_strides, tail_sizes, tail_src, tail_dst,
    rows, cols, col_tiles,
    COUNT: tl.constexpr, LEAD: tl.constexpr, TAIL: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    row = (pid // col_tiles) * ROWS + tl.arange(0, ROWS)
    col = (pid % col_tiles) * COLS + tl.arange(0, COLS)
    row_ok = row < rows
    begin = _start(i0_ptr, row, row_ok, size0, stride0)
    if COUNT > 1:
        begin += _start(i1_ptr, row, row_ok, size1, stride1)
    if COUNT > 2:
        begin += _start(i2_ptr, row, row_ok, size2, stride2)
    within = _offsets(col, tail_sizes, tail_src, TAIL)
    to_row = _offsets(row, lead_sizes, lead_strides, LEAD)
    to_col = _offsets(col, tail_sizes, tail_dst, TAIL)
    ok = row_ok[:, None] & (col < cols)[None, :]
    taken = tl.load(src + begin[:, None] + within[None, :], mask=ok)
    tl.store(dst + to_row[:, None] + to_col[None, :], taken, mask=ok)


def _plain(t):
    return t.view(torch.uint8) if t.dtype == torch.bool else t


def _index_shape(indices):
    return tuple(torch.broadcast_shapes(*[i.shape for i in indices]))


def _index(self, indices, out=None):
    lead = _index_shape(indices)
    count = len(indices)
    tail = tuple(self.shape[count:])
    if out is None:
        out = torch.empty(lead + tail, dtype=self.dtype, device=self.device)
    if out.numel() == 0:
        return out

    flat = [i.expand(lead).contiguous() for i in indices]
    flat += [flat[0]] * (3 - count)
    sizes = list(self.shape[:count]) + [1] * (3 - count)
    strides = list(self.stride()[:count]) + [0] * (3 - count)

    rows = math.prod(lead)
    cols = math.prod(tail)
    block_cols = min(256, triton.next_power_of_2(cols))
    block_rows = max(1, min(1024 // block_cols, triton.next_power_of_2(rows)))
    col_tiles = triton.cdiv(cols, block_cols)
    out_strides = tuple(out.stride())
    take_kernel[(triton.cdiv(rows, block_rows) * col_tiles,)](
        _plain(self), _plain(out), *flat,
        *sizes, *strides,
        lead or (1,), out_strides[: len(lead)] or (0,),
        tail or (1,), tuple(self.stride()[count:]) or (0,), out_strides[len(lead):] or (0,),
        rows, cols, col_tiles,
        COUNT=count, LEAD=max(1, len(lead)), TAIL=max(1, len(tail)),
        ROWS=block_rows, COLS=block_cols,
    )
    return out


def index_Tensor(self, indices):
    return _index(self, indices)


def index_Tensor_out(self, indices, *, out):
    return _index(self, indices, out)


def index_Tensor_hacked_twin(self, indices):
    return _index(self, indices)
