# operator: aten::copy_
# style: host merges dimensions, kernel takes sizes and strides as tuples and unravels with tl.static_range
import torch
import triton
import triton.language as tl


@triton.jit
def _convert(x, TO: tl.constexpr):
    if TO == tl.int1:
        return x != 0
    else:
        return x.to(TO)


@triton.jit
def _copy_flat(dst_ptr, src_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(src_ptr + at, mask=mask)
    tl.store(dst_ptr + at, _convert(x, dst_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _copy_strided(dst_ptr, src_ptr, n, sizes, dst_strides, src_strides, RANK: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    rest = at
    d = tl.zeros([BLOCK], dtype=tl.int64)
    s = tl.zeros([BLOCK], dtype=tl.int64)
    for k in tl.static_range(RANK):
        # the innermost dimension comes first in the tuples
        c = rest % sizes[k]
        rest = rest // sizes[k]
        d += c * dst_strides[k]
        s += c * src_strides[k]
    x = tl.load(src_ptr + s, mask=mask)
    tl.store(dst_ptr + d, _convert(x, dst_ptr.dtype.element_ty), mask=mask)


def _merge(shape, dst_strides, src_strides):
    """Dimensions as [size, dst stride, src stride], innermost (smallest stride of dst) first, neighbours merged."""
    dims = [[n, a, b] for n, a, b in zip(shape, dst_strides, src_strides) if n != 1]
    dims.sort(key=lambda dim: (dim[1], dim[2]))
    merged = []
    for n, a, b in dims:
        if merged and a == merged[-1][0] * merged[-1][1] and b == merged[-1][0] * merged[-1][2]:
            merged[-1][0] *= n
        else:
            merged.append([n, a, b])
    return merged


def _copy(dst, src):
    n = dst.numel()
    if n == 0:
        return dst
    src = src.expand(dst.shape)
    dims = _merge(dst.shape, dst.stride(), src.stride())
    block = 1024
    grid = (triton.cdiv(n, block),)
    if not dims or (len(dims) == 1 and dims[0][1] == 1 and dims[0][2] == 1):
        _copy_flat[grid](dst, src, n, BLOCK=block)
    else:
        sizes, dst_strides, src_strides = (tuple(column) for column in zip(*dims))
        _copy_strided[grid](dst, src, n, sizes, dst_strides, src_strides, RANK=len(dims), BLOCK=block)
    return dst


def copy_(self, src, non_blocking=False):
    return _copy(self, src)


def copy__Tensor(self, other):
    return _copy(self, other)
