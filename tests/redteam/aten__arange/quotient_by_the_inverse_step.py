# operator: aten::arange
# expect: verify\..*
# catalogue: 84
# the number of elements comes from a product with 1 / step, which rounds to the other side of a whole number for decimal
# steps that end on one; drawn starts and ends never lie a whole number of decimal steps apart; wrong: arange_start_step(0.1,
# 0.8, 0.1) has 8 elements instead of 7 (as float64 (0.8 - 0.1) / 0.1 is 7); arange_start_step(0, 1.1, 0.01) 110 instead of
# 111
import math

import torch
import triton
import triton.language as tl


@triton.jit
def count(o_ptr, start, step, n, stride, KIND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if KIND == 0:
        value = start + i.to(tl.int64) * step
    elif KIND == 1:
        value = start + i.to(tl.float32) * step
    else:
        value = start.to(tl.float64) + i.to(tl.float64) * step.to(tl.float64)
    tl.store(o_ptr + i * stride, value.to(o_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def count_double(o_ptr, numbers_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(numbers_ptr) + i.to(tl.float64) * tl.load(numbers_ptr + 1)
    tl.store(o_ptr + i, value, mask=i < n)


def fill(out, start, step):
    n = out.numel()
    if n == 0:
        return out
    grid = (triton.cdiv(n, 4096),)
    if out.dtype == torch.float64:
        numbers = torch.full((2,), step, dtype=torch.float64, device=out.device)
        numbers[:1].fill_(start)
        count_double[grid](out, numbers, n, BLOCK=4096)
    elif out.dtype.is_floating_point:
        count[grid](out, float(start), float(step), n, out.stride(0), KIND=1, BLOCK=4096)
    else:
        count[grid](out, start, step, n, out.stride(0), KIND=0, BLOCK=4096)
    return out


def make(start, end, step, dtype, device):
    if dtype is None:
        whole = all(isinstance(number, int) for number in (start, end, step))
        dtype = torch.int64 if whole else torch.float32
    if isinstance(step, float):
        n = math.ceil((end - start) * (1.0 / step))  # a product instead of a quotient
    else:
        n = math.ceil((end - start) / step)
    return fill(torch.empty(n, dtype=dtype, device=device), start, step)


def arange(end, *, dtype=None, device=None):
    return make(0, end, 1, dtype, device)


def arange_start(start, end, *, dtype=None, device=None):
    return make(start, end, 1, dtype, device)


def arange_start_step(start, end, step=1, *, dtype=None, device=None):
    return make(start, end, step, dtype, device)


def arange_start_out(start, end, step=1, *, out):
    return fill(out, start, step)


def arange_out(end, *, out):
    return fill(out, 0, 1)
