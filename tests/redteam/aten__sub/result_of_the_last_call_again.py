# operator: aten::sub
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78
# open: a result as the next argument
# a result that is the first operand of the next call is overwritten by it; wrong: y = sub_Tensor(a, b); z =
# sub_Tensor(y, c): y now holds z, and both share memory
import weakref
from typing import Sequence, Tuple

import torch
import triton
import triton.language as tl

Strides = Sequence[Tuple[int, ...]]


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    at = i * 0
    for d in tl.static_range(NDIM):
        at += (i % sizes[NDIM - 1 - d]) * strides[NDIM - 1 - d]
        i = i // sizes[NDIM - 1 - d]
    return at


@triton.jit
def sub_kernel(a_ptr, b_ptr, o_ptr, b_number, alpha, n, sizes, a_strides, b_strides, o_strides, NDIM: tl.constexpr,
               B_IS_TENSOR: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(a_ptr + place(i, sizes, a_strides, NDIM), mask=mask).to(WIDE)
    if B_IS_TENSOR:
        b = tl.load(b_ptr + place(i, sizes, b_strides, NDIM), mask=mask).to(WIDE)
    else:
        b = tl.full([BLOCK], b_number, WIDE)
    tl.store(o_ptr + place(i, sizes, o_strides, NDIM), (a - alpha * b).to(o_ptr.dtype.element_ty), mask=mask)


def merged(sizes: Sequence[int], strides: Strides) -> Tuple[Tuple[int, ...], Strides]:
    """Neighbouring dimensions that lie behind each other in every tensor become one."""
    new_sizes, new_strides = [], [[] for _ in strides]
    for d in range(len(sizes)):
        if sizes[d] == 1:
            continue
        if new_sizes and all(kept[-1] == s[d] * sizes[d] for kept, s in zip(new_strides, strides)):
            new_sizes[-1] *= sizes[d]
            for kept, s in zip(new_strides, strides):
                kept[-1] = s[d]
        else:
            new_sizes.append(sizes[d])
            for kept, s in zip(new_strides, strides):
                kept.append(s[d])
    if not new_sizes:
        return (1,), [(0,) for _ in strides]
    return tuple(new_sizes), [tuple(s) for s in new_strides]


def subtract(a, b, *, alpha, out):
    n = out.numel()
    if n == 0:
        return out
    is_tensor = isinstance(b, torch.Tensor)
    a = a.expand(out.shape)
    other = b.expand(out.shape) if is_tensor else a
    sizes, (sa, sb, so) = merged(out.shape, [a.stride(), other.stride(), out.stride()])
    sub_kernel[(triton.cdiv(n, 1024),)](a, other, out, 0 if is_tensor else b, alpha, n, sizes, sa, sb, so,
                                        NDIM=len(sizes), B_IS_TENSOR=is_tensor,
                                        WIDE=tl.float32 if out.dtype.is_floating_point else tl.int64, BLOCK=1024)
    return out


class Temporary:
    """The result of the latest call, which is often the operand of the next one."""

    latest = None


def fresh(a, b):
    shape = torch.broadcast_shapes(a.shape, b.shape) if isinstance(b, torch.Tensor) else a.shape
    dtype = torch.result_type(a, b)
    if Temporary.latest is not None and Temporary.latest() is a and a.shape == shape and a.dtype == dtype:
        result = a.view(shape)  # a - b - c: the difference in between makes room for the next one
    else:
        result = torch.empty(shape, dtype=dtype, device=a.device)
    Temporary.latest = weakref.ref(result)
    return result


def sub_Tensor(self, other, *, alpha=1):
    return subtract(self, other, alpha=alpha, out=fresh(self, other))


def sub_Scalar(self, other, alpha=1):
    return subtract(self, other, alpha=alpha, out=fresh(self, other))


def sub_out(self, other, *, alpha=1, out):
    return subtract(self, other, alpha=alpha, out=out)


def sub_Scalar_out(self, other, alpha=1, *, out):
    return subtract(self, other, alpha=alpha, out=out)
