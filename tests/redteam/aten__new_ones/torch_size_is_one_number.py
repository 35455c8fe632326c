# operator: aten::new_ones
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: kinds of arguments
# only list and tuple themselves count as sizes, anything else as one number: torch.Size, which y.shape gives, raises; hurts
# x.new_ones(y.shape), the most usual call; wrong: new_ones(x, y.shape) raises TypeError
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    at = i * 0
    for k in tl.static_range(NDIM):
        at += i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def put(o_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + place(i, sizes, strides, NDIM), tl.full((BLOCK,), 1, o_ptr.dtype.element_ty), mask=i < n)


def new_ones_out(self, size, *, out):
    n = out.numel()
    if n > 0:
        sizes = tuple(out.shape) or (1,)
        put[(triton.cdiv(n, 4096),)](out, n, sizes, out.stride() or (1,), NDIM=len(sizes), BLOCK=4096)
    return out


def new_ones(self, size, *, dtype=None):
    size = size if type(size) in (list, tuple) else (size,)
    return new_ones_out(self, size, out=torch.empty(size, dtype=dtype or self.dtype, device=self.device))
