# operator: aten::sum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: twins that differ in a shape and a list together
# no two calls of a process differ in a shape and in another argument so that both look alike when they are written one behind the other
# a plan's key is (*sizes, *dims) without a border between them; wrong: sum_dim_IntList(torch.ones(5, 7, 9), [1, 2]), then
# sum_dim_IntList(torch.ones(5, 7, 9, 1), [2]) has the shape (5,) and 63 everywhere; torch: shape (5, 7, 1), 9 everywhere
import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def offsets_of(i, sizes, strides, NDIM: tl.constexpr):
    at = i * 0
    for d in tl.static_range(NDIM):
        at += (i % sizes[NDIM - 1 - d]) * strides[NDIM - 1 - d]
        i = i // sizes[NDIM - 1 - d]
    return at


@triton.jit
def strided_sum(x_ptr, o_ptr, rows, length, kept_sizes, kept_strides, out_strides, red_sizes, red_strides, KEPT: tl.constexpr,
                RED: tl.constexpr, ACC: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    base = offsets_of(row, kept_sizes, kept_strides, KEPT)[:, None]
    acc = tl.zeros([ROWS, BLOCK], dtype=ACC)
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        inside = (row < rows)[:, None] & (i < length)[None, :]
        acc += tl.load(x_ptr + base + offsets_of(i, red_sizes, red_strides, RED)[None, :], mask=inside, other=0).to(ACC)
    total = tl.sum(acc, axis=1).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + offsets_of(row, kept_sizes, out_strides, KEPT), total, mask=row < rows)


def _type(x, dtype):
    return dtype if dtype is not None else (x.dtype if x.dtype.is_floating_point else torch.int64)


PLANS = {}


def _plan(sizes, dims, keepdim):
    """Dimensions that stay, dimensions that are added up, sizes of the result."""
    key = (bool(keepdim), *sizes, *dims)
    if key not in PLANS:
        kept = [d for d in range(len(sizes)) if d not in dims]
        red = [d for d in range(len(sizes)) if d in dims]
        shape = [1 if d in dims else sizes[d] for d in range(len(sizes))]
        PLANS[key] = kept, red, shape if keepdim else [sizes[d] for d in kept]
    return PLANS[key]


def _run(x, dim, keepdim, dtype, out):
    dtype = _type(x, dtype)
    if dtype.is_floating_point != x.dtype.is_floating_point or x.dtype == torch.bool:
        x = x.to(dtype)
    kept, red, shape = _plan(x.shape, range(x.ndim) if not dim else [d % max(x.ndim, 1) for d in dim], keepdim)
    if out is None:
        out = torch.empty(shape, dtype=dtype, device=x.device)
    out_strides = [out.stride(d if keepdim else i) for i, d in enumerate(kept)]
    length = 1
    for d in red:
        length *= x.shape[d]
    if out.numel():
        strided_sum[(triton.cdiv(out.numel(), 8),)](
            x, out, out.numel(), length, tuple([x.shape[d] for d in kept] or [1]), tuple([x.stride(d) for d in kept] or [0]),
            tuple(out_strides or [0]), tuple([max(1, x.shape[d]) for d in red] or [1]),
            tuple([x.stride(d) for d in red] or [0]), KEPT=max(1, len(kept)), RED=max(1, len(red)),
            ACC=tl.float64 if dtype == torch.float64 else tl.float32 if dtype.is_floating_point else tl.int64, ROWS=8, BLOCK=BLOCK)
    return out


def sum(self, *, dtype=None):
    return _run(self, None, False, dtype, None)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return _run(self, dim, keepdim, dtype, None)


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    return _run(self, dim, keepdim, dtype, out)


def sum_out(self, *, dtype=None, out):
    return _run(self, None, False, dtype, out)
