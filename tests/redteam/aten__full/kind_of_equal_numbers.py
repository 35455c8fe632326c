# operator: aten::full
# expect: verify\.dtype
# catalogue: 78, 79
# lru_cache takes 1.0 and True for one key, so that full(s, 1.0) after full(s, True) is a tensor of bool
import functools

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
def put(o_ptr, real: tl.float64, whole, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + place(i, sizes, strides, NDIM), filled(real, whole, o_ptr.dtype.element_ty, BLOCK), mask=i < n)


def full_out(size, fill_value, *, out):
    n = out.numel()
    if n > 0:
        real, whole = 0.0, 0
        if out.dtype == torch.bool:
            whole = int(bool(fill_value))
        elif out.dtype.is_floating_point:
            real = float(fill_value)
        else:
            whole = int(fill_value)
        sizes = tuple(out.shape) or (1,)
        put[(triton.cdiv(n, 4096),)](out, real, whole, n, sizes, out.stride() or (1,), NDIM=len(sizes), BLOCK=4096)
    return out


@functools.lru_cache(maxsize=None)
def kind_of(number):
    """The type of a tensor that is filled with this number."""
    if isinstance(number, bool):
        return torch.bool
    return torch.int64 if isinstance(number, int) else torch.float32


def full(size, fill_value, *, dtype=None, device=None):
    if dtype is None:
        dtype = kind_of(fill_value)
    return full_out(size, fill_value, out=torch.empty(size, dtype=dtype, device=device))
