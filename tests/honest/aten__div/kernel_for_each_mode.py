# operator: aten::div
# style: a kernel for each rounding mode in a dict, typing.Literal and Optional, tl.fdiv and div_rn, early return for nothing
from typing import Literal, Optional

import torch
import triton
import triton.language as tl

RoundingMode = Optional[Literal["trunc", "floor"]]


@triton.jit
def operands(a_ptr, b_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0).to(ACC)
    b = tl.load(b_ptr + at, mask=at < n, other=1).to(ACC)
    return at, a, b


@triton.jit
def exact(a_ptr, b_ptr, o_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    at, a, b = operands(a_ptr, b_ptr, n, ACC, BLOCK)
    tl.store(o_ptr + at, tl.div_rn(a, b).to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def towards_zero(a_ptr, b_ptr, o_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    at, a, b = operands(a_ptr, b_ptr, n, ACC, BLOCK)
    if ACC.is_floating():
        q = tl.div_rn(a, b)
        q = tl.where(q < 0, tl.ceil(q), tl.floor(q))
    else:
        q = a // b  # like C: towards zero
    tl.store(o_ptr + at, q.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def downwards(a_ptr, b_ptr, o_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    at, a, b = operands(a_ptr, b_ptr, n, ACC, BLOCK)
    if ACC.is_floating():
        # A remainder in float32 is not exact on a GPU where the quotient is large.
        q = tl.floor(a.to(tl.float64) / b.to(tl.float64))
        q = tl.where((a - a != 0) & (b != 0), float("nan"), q)  # an infinite a
        q = tl.where((q == 0) & (a != 0) & ((a < 0) != (b < 0)), -1.0, q)  # an infinite b
    else:
        r = a % b  # the sign of a
        q = a // b - ((r != 0) & ((r < 0) != (b < 0))).to(ACC)
    tl.store(o_ptr + at, q.to(o_ptr.dtype.element_ty), mask=at < n)


KERNELS = {None: exact, "trunc": towards_zero, "floor": downwards}


def divide(a: torch.Tensor, b, mode: RoundingMode = None) -> torch.Tensor:
    dtype = torch.result_type(a, b)
    if mode is None and not dtype.is_floating_point:
        dtype = torch.float32
    work = torch.float32 if dtype.is_floating_point else dtype
    if not isinstance(b, torch.Tensor):
        b = torch.full((), b, dtype=work, device=a.device)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    q = torch.empty(shape, dtype=dtype, device=a.device)
    if q.numel() == 0:
        return q
    # a 0-dimensional divisor is not rounded to half precision first
    b = b.to(work if b.dim() == 0 else dtype)
    a = a.to(dtype)
    KERNELS[mode][(triton.cdiv(q.numel(), 1024),)](a.expand(shape).contiguous(), b.expand(shape).contiguous(), q, q.numel(),
                                                   ACC=tl.float32 if dtype.is_floating_point else tl.int64, BLOCK=1024)
    return q


def div_Tensor(self, other):
    return divide(self, other)


def div_Scalar(self, other):
    return divide(self, other)


def div_Tensor_mode(self, other, *, rounding_mode: RoundingMode):
    return divide(self, other, rounding_mode)


def div_Scalar_mode(self, other, *, rounding_mode: RoundingMode):
    return divide(self, other, rounding_mode)


def div_out(self, other, *, out):
    return out.copy_(divide(self, other))


def div_out_mode(self, other, *, rounding_mode: RoundingMode, out):
    return out.copy_(divide(self, other, rounding_mode))


def div_Scalar_out(self, other, *, out):
    return out.copy_(divide(self, other))


def div_Scalar_mode_out(self, other, *, rounding_mode: RoundingMode, out):
    return out.copy_(divide(self, other, rounding_mode))
