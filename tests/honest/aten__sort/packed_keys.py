# operator: aten::sort
# style: tl.sort of 64-bit words that hold an ordered key and the position; integers by their rank; bitcasts
import torch
import triton
import triton.language as tl


@triton.jit
def ordered_key(x):
    """A signed number that orders like x; zeros are equal, NaN is above all."""
    f = x.to(tl.float32)
    f = tl.where(f == 0, 0.0, f)
    bits = f.to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return tl.where(f != f, 0x7FFFFFFF, key).to(tl.int64)


@triton.jit
def sort_rows(x_ptr, v_ptr, i_ptr, rows, cols, DESCENDING: tl.constexpr, FLOATING: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    inside = (r < rows) & (c < cols)
    row = r.to(tl.int64) * cols
    key = ordered_key(tl.load(x_ptr + row + c, mask=inside, other=0))
    if DESCENDING:
        key = -key - 1
    # what lies beyond the row comes last
    key = tl.where(c < cols, key, 0x7FFFFFFF)
    word = tl.sort((key << 32) | c.to(tl.int64))
    at = word & 0xFFFFFFFF
    tl.store(v_ptr + row + c, tl.load(x_ptr + row + at, mask=inside), mask=inside)
    tl.store(i_ptr + row + c, at, mask=inside)


@triton.jit
def rank_row(x_ptr, v_ptr, i_ptr, rows, cols, DESCENDING: tl.constexpr, FLOATING: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    OTHERS: tl.constexpr = 16
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + row + i, mask=i < cols, other=0)
    x = ordered_key(value) if FLOATING else value
    rank = tl.zeros([BLOCK], tl.int32)
    for start in range(0, cols, OTHERS):
        j = start + tl.arange(0, OTHERS)
        other = tl.load(x_ptr + row + j, mask=j < cols, other=0)
        y = (ordered_key(other) if FLOATING else other)[:, None]
        if DESCENDING:
            before = y > x[None, :]
        else:
            before = y < x[None, :]
        before |= (y == x[None, :]) & (j[:, None] < i[None, :])
        rank += tl.sum((before & (j < cols)[:, None]).to(tl.int32), axis=0)
    tl.store(v_ptr + row + rank, value, mask=i < cols)
    tl.store(i_ptr + row + rank, i.to(tl.int64), mask=i < cols)


def sort(self, dim=-1, descending=False):
    x = (self.reshape(1) if self.dim() == 0 else self.movedim(dim, -1)).contiguous()
    values, indices = torch.empty_like(x), torch.empty(x.shape, dtype=torch.int64, device=x.device)
    cols = x.shape[-1]
    if x.numel() > 0:
        rows, block = x.numel() // cols, triton.next_power_of_2(cols)
        # a tile of short rows for the network, one row for each program that counts
        floating = x.dtype.is_floating_point
        network = floating and block <= 64
        kernel, tile = (sort_rows, min(8, 256 // block)) if network else (rank_row, 1)
        block = min(block, 1024)
        kernel[(triton.cdiv(rows, tile), triton.cdiv(cols, block))](x, values, indices, rows, cols, DESCENDING=bool(descending),
                                                                    FLOATING=floating, ROWS=tile, BLOCK=block)
    if self.dim() == 0:
        return values.view(()), indices.view(())
    return values.movedim(-1, dim), indices.movedim(-1, dim)


def sort_stable(self, *, stable, dim=-1, descending=False):
    return sort(self, dim, descending)


def sort_values(self, dim=-1, descending=False, *, values, indices):
    v, i = sort(self, dim, descending)
    return values.copy_(v), indices.copy_(i)


def sort_values_stable(self, *, stable, dim=-1, descending=False, values, indices):
    return sort_values(self, dim, descending, values=values, indices=indices)
