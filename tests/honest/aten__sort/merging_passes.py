# operator: aten::sort
# style: keys in integers, rank sort of short runs, then merging passes by binary search (ping-pong buffers)
"""Stable sort.

1. Every element becomes a signed integer key in whose order the elements are to be sorted.
2. Runs of RUN keys are sorted by counting for each key those that go before it.
3. Two neighbouring runs are merged until one is left: a key's place is its place in its own run plus the number of
   keys of the other run that go before it, which a binary search finds.
4. The elements are fetched by the positions that travelled with the keys.
"""
import torch
import triton
import triton.language as tl

RUN = 32
BLOCK = 1024


@triton.jit
def make_key(x, FLOATING: tl.constexpr, WIDE: tl.constexpr, DESCENDING: tl.constexpr):
    if FLOATING:
        f = x.to(tl.float32)
        bits = tl.where(f == 0.0, 0.0, f).to(tl.int32, bitcast=True)
        key = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        key = tl.where(f != f, 0x7FFFFFFF, key)
    elif WIDE:
        key = x.to(tl.int64)
    else:
        key = x.to(tl.int32)
    if DESCENDING:
        key = ~key
    return key


@triton.jit
def sort_runs(x_ptr, key_ptr, idx_ptr, total, n, FLOATING: tl.constexpr, WIDE: tl.constexpr,
              DESCENDING: tl.constexpr, RUN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < total
    row = i // n
    p = i % n
    first = p // RUN * RUN
    key = make_key(tl.load(x_ptr + i, mask=ok, other=0), FLOATING, WIDE, DESCENDING)
    rank = tl.zeros_like(p)
    for j in range(RUN):
        q = first + j
        there = ok & (q < n)
        other = make_key(tl.load(x_ptr + row * n + q, mask=there, other=0), FLOATING, WIDE, DESCENDING)
        before = (other < key) | ((other == key) & (q < p))
        rank += (before & there).to(tl.int64)
    to = row * n + first + rank
    tl.store(key_ptr + to, key, mask=ok)
    tl.store(idx_ptr + to, p.to(tl.int32), mask=ok)


@triton.jit
def merge_runs(key_ptr, idx_ptr, key_out, idx_out, total, n, width, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < total
    row = i // n * n
    p = i % n
    pair = p // (2 * width) * (2 * width)
    in_left = p < pair + width
    mine = tl.where(in_left, pair, pair + width)
    begin = tl.minimum(tl.where(in_left, pair + width, pair), n)
    end = tl.minimum(begin + width, n)
    key = tl.load(key_ptr + i, mask=ok, other=0)
    # the number of keys of the other run that go before this one: smaller ones, in the left run equal ones too
    lo = begin
    hi = end
    for _ in range(STEPS):
        open_ = ok & (lo < hi)
        mid = (lo + hi) // 2
        other = tl.load(key_ptr + row + mid, mask=open_, other=0)
        before = (other < key) | ((other == key) & (in_left == 0))
        lo = tl.where(open_ & before, mid + 1, lo)
        hi = tl.where(open_ & (before == 0), mid, hi)
    to = row + pair + (p - mine) + (lo - begin)
    tl.store(key_out + to, key, mask=ok)
    tl.store(idx_out + to, tl.load(idx_ptr + i, mask=ok, other=0), mask=ok)


@triton.jit
def fetch(x_ptr, idx_ptr, values_ptr, indices_ptr, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < total
    source = tl.load(idx_ptr + i, mask=ok, other=0).to(tl.int64)
    tl.store(values_ptr + i, tl.load(x_ptr + i // n * n + source, mask=ok, other=0), mask=ok)
    tl.store(indices_ptr + i, source, mask=ok)


def _sort_last(x, descending):
    """x is contiguous and has at least one dimension."""
    values = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    indices = torch.empty(x.shape, dtype=torch.int64, device=x.device)
    total = x.numel()
    if total == 0:
        return values, indices
    n = x.shape[-1]
    wide = x.dtype == torch.int64
    keys = [torch.empty(total, dtype=torch.int64 if wide else torch.int32, device=x.device) for _ in range(2)]
    idx = [torch.empty(total, dtype=torch.int32, device=x.device) for _ in range(2)]
    grid = (triton.cdiv(total, BLOCK),)
    sort_runs[grid](x, keys[0], idx[0], total, n, FLOATING=x.is_floating_point(), WIDE=wide,
                    DESCENDING=bool(descending), RUN=RUN, BLOCK=BLOCK)
    width = RUN
    source = 0
    while width < n:
        merge_runs[grid](keys[source], idx[source], keys[1 - source], idx[1 - source], total, n, width,
                         STEPS=width.bit_length(), BLOCK=BLOCK)
        source = 1 - source
        width *= 2
    fetch[grid](x, idx[source], values, indices, total, n, BLOCK=BLOCK)
    return values, indices


def _sort(self, dim, descending):
    x = self.detach()
    if x.dim() == 0:
        values, indices = _sort_last(x.reshape(1), descending)
        return values.reshape(()), indices.reshape(())
    values, indices = _sort_last(x.movedim(dim, -1).contiguous(), descending)
    return values.movedim(-1, dim), indices.movedim(-1, dim)


def sort(self, dim=-1, descending=False):
    return _sort(self, dim, descending)


def sort_stable(self, *, stable, dim=-1, descending=False):
    return _sort(self, dim, descending)


def sort_values_stable(self, *, stable, dim=-1, descending=False, values, indices):
    v, i = _sort(self, dim, descending)
    values.copy_(v)
    indices.copy_(i)
    return values, indices


def sort_values(self, dim=-1, descending=False, *, values, indices):
    return sort_values_stable(self, stable=True, dim=dim, descending=descending, values=values, indices=indices)
