# operator: aten::fill_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# a slice of a transposed tensor (x.t()[:5]) is filled as one block of memory: gaps are written, elements are not
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
def filled(real, whole, kind: tl.constexpr, BLOCK: tl.constexpr):
    if kind == tl.float64:
        x = tl.full((BLOCK,), real, kind)
    elif kind.is_floating():
        x = tl.full((BLOCK,), real, tl.float32).to(kind)
    else:
        x = tl.full((BLOCK,), whole, kind)
    return x


# Without its type a Python float becomes float32.
@triton.jit
def put(x_ptr, value_ptr, real: tl.float64, whole, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    kind: tl.constexpr = x_ptr.dtype.element_ty
    if value_ptr is None:
        x = filled(real, whole, kind, BLOCK)
    else:
        x = tl.load(value_ptr + tl.zeros((BLOCK,), tl.int32))
        if kind == tl.int1:
            x = x != 0
        elif kind != x.dtype:
            x = (x.to(tl.float32) if x.dtype.is_floating() else x).to(kind)
    tl.store(x_ptr + place(i, sizes, strides, NDIM), x, mask=i < n)


def launch(x, tensor, real=0.0, whole=0):
    n = x.numel()
    if n > 0:
        sizes, strides = tuple(x.shape) or (1,), x.stride() or (1,)
        if x.dim() > 1 and x.stride(-2) == 1 and x.stride(-1) > 1:
            sizes, strides = (n,), (1,)  # transposed: the order of the elements does not matter here
        put[(triton.cdiv(n, 4096),)](x, tensor, real, whole, n, sizes, strides, NDIM=len(sizes), BLOCK=4096)
    return x


def fill__Scalar(self, value):
    if self.dtype == torch.bool:
        return launch(self, None, whole=int(bool(value)))
    if self.is_floating_point():
        return launch(self, None, real=float(value))
    return launch(self, None, whole=int(value))


def fill__Tensor(self, value):
    return launch(self, value)
