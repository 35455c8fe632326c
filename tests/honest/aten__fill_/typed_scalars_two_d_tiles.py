# operator: aten::fill_
# style: typed scalar parameters (tl.float64, tl.int64), 2-D tiles over (outer, inner), shared jit helper for places
import torch
import triton
import triton.language as tl


@triton.jit
def _places(rows, cols, sizes, strides, inner_stride, RANK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Offsets and mask of one tile. Rows run over the outer dimensions (innermost of them first in the tuples)."""
    pid = tl.program_id(0).to(tl.int64)
    col_tiles = tl.cdiv(cols, BN)
    r = (pid // col_tiles) * BM + tl.arange(0, BM)
    c = (pid % col_tiles) * BN + tl.arange(0, BN)
    rest = r
    off = tl.zeros([BM], dtype=tl.int64)
    for k in tl.static_range(RANK):
        off += (rest % sizes[k]) * strides[k]
        rest = rest // sizes[k]
    mask = (r < rows)[:, None] & (c < cols)[None, :]
    return off[:, None] + (c * inner_stride)[None, :], mask


@triton.jit
def _fill_float(dst_ptr, value: tl.float64, rows, cols, sizes, strides, inner_stride,
                RANK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    off, mask = _places(rows, cols, sizes, strides, inner_stride, RANK, BM, BN)
    v = tl.full([BM, BN], value, dtype=tl.float64).to(dst_ptr.dtype.element_ty)
    tl.store(dst_ptr + off, v, mask=mask)


@triton.jit
def _fill_int(dst_ptr, value: tl.int64, rows, cols, sizes, strides, inner_stride,
              RANK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    off, mask = _places(rows, cols, sizes, strides, inner_stride, RANK, BM, BN)
    v = tl.full([BM, BN], value, dtype=tl.int64).to(dst_ptr.dtype.element_ty)
    tl.store(dst_ptr + off, v, mask=mask)


@triton.jit
def _fill_from(dst_ptr, value_ptr, rows, cols, sizes, strides, inner_stride,
               RANK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    off, mask = _places(rows, cols, sizes, strides, inner_stride, RANK, BM, BN)
    x = tl.load(value_ptr)
    v = tl.broadcast_to(x, [BM, BN]).to(dst_ptr.dtype.element_ty)
    tl.store(dst_ptr + off, v, mask=mask)


def _layout(t):
    """(rows, cols, sizes, strides, inner stride): dimensions sorted by stride and merged where they are adjacent."""
    dims = sorted((s, n) for n, s in zip(t.shape, t.stride()) if n != 1)
    merged = []
    for s, n in dims:
        if merged and s == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0], merged[-1][1] * n)
        else:
            merged.append((s, n))
    if not merged:
        merged = [(1, 1)]
    inner_stride, cols = merged[0]
    sizes = tuple(n for _, n in merged[1:])
    strides = tuple(s for s, _ in merged[1:])
    rows = 1
    for n in sizes:
        rows *= n
    return rows, cols, sizes, strides, inner_stride


def _launch(kernel, t, value):
    if t.numel() == 0:
        return t
    rows, cols, sizes, strides, inner_stride = _layout(t)
    bn = min(1024, triton.next_power_of_2(cols))
    bm = min(1024 // bn, triton.next_power_of_2(rows))
    grid = (triton.cdiv(rows, bm) * triton.cdiv(cols, bn),)
    if not sizes:  # kernels take no empty tuples
        sizes, strides = (1,), (0,)
    kernel[grid](t, value, rows, cols, sizes, strides, inner_stride, RANK=len(sizes), BM=bm, BN=bn)
    return t


def fill__Scalar(self, value):
    if self.dtype == torch.bool:
        return _launch(_fill_int, self, int(bool(value)))
    if self.is_floating_point():
        if isinstance(value, float):
            return _launch(_fill_float, self, value)
        return _launch(_fill_int, self, int(value))
    return _launch(_fill_int, self, int(value))


def fill__Tensor(self, value):
    return _launch(_fill_from, self, value)
