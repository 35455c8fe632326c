# operator: aten::sort
# expect: verify\.mismatch
# catalogue: 67
# right indices, but values in their old order: for a checker that keeps the outcome of the last output only
import torch
import triton
import triton.language as tl


@triton.jit
def rank_rows(x_ptr, i_ptr, cols, DESCENDING: tl.constexpr, BLOCK: tl.constexpr, OTHERS: tl.constexpr):
    row = tl.program_id(0) * cols
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + i, mask=i < cols, other=0)[:, None]
    rank = tl.zeros([BLOCK], tl.int32)
    for start in range(0, cols, OTHERS):
        j = start + tl.arange(0, OTHERS)[None, :]
        y = tl.load(x_ptr + row + j, mask=j < cols, other=0)
        if DESCENDING:
            before = y > x
        else:
            before = y < x
        before |= (y == x) & (j < i[:, None])
        rank += tl.sum((before & (j < cols)).to(tl.int32), axis=1)
    tl.store(i_ptr + row + rank, i.to(tl.int64), mask=i < cols)


def sort(self, dim=-1, descending=False):
    x = (self.view(1) if self.dim() == 0 else self.movedim(dim, -1)).contiguous()
    indices = torch.empty(x.shape, dtype=torch.int64, device=x.device)
    cols = x.shape[-1]
    if x.numel() > 0:
        rank_rows[(x.numel() // cols,)](x, indices, cols, DESCENDING=descending, BLOCK=triton.next_power_of_2(cols), OTHERS=64)
    if self.dim() == 0:
        return x.clone().view(()), indices.view(())
    return x.clone().movedim(-1, dim), indices.movedim(-1, dim)


def sort_stable(self, *, stable, dim=-1, descending=False):
    return sort(self, dim, descending)


def sort_values(self, dim=-1, descending=False, *, values, indices):
    v, i = sort(self, dim, descending)
    return values.copy_(v), indices.copy_(i)


def sort_values_stable(self, *, stable, dim=-1, descending=False, values, indices):
    return sort_values(self, dim, descending, values=values, indices=indices)
