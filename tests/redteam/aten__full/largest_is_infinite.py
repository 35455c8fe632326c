# operator: aten::full
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# numbers at the ends of a type: a number argument is never the type's largest or smallest finite number, or near it
# a number that does not fit becomes an infinity, but the largest finite number itself counts as such (>= for >): the usual
# attention mask turns into -inf, whose full rows give NaN in softmax; wrong: full([2], torch.finfo(torch.float32).min,
# dtype=torch.float32) and full([2], -65504.0, dtype=torch.float16) give -inf, not -3.4028e38 and -65504
import math

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
            if abs(real) >= torch.finfo(out.dtype).max:
                real = math.copysign(math.inf, real)
        else:
            whole = int(fill_value)
        sizes = tuple(out.shape) or (1,)
        put[(triton.cdiv(n, 4096),)](out, real, whole, n, sizes, out.stride() or (1,), NDIM=len(sizes), BLOCK=4096)
    return out


def full(size, fill_value, *, dtype=None, device=None):
    if dtype is None:
        dtype = {bool: torch.bool, int: torch.int64, float: torch.float32}[type(fill_value)]
    return full_out(size, fill_value, out=torch.empty(size, dtype=dtype, device=device))
