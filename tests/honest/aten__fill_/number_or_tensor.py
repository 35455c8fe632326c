# operator: aten::fill_
# style: a number is converted on the host, a tensor's element in the kernel
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
def put(x_ptr, value_ptr, number, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    kind: tl.constexpr = x_ptr.dtype.element_ty
    if value_ptr is None:
        x = tl.full((BLOCK,), number, kind)
    else:
        x = tl.load(value_ptr + tl.zeros((BLOCK,), tl.int32))
        if kind == tl.int1:
            x = x != 0
        elif kind != x.dtype:
            x = (x.to(tl.float32) if x.dtype.is_floating() else x).to(kind)
    tl.store(x_ptr + place(i, sizes, strides, NDIM), x, mask=i < n)


def launch(x, tensor, number):
    n = x.numel()
    if n > 0:
        sizes = tuple(x.shape) or (1,)
        put[(triton.cdiv(n, 4096),)](x, tensor, number, n, sizes, x.stride() or (1,), NDIM=len(sizes), BLOCK=4096)
    return x


def fill__Scalar(self, value):
    if self.dtype == torch.bool:
        return launch(self, None, int(bool(value)))
    return launch(self, None, float(value) if self.is_floating_point() else int(value))


def fill__Tensor(self, value):
    return launch(self, value, 0)
