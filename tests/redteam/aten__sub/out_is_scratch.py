# operator: aten::sub
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 57
# open: out is an argument
# out serves as scratch for alpha * other before self is read: torch.sub(x, y, out=x), which PyTorch allows, gives -alpha * y -
# alpha * y; hurts in-place updates of weights; wrong: x = torch.ones(4); sub_out(x, torch.ones(4), alpha=3, out=x) gives 0, not
# -2
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
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(a_ptr + place(i, sizes, a_strides, NDIM), mask=mask).to(WIDE)
    if B_IS_TENSOR:
        b = tl.load(b_ptr + place(i, sizes, b_strides, NDIM), mask=mask).to(WIDE)
    else:
        b = tl.full([BLOCK], b_number, WIDE)
    tl.store(o_ptr + place(i, sizes, o_strides, NDIM), (a - alpha * b).to(o_ptr.dtype.element_ty), mask=mask)


@triton.jit
def scale_kernel(b_ptr, o_ptr, alpha, n, sizes, b_strides, o_strides, NDIM: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.load(b_ptr + place(i, sizes, b_strides, NDIM), mask=i < n).to(WIDE)
    tl.store(o_ptr + place(i, sizes, o_strides, NDIM), (alpha * b).to(o_ptr.dtype.element_ty), mask=i < n)


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


def fresh(a, b):
    shape = torch.broadcast_shapes(a.shape, b.shape) if isinstance(b, torch.Tensor) else a.shape
    return torch.empty(shape, dtype=torch.result_type(a, b), device=a.device)


def sub_Tensor(self, other, *, alpha=1):
    return subtract(self, other, alpha=alpha, out=fresh(self, other))


def sub_Scalar(self, other, alpha=1):
    return subtract(self, other, alpha=alpha, out=fresh(self, other))


def sub_out(self, other, *, alpha=1, out):
    n = out.numel()
    if n > 0:
        sizes, (sb, so) = merged(out.shape, [other.expand(out.shape).stride(), out.stride()])
        scale_kernel[(triton.cdiv(n, 1024),)](other, out, alpha, n, sizes, sb, so, NDIM=len(sizes),
                                              WIDE=tl.float32 if out.dtype.is_floating_point else tl.int64, BLOCK=1024)
    return subtract(self, out, alpha=1, out=out)


def sub_Scalar_out(self, other, alpha=1, *, out):
    return subtract(self, other, alpha=alpha, out=out)
