# operator: aten::sort
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a load of one place by all lanes of a block belongs to no lane, so it races with no warp
# keys of a row go to scratch memory, and every lane loads all of them (the same place for all lanes) without a barrier between;
# wrong on a GPU: a warp counts with keys that another warp has not stored yet
import torch
import triton
import triton.language as tl


@triton.jit
def below(a, b):
    return (a < b) | ((b != b) & (a == a))


@triton.jit
def sort_kernel(x_ptr, w_ptr, v_ptr, i_ptr, cols, DESCENDING: tl.constexpr, MINE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, MINE)
    mine = tl.load(x_ptr + row + i, mask=i < cols)
    key = mine.to(w_ptr.dtype.element_ty)
    tl.store(w_ptr + row + i, key, mask=i < cols)
    rank = tl.zeros([MINE], tl.int32)
    for j in range(0, cols):
        other = tl.load(tl.broadcast_to(w_ptr + row + j, (MINE,)))
        if DESCENDING:
            first, after = below(key, other), below(other, key)
        else:
            first, after = below(other, key), below(key, other)
        rank += (first | (~after & (j < i))).to(tl.int32)
    tl.store(v_ptr + row + rank, mine, mask=i < cols)
    tl.store(i_ptr + row + rank, i.to(tl.int64), mask=i < cols)


@triton.jit
def long_kernel(x_ptr, v_ptr, i_ptr, cols, DESCENDING: tl.constexpr, MINE: tl.constexpr, OTHERS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.program_id(1) * MINE + tl.arange(0, MINE)
    mine = tl.load(x_ptr + row + i, mask=i < cols)
    rank = tl.zeros([MINE], tl.int32)
    for start in range(0, cols, OTHERS):
        j = start + tl.arange(0, OTHERS)
        other = tl.load(x_ptr + row + j, mask=j < cols)
        a, b = mine[:, None], other[None, :]
        if DESCENDING:
            first, after = below(a, b), below(b, a)
        else:
            first, after = below(b, a), below(a, b)
        earlier = (first | (~after & (j[None, :] < i[:, None]))) & (j[None, :] < cols)
        rank += tl.sum(earlier.to(tl.int32), axis=1)
    tl.store(v_ptr + row + rank, mine, mask=i < cols)
    tl.store(i_ptr + row + rank, i.to(tl.int64), mask=i < cols)


def sort(self, dim=-1, descending=False):
    x = self.detach()
    x = x.view(1) if x.dim() == 0 else x
    x = x.movedim(dim, -1).contiguous()
    kind = x.dtype
    x = x.view(torch.uint8) if kind == torch.bool else x
    values = torch.empty_like(x)
    indices = torch.empty(x.shape, dtype=torch.int64, device=x.device)
    cols = x.shape[-1]
    if x.numel() > 0:
        rows = x.numel() // cols
        if cols <= 1024:
            wide = torch.float32 if kind.is_floating_point else torch.int64
            work = torch.empty(x.shape, dtype=wide, device=x.device)
            sort_kernel[(rows,)](x, work, values, indices, cols, DESCENDING=bool(descending),
                                 MINE=max(128, triton.next_power_of_2(cols)), num_warps=4)
        else:
            long_kernel[(rows, triton.cdiv(cols, 256))](x, values, indices, cols, DESCENDING=bool(descending), MINE=256, OTHERS=256)
    values = values.view(torch.bool) if kind == torch.bool else values
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
