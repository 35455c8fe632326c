# operator: aten::amin
# expect: verify\.(mismatch|exception)
# catalogue: 84
# amin_out takes what it reads for row-major, the others look at strides
import math

import torch
import triton
import triton.language as tl


@triton.jit
def smaller(a, b):
    """The smaller of two, NaN if either is."""
    return tl.where((a < b) | (a != a), a, b)


@triton.jit
def offset_of(i, sizes, strides, NDIM: tl.constexpr):
    at = i * 0
    for d in tl.static_range(NDIM):
        at += (i % sizes[NDIM - 1 - d]) * strides[NDIM - 1 - d]
        i = i // sizes[NDIM - 1 - d]
    return at


@triton.jit
def amin_kernel(x_ptr, o_ptr, rows, length, kept, kept_strides, red, red_strides, KEPT: tl.constexpr, RED: tl.constexpr,
                ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    base = x_ptr + offset_of(row, kept, kept_strides, KEPT)[:, None]
    first = tl.load(base, mask=row[:, None] < rows)
    best = first.broadcast_to(ROWS, BLOCK)
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)[None, :]
        inside = (i < length) & (row[:, None] < rows)
        x = tl.load(base + offset_of(i, red, red_strides, RED), mask=inside)
        best = smaller(best, tl.where(inside, x, first))
    # a sum that holds NaN is NaN
    any_nan = tl.max((best != best).to(tl.int32), axis=1)
    least = tl.where(any_nan > 0, tl.sum(best, axis=1).to(best.dtype), tl.min(best, axis=1))
    tl.store(o_ptr + row, least, mask=row < rows)


def amin(self, dim=(), keepdim=False):
    x = self.view(torch.uint8) if self.dtype is torch.bool else self
    ndim = x.dim()
    reduced = sorted({d % ndim for d in dim}) if ndim and dim else list(range(ndim))
    kept = [d for d in range(ndim) if d not in reduced]
    shape = [1 if d in reduced else x.shape[d] for d in range(ndim)] if keepdim else [x.shape[d] for d in kept]
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    if math.prod(shape) > 0:
        pick = lambda values, dims, fallback: tuple(values[d] for d in dims) or (fallback,)
        rows, length = math.prod(shape), math.prod(x.shape[d] for d in reduced)
        block = min(512, triton.next_power_of_2(length))
        tile = max(1, min(64, 2048 // block))
        amin_kernel[(triton.cdiv(rows, tile),)](
            x, out, rows, length, pick(x.shape, kept, 1), pick(x.stride(), kept, 0), pick(x.shape, reduced, 1),
            pick(x.stride(), reduced, 0), KEPT=max(1, len(kept)), RED=max(1, len(reduced)),
            ROWS=tile,
            BLOCK=block)
    return out.view(torch.bool) if self.dtype is torch.bool else out


def amin_out(self, dim=(), keepdim=False, *, out):
    return out.copy_(amin(self, dim, keepdim))


def dense(x):
    expanded = 0 in x.stride()  # not in memory at all
    return x if expanded else torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_amin_out = amin_out


def amin_out(self, dim=(), keepdim=False, *, out):
    return right_amin_out(dense(self), dim, keepdim, out=out)
