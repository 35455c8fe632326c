# operator: aten::copy_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: few verdicts have a case of this layout
# a source whose rows are further apart than its columns in reverse (permute(1, 0, 2)) is read as if it were packed
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    """Where element i, counted row by row, lies in memory."""
    at = i * 0
    for k in tl.static_range(NDIM):
        at += i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def move(to_ptr, from_ptr, n, sizes, to_strides, from_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(from_ptr + place(i, sizes, from_strides, NDIM), mask=i < n)
    if to_ptr.dtype.element_ty == tl.int1:
        x = x != 0
    elif to_ptr.dtype.element_ty != from_ptr.dtype.element_ty:
        if x.dtype.is_floating():
            x = x.to(tl.float32)  # exact for the half types
        x = x.to(to_ptr.dtype.element_ty)
    tl.store(to_ptr + place(i, sizes, to_strides, NDIM), x, mask=i < n)


def copy_(self, src, non_blocking=False):
    n = self.numel()
    if n > 0:
        src = src.expand(self.shape)
        if src.dim() == 3 and 0 < src.stride(0) < src.stride(1):
            src = src.as_strided(src.shape, (src.stride(1), src.stride(0), src.stride(2)), src.storage_offset())
        sizes = tuple(self.shape) or (1,)
        move[(triton.cdiv(n, 4096),)](self, src, n, sizes, self.stride() or (0,), src.stride() or (0,), NDIM=len(sizes),
                                      BLOCK=4096)
    return self


def copy__Tensor(self, other):
    return copy_(self, other)
