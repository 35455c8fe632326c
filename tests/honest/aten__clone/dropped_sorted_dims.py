# operator: aten::clone
# style: frozen dataclass plan (dims dropped, sorted, fused) behind an lru_cache, one rank-unrolled copy kernel with tuple arguments
import functools
from dataclasses import dataclass
from typing import Tuple

import torch
import triton
import triton.language as tl


@triton.jit
def _relocate(src, dst, total, extents, src_steps, dst_steps, RANK: tl.constexpr, BLOCK: tl.constexpr):
    lin = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = lin < total
    if RANK == 1:
        take = lin * src_steps[0]
        put = lin * dst_steps[0]
    else:
        rest = lin
        take = tl.zeros([BLOCK], dtype=tl.int64)
        put = tl.zeros([BLOCK], dtype=tl.int64)
        for level in tl.static_range(RANK):
            coord = rest % extents[level]
            rest = rest // extents[level]
            take += coord * src_steps[level]
            put += coord * dst_steps[level]
    tl.store(dst + put, tl.load(src + take, mask=live), mask=live)


@dataclass(frozen=True)
class CopyPlan:
    """A loop nest, innermost level first."""

    extents: Tuple[int, ...]
    src_steps: Tuple[int, ...]
    dst_steps: Tuple[int, ...]

    @property
    def rank(self):
        return len(self.extents)


@functools.lru_cache(maxsize=2048)
def _make_plan(shape, src_strides, dst_strides):
    # The result's memory order decides which level is innermost, so that stores are consecutive.
    levels = sorted(
        ((d, s, n) for n, s, d in zip(shape, src_strides, dst_strides) if n != 1),
        key=lambda level: (level[0], level[1]),
    )
    fused = []
    for d, s, n in levels:
        if fused:
            d0, s0, n0 = fused[-1]
            if d == d0 * n0 and s == s0 * n0:
                fused[-1] = (d0, s0, n0 * n)
                continue
        fused.append((d, s, n))
    if not fused:
        fused.append((1, 1, 1))
    return CopyPlan(
        extents=tuple(level[2] for level in fused),
        src_steps=tuple(level[1] for level in fused),
        dst_steps=tuple(level[0] for level in fused),
    )


def _bytes_of_bool(tensor):
    return tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor


def _copy_into(dst, src):
    total = src.numel()
    if total == 0:
        return dst
    plan = _make_plan(tuple(src.shape), tuple(src.stride()), tuple(dst.stride()))
    block = 1024 if total > 512 else 128
    _relocate[(triton.cdiv(total, block),)](
        _bytes_of_bool(src),
        _bytes_of_bool(dst),
        total,
        plan.extents,
        plan.src_steps,
        plan.dst_steps,
        RANK=plan.rank,
        BLOCK=block,
    )
    return dst


def clone(self):
    return _copy_into(torch.empty_like(self, requires_grad=False), self)


def clone_out(self, *, out):
    return _copy_into(out, self)
