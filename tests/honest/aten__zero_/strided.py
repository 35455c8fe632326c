# operator: aten::zero_
# style: zeros by sizes and strides, in place
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
def clear(x_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + place(i, sizes, strides, NDIM), tl.zeros((BLOCK,), x_ptr.dtype.element_ty), mask=i < n)


def zero_(self):
    n = self.numel()
    if n > 0:
        sizes = tuple(self.shape) or (1,)
        clear[(triton.cdiv(n, 4096),)](self, n, sizes, self.stride() or (1,), NDIM=len(sizes), BLOCK=4096)
    return self
