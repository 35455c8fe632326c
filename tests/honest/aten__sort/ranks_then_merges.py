# operator: aten::sort
# style: ranks within chunks, then passes that merge by binary search
import torch
import triton
import triton.language as tl

_CHUNK = 128  # elements that one tile ranks by comparing all pairs


@triton.jit
def _sort_key(x, DESCENDING: tl.constexpr):
    """Integers in the order of the elements: +0 and -0 alike, all NaN alike and last."""
    if x.dtype == tl.int64:
        key = x
    elif x.dtype.is_floating():
        f = x.to(tl.float32) + 0.0  # -0 becomes +0
        bits = f.to(tl.int32, bitcast=True)
        key = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        key = tl.where(f != f, 0x7FFFFFFF, key)
    else:
        key = x.to(tl.int32)
    if DESCENDING:
        key = ~key
    return key


@triton.jit
def _chunk_sort_kernel(
    x_ptr, key_ptr, pos_ptr, values_ptr, indices_ptr,
    rows, n, chunks,
    DESCENDING: tl.constexpr,
    FINAL: tl.constexpr,  # a row is one chunk: write the results
    R: tl.constexpr,
    C: tl.constexpr,
):
    pid = tl.program_id(0)
    row = (pid // chunks).to(tl.int64) * R + tl.arange(0, R)
    start = (pid % chunks) * C
    col = start + tl.arange(0, C)
    base = row[:, None] * n
    mask = (row < rows)[:, None] & (col < n)[None, :]

    x = tl.load(x_ptr + base + col[None, :], mask=mask, other=0)
    key = _sort_key(x, DESCENDING)

    # rank = number of elements that come before: smaller ones, and equal ones further left
    mine = key[:, :, None]
    theirs = key[:, None, :]
    i = tl.arange(0, C)
    left = i[None, None, :] < i[None, :, None]
    there = mask[:, None, :]
    before = ((theirs < mine) | ((theirs == mine) & left)) & there
    rank = start + tl.sum(before.to(tl.int32), axis=2)

    at = base + rank
    if FINAL:
        tl.store(values_ptr + at, x, mask=mask)
        tl.store(indices_ptr + at, tl.zeros_like(at) + col[None, :], mask=mask)
    else:
        tl.store(key_ptr + at, key, mask=mask)
        tl.store(pos_ptr + at, tl.zeros_like(rank) + col[None, :], mask=mask)


@triton.jit
def _merge_kernel(
    x_ptr, key_ptr, pos_ptr, key_out_ptr, pos_out_ptr, values_ptr, indices_ptr,
    n, run, steps, total,
    FINAL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # Every element looks up by bisection how many elements of the sibling run come before it.
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < total
    row = at // n
    col = at - row * n
    base = row * n
    pair = col // (2 * run) * (2 * run)
    second = (col - pair) >= run
    lo_a = tl.where(second, pair, pair + run)  # the sibling run
    lo_a = tl.minimum(lo_a, n)
    hi_a = tl.minimum(lo_a + run, n)
    own = tl.where(second, col - pair - run, col - pair)

    key = tl.load(key_ptr + at, mask=mask, other=0)
    pos = tl.load(pos_ptr + at, mask=mask, other=0)

    lo = lo_a
    hi = hi_a
    for _ in range(steps):
        open_ = lo < hi
        mid = (lo + hi) // 2
        k = tl.load(key_ptr + base + mid, mask=mask & open_, other=0)
        # On ties the first run goes first.
        before = tl.where(second, k <= key, k < key)
        lo = tl.where(open_ & before, mid + 1, lo)
        hi = tl.where(open_ & (before == 0), mid, hi)
    to = base + pair + own + (lo - lo_a)

    if FINAL:
        x = tl.load(x_ptr + base + pos, mask=mask)
        tl.store(values_ptr + to, x, mask=mask)
        tl.store(indices_ptr + to, pos.to(tl.int64), mask=mask)
    else:
        tl.store(key_out_ptr + to, key, mask=mask)
        tl.store(pos_out_ptr + to, pos, mask=mask)


def _sort_rows(x, values, indices, descending):
    """x, values, indices: contiguous, sorted along their last dimension."""
    n = x.shape[-1]
    total = x.numel()
    rows = total // n
    device = x.device

    C = min(_CHUNK, triton.next_power_of_2(n))
    R = max(1, min(8192 // (C * C), triton.next_power_of_2(rows)))
    chunks = triton.cdiv(n, C)
    final = chunks == 1
    if final:
        key = pos = key2 = pos2 = indices
    else:
        key_type = torch.int64 if x.dtype == torch.int64 else torch.int32
        key = torch.empty(total, dtype=key_type, device=device)
        pos = torch.empty(total, dtype=torch.int32, device=device)
        key2 = torch.empty_like(key)
        pos2 = torch.empty_like(pos)
    _chunk_sort_kernel[(triton.cdiv(rows, R) * chunks,)](
        x, key, pos, values, indices, rows, n, chunks,
        DESCENDING=descending, FINAL=final, R=R, C=C, num_warps=4)

    run = C
    BLOCK = 1024
    while run < n:
        _merge_kernel[(triton.cdiv(total, BLOCK),)](
            x, key, pos, key2, pos2, values, indices, n, run, run.bit_length(), total,
            FINAL=2 * run >= n, BLOCK=BLOCK, num_warps=4)
        key, key2 = key2, key
        pos, pos2 = pos2, pos
        run *= 2


def _sorted(self, dim, descending):
    x = self.detach()
    if x.dim() == 0:
        x = x.unsqueeze(0)
        dim = 0
    x = x.movedim(dim, -1).contiguous()
    if x.dtype == torch.bool:
        x = x.view(torch.uint8)
    values = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    indices = torch.empty(x.shape, dtype=torch.int64, device=x.device)
    if x.numel() > 0:
        _sort_rows(x, values, indices, bool(descending))
    if self.dtype == torch.bool:
        values = values.view(torch.bool)
    if self.dim() == 0:
        return values.view(()), indices.view(())
    return values.movedim(-1, dim), indices.movedim(-1, dim)


def sort(self, dim=-1, descending=False):
    values, indices = _sorted(self, dim, descending)
    return values.contiguous(), indices.contiguous()


def sort_stable(self, *, stable, dim=-1, descending=False):
    return sort(self, dim, descending)


def sort_values(self, dim=-1, descending=False, *, values, indices):
    v, i = _sorted(self, dim, descending)
    values.copy_(v)
    indices.copy_(i)
    return values, indices


def sort_values_stable(self, *, stable, dim=-1, descending=False, values, indices):
    return sort_values(self, dim, descending, values=values, indices=indices)
