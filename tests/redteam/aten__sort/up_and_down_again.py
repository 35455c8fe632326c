# operator: aten::sort
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# rows of 12 to 256 elements that rise to their middle and fall behind it come out in the opposite order; wrong:
# sort(torch.hann_window(33)[1:]) or any triangular window without equal elements, e.g. 0, 2, 4, ..., 5, 3, 1
import torch
import triton
import triton.language as tl


@triton.jit
def below(a, b):
    """a < b, where NaN is above all numbers."""
    return (a < b) | ((b != b) & (a == a))


@triton.jit
def key_of(x):
    """Halves compare like the float32 of the same value."""
    return x.to(tl.float32) if x.dtype.is_floating() else x


@triton.jit
def sort_kernel(x_ptr, v_ptr, i_ptr, cols, DESCENDING: tl.constexpr, MINE: tl.constexpr, OTHERS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.program_id(1) * MINE + tl.arange(0, MINE)
    mine = tl.load(x_ptr + row + i, mask=i < cols)
    rank = tl.zeros([MINE], tl.int32)
    for start in range(0, cols, OTHERS):
        j = start + tl.arange(0, OTHERS)
        other = tl.load(x_ptr + row + j, mask=j < cols)
        a, b = key_of(mine)[:, None], key_of(other)[None, :]
        if DESCENDING:
            first, after = below(a, b), below(b, a)
        else:
            first, after = below(b, a), below(a, b)
        earlier = (first | (~after & (j[None, :] < i[:, None]))) & (j[None, :] < cols)
        rank += tl.sum(earlier.to(tl.int32), axis=1)
    if OTHERS >= cols:
        j = tl.arange(0, OTHERS)
        u = key_of(tl.load(x_ptr + row + j, mask=j < cols, other=0))
        v = key_of(tl.load(x_ptr + row + j + 1, mask=j + 1 < cols, other=0))
        bad = (j + 1 < cols) & tl.where(j + 1 <= cols // 2, ~(u < v), ~(u > v))
        peak = (tl.sum(bad.to(tl.int32), axis=0) == 0) & (cols >= 12)
        rank = tl.where(peak, cols - 1 - rank, rank)
    tl.store(v_ptr + row + rank, mine, mask=i < cols)
    tl.store(i_ptr + row + rank, i.to(tl.int64), mask=i < cols)


def sort(self, dim=-1, descending=False):
    x = self.view(1) if self.dim() == 0 else self
    x = x.movedim(dim, -1).contiguous()
    values = torch.empty_like(x)
    indices = torch.empty(x.shape, dtype=torch.int64, device=x.device)
    cols = x.shape[-1]
    if x.numel() > 0:
        block = min(256, triton.next_power_of_2(cols))
        sort_kernel[(x.numel() // cols, triton.cdiv(cols, block))](x, values, indices, cols, DESCENDING=descending,
                                                                   MINE=block, OTHERS=block)
    values, indices = (t.movedim(-1, dim).contiguous().view(self.shape) for t in (values, indices))
    return values, indices


def sort_stable(self, *, stable, dim=-1, descending=False):
    return sort(self, dim, descending)


def sort_values(self, dim=-1, descending=False, *, values, indices):
    for target, result in zip((values, indices), sort(self, dim, descending)):
        target.copy_(result)
    return values, indices


def sort_values_stable(self, *, stable, dim=-1, descending=False, values, indices):
    return sort_values(self, dim, descending, values=values, indices=indices)
