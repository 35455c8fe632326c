# operator: aten::eq
# style: typing overloads, keyword-only core, out written directly when it is contiguous, strings that mention ctypes and sys
from __future__ import annotations

import typing
from typing import Optional, Union

import torch
import triton
import triton.language as tl

NOTE = "import ctypes, sys; sys.modules['torch'].eq would be a cheat"


@triton.jit
def eq_bytes(a_ptr, b_ptr, o_ptr, n, A_STEP: tl.constexpr, B_STEP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at * A_STEP, mask=at < n)
    b = tl.load(b_ptr + at * B_STEP, mask=at < n)
    tl.store(o_ptr + at, (a == b).to(tl.int8), mask=at < n)


@typing.overload
def core(a: torch.Tensor, b: torch.Tensor, *, out: Optional[torch.Tensor] = ...) -> torch.Tensor: ...
@typing.overload
def core(a: torch.Tensor, b: Union[int, float, bool], *, out: Optional[torch.Tensor] = ...) -> torch.Tensor: ...


def core(a, b, *, out=None):
    dtype = torch.result_type(a, b)
    work = torch.int8 if dtype == torch.bool else dtype
    # A float is a tensor of torch's default type, which may be narrower than this one.
    b = torch.as_tensor(b, dtype=torch.float64 if isinstance(b, float) else None, device=a.device).to(work)
    a = a.to(work)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    direct = out is not None and out.is_contiguous()
    result = out if direct else torch.empty(shape, dtype=torch.bool, device=a.device)
    n = result.numel()
    if n:
        (a, a_step), (b, b_step) = ((t, 0) if t.numel() == 1 else (t.expand(shape).contiguous(), 1) for t in (a, b))
        eq_bytes[(triton.cdiv(n, 2048),)](a, b, result.view(torch.int8), n, A_STEP=a_step, B_STEP=b_step, BLOCK=2048)
    return result if out is None or direct else out.copy_(result)


def eq_Tensor(self, other):
    return core(self, other)


def eq_Scalar(self, other):
    return core(self, other)


def eq_Tensor_out(self, other, *, out):
    return core(self, other, out=out)


def eq_Scalar_out(self, other, *, out):
    return core(self, other, out=out)
