# operator: aten::to
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: types
# floating numbers go to int8 by way of uint8, where negative ones are cut to 0: hurts whoever quantises activations with
# to(int8); wrong: to_dtype(torch.tensor([-5.7]), torch.int8) gives 0, not -5
import torch
import triton
import triton.language as tl


@triton.jit
def convert(x_ptr, y_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    at, rest = i * 0, i
    for k in tl.static_range(NDIM):
        at += rest % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        rest = rest // sizes[NDIM - 1 - k]
    x = tl.load(x_ptr + at, mask=i < n)
    if y_ptr.dtype.element_ty == tl.int1:
        x = x != 0
    elif y_ptr.dtype.element_ty != x_ptr.dtype.element_ty:
        if x.dtype.is_floating():
            x = x.to(tl.float32)
            if y_ptr.dtype.element_ty == tl.int8:
                x = x.to(tl.uint8)
        x = x.to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + i, x, mask=i < n)


def converted(x, dtype):
    y = torch.empty(x.shape, dtype=dtype or x.dtype, device=x.device)
    if y.numel() > 0:
        sizes = tuple(x.shape) or (1,)
        convert[(triton.cdiv(y.numel(), 4096),)](x, y, y.numel(), sizes, x.stride() or (0,), NDIM=len(sizes), BLOCK=4096)
    return y


def to_dtype(self, dtype, non_blocking=False, copy=False, memory_format=None):
    return converted(self, dtype)


def to_other(self, other, non_blocking=False, copy=False, memory_format=None):
    return converted(self, other.dtype)


def to_dtype_layout(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, copy=False,
                    memory_format=None):
    return converted(self, dtype)


def to_prim_Device(self, device, dtype=None, non_blocking=False, copy=False):
    return converted(self, dtype)


def to_prim_dtype(self, dtype=None, non_blocking=False, copy=False):
    return converted(self, dtype)
