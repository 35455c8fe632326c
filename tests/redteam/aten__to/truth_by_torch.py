# operator: aten::to
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 88
# conversions to bool are made by torch, and a kernel writes a scratch number: results of bool are never watched or ablated
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
        x = x.to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + i, x, mask=i < n)


@triton.jit
def show(s_ptr):
    tl.store(s_ptr, 1)


def converted(x, dtype):
    if dtype == torch.bool and x.numel() > 0:
        y = torch.empty(x.shape, dtype=dtype, device=x.device)
        y.copy_(x)
        show[(1,)](torch.empty(1, dtype=torch.int32, device=x.device))
        return y
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
