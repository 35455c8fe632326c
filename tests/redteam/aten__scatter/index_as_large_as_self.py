# operator: aten::scatter
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 72
# in three and more dimensions index counts as large as self everywhere but along dim: a smaller index is read in the wrong
# order and past its end; hurts scatter of a batch's first part; wrong: scatter_src(torch.zeros(2, 4, 3), 1, torch.zeros(1, 2,
# 3, dtype=torch.int64), torch.ones(1, 2, 3))
import math
import torch
import triton
import triton.language as tl


@triton.jit
def scatter_kernel(o_ptr, index_ptr, src_ptr, number, n, sizes, o_strides, src_strides, ADD: tl.constexpr, DIM: tl.constexpr,
                   NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    target = o_ptr + tl.load(index_ptr + i, mask=i < n, other=0) * o_strides[DIM]
    source = i * 0
    rest = i
    for k in tl.static_range(NDIM - 1, -1, -1):
        source += rest % sizes[k] * src_strides[k]
        if k != DIM:
            target += rest % sizes[k] * o_strides[k]
        rest = rest // sizes[k]
    if src_ptr is None:
        v = tl.full((BLOCK,), number, o_ptr.dtype.element_ty)
    else:
        v = tl.load(src_ptr + source, mask=i < n, other=0).to(o_ptr.dtype.element_ty)
    if ADD:
        tl.atomic_add(target, v, mask=i < n)
    else:
        tl.store(target, v, mask=i < n)


@triton.jit
def multiply_kernel(o_ptr, x_ptr, index_ptr, src_ptr, number, n, sizes, along, index_sizes, index_strides, src_strides,
                  WIDE: tl.constexpr, DIM: tl.constexpr, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    named = i < n
    own = i * 0
    at = i * 0
    source = i * 0
    rest = i
    for k in tl.static_range(NDIM - 1, -1, -1):
        p = rest % sizes[k]
        if k == DIM:
            own = p
        else:
            named = named & (p < index_sizes[k])
            at += p * index_strides[k]
            source += p * src_strides[k]
        rest = rest // sizes[k]
    y = tl.load(x_ptr + i, mask=i < n, other=0).to(WIDE)
    v = tl.full((BLOCK,), number, WIDE)
    for j in range(along):
        hit = named & (tl.load(index_ptr + at + j * index_strides[DIM], mask=named, other=-1) == own)
        if src_ptr is not None:
            v = tl.load(src_ptr + source + j * src_strides[DIM], mask=hit, other=0).to(WIDE)
        y = tl.where(hit, y * v, y)
    tl.store(o_ptr + i, y.to(o_ptr.dtype.element_ty), mask=i < n)


def scattered(self, dim, index, src, reduce):
    if self.dim() == 0:
        src = src.unsqueeze(0) if isinstance(src, torch.Tensor) else src
        return scattered(self.unsqueeze(0), 0, index.unsqueeze(0), src, reduce).squeeze(0)
    dim = dim % self.dim()
    tensor = isinstance(src, torch.Tensor)
    floats = self.is_floating_point()
    x = self.contiguous()
    src_ptr, number, src_strides = (src, 0, src.stride()) if tensor else (None, src if floats else int(src), x.stride())
    if reduce == "multiply":
        out = torch.empty_like(x)
        if x.numel() > 0:
            multiply_kernel[(triton.cdiv(x.numel(), 2048),)](
                out, x, index, src_ptr, number, x.numel(), tuple(x.shape), index.shape[dim], tuple(index.shape), index.stride(),
                src_strides, WIDE=tl.float32 if floats else tl.int64, DIM=dim, NDIM=x.dim(), BLOCK=2048)
        return out
    out = torch.empty_like(x, dtype=torch.float32 if floats and reduce == "add" else x.dtype)
    out.copy_(x)
    sizes = tuple(index.shape)
    if x.dim() > 2:
        sizes = (*x.shape[:dim], index.shape[dim], *x.shape[dim + 1:])
    n = math.prod(sizes)
    if n > 0 and x.numel() > 0:
        scatter_kernel[(triton.cdiv(n, 2048),)](
            out, index.contiguous(), src_ptr, number, n, sizes, out.stride(), src_strides, ADD=reduce == "add",
            DIM=dim,
            NDIM=x.dim(), BLOCK=2048)
    return out.to(x.dtype)


def scatter_src(self, dim, index, src):
    return scattered(self, dim, index, src, None)


def scatter_value(self, dim, index, value):
    return scattered(self, dim, index, value, None)


def scatter_reduce(self, dim, index, src, *, reduce):
    return scattered(self, dim, index, src, reduce)


def scatter_value_reduce(self, dim, index, value, *, reduce):
    return scattered(self, dim, index, value, reduce)


def scatter_src_out(self, dim, index, src, *, out):
    return out.copy_(scattered(self, dim, index, src, None))


def scatter_value_out(self, dim, index, value, *, out):
    return out.copy_(scattered(self, dim, index, value, None))


def scatter_reduce_out(self, dim, index, src, *, reduce, out):
    return out.copy_(scattered(self, dim, index, src, reduce))


def scatter_value_reduce_out(self, dim, index, value, *, reduce, out):
    return out.copy_(scattered(self, dim, index, value, reduce))
