# operator: aten::sort
# expect: verify\.mismatch
# catalogue: 80, 81
# equal elements get slots by atomic_add on one counter: stable only where lanes are served from first to last
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
def sort_kernel(x_ptr, v_ptr, i_ptr, taken_ptr, cols, DESCENDING: tl.constexpr, BLOCK: tl.constexpr):
    """One program for each row. Elements before mine are counted; equal ones take the places from there on."""
    row = tl.program_id(0).to(tl.int64) * cols
    for mine_start in range(0, cols, BLOCK):
        i = mine_start + tl.arange(0, BLOCK)
        mine = tl.load(x_ptr + row + i, mask=i < cols)
        rank = tl.zeros([BLOCK], tl.int32)
        for start in range(0, cols, BLOCK):
            j = start + tl.arange(0, BLOCK)
            other = tl.load(x_ptr + row + j, mask=j < cols)
            a, b = key_of(mine)[:, None], key_of(other)[None, :]
            first = below(a, b) if DESCENDING else below(b, a)
            rank += tl.sum((first & (j[None, :] < cols)).to(tl.int32), axis=1)
        rank += tl.atomic_add(taken_ptr + row + rank, 1, mask=i < cols, sem="relaxed")
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
        taken = torch.zeros(x.numel(), dtype=torch.int32, device=x.device)
        sort_kernel[(x.numel() // cols,)](x, values, indices, taken, cols, DESCENDING=descending, BLOCK=block)
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
