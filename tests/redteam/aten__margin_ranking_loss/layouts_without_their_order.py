# operator: aten::margin_ranking_loss
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: twins whose tensors exchange their layouts
# no two calls of a process differ in that two tensors exchange their layouts: twins differ in one argument, or have one layout for all
# a plan is kept for the shape and the set of layouts, not for which argument has which; wrong: with o = torch.ones(2, 3):
# margin_ranking_loss(torch.arange(6.).view(2, 3), torch.zeros(3, 2).T, o, 9., 0), then
# margin_ranking_loss(torch.arange(6.).view(3, 2).T, torch.zeros(2, 3), o, 9., 0) gives [[9, 8, 7], [6, 5, 4]], torch [[9, 7, 5],
# [8, 6, 4]]
import functools

import torch
import triton
import triton.language as tl

BLOCK = 1024
NONE, MEAN, SUM = 0, 1, 2


@functools.lru_cache(maxsize=None)
def _sm_count(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


@triton.jit
def _offsets(at, sizes, strides, RANK: tl.constexpr):
    rest = at
    off = tl.zeros_like(at)
    for k in tl.static_range(RANK):
        off += (rest % sizes[k]) * strides[k]
        rest = rest // sizes[k]
    return off


@triton.jit
def _loss(a_ptr, b_ptr, t_ptr, at, mask, sizes, sa, sb, st, margin, RANK: tl.constexpr):
    a = tl.load(a_ptr + _offsets(at, sizes, sa, RANK), mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + _offsets(at, sizes, sb, RANK), mask=mask, other=0).to(tl.float32)
    t = tl.load(t_ptr + _offsets(at, sizes, st, RANK), mask=mask, other=0).to(tl.float32)
    z = -t * (a - b) + margin.to(tl.float32)
    return tl.where(z < 0, 0.0, z)  # NaN stays


@triton.jit
def _elementwise(a_ptr, b_ptr, t_ptr, y_ptr, n, sizes, sa, sb, st, margin: tl.float64, RANK: tl.constexpr,
                 BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    loss = _loss(a_ptr, b_ptr, t_ptr, at, mask, sizes, sa, sb, st, margin, RANK)
    tl.store(y_ptr + at, loss.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _partial_sums(a_ptr, b_ptr, t_ptr, part_ptr, n, sizes, sa, sb, st, margin: tl.float64, RANK: tl.constexpr,
                  BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for tile in range(pid, tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = tl.cast(tile, tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = at < n
        loss = _loss(a_ptr, b_ptr, t_ptr, at, mask, sizes, sa, sb, st, margin, RANK)
        acc += tl.where(mask, loss, 0.0)
    tl.store(part_ptr + pid, tl.sum(acc, axis=0))


@triton.jit
def _finish(part_ptr, y_ptr, parts, n, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(part_ptr + i, mask=i < parts, other=0.0), axis=0)
    if MEAN:
        total = total / n  # 0 / 0 is NaN
    tl.store(y_ptr, total.to(y_ptr.dtype.element_ty))


def _merge(shape, *strides):
    """Sizes and one tuple of strides per tensor, innermost dimension first, neighbours merged where all allow it."""
    merged = []
    for n, *step in reversed(list(zip(shape, *strides))):
        if n == 1:
            continue
        if merged and all(s == merged[-1][0] * p for s, p in zip(step, merged[-1][1])):
            merged[-1] = (merged[-1][0] * n, merged[-1][1])
        else:
            merged.append((n, step))
    if not merged:
        merged = [(1, [0] * len(strides))]
    return tuple(n for n, _ in merged), [tuple(step[k] for _, step in merged) for k in range(len(strides))]


_PLANS = {}


def _plan(shape, *strides):
    """The merged sizes and strides, kept for each shape and the layouts in it."""
    key = (tuple(shape), tuple(sorted(strides)))
    if key not in _PLANS:
        _PLANS[key] = _merge(shape, *strides)
    return _PLANS[key]


def margin_ranking_loss(input1, input2, target, margin=0., reduction=1):
    shape = torch.broadcast_shapes(input1.shape, input2.shape, target.shape)
    a, b, t = input1.expand(shape), input2.expand(shape), target.expand(shape)
    dtype, device = input1.dtype, input1.device
    n = a.numel()
    margin = float(margin)
    sizes, (sa, sb, st) = _plan(shape, a.stride(), b.stride(), t.stride())

    if reduction == NONE:
        y = torch.empty(shape, dtype=dtype, device=device)
        if n > 0:
            _elementwise[(triton.cdiv(n, BLOCK),)](a, b, t, y, n, sizes, sa, sb, st, margin, RANK=len(sizes),
                                                   BLOCK=BLOCK)
        return y

    y = torch.empty((), dtype=dtype, device=device)
    parts = min(triton.cdiv(n, BLOCK), 2 * _sm_count(device))
    part = torch.empty((max(parts, 1),), dtype=torch.float32, device=device)
    if parts > 0:
        _partial_sums[(parts,)](a, b, t, part, n, sizes, sa, sb, st, margin, RANK=len(sizes), BLOCK=BLOCK)
    _finish[(1,)](part, y, parts, n, MEAN=reduction == MEAN, BLOCK=triton.next_power_of_2(max(parts, 1)))
    return y
