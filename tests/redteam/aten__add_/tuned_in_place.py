# operator: aten::add_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# tuned without restore_value: the tuner's runs all add to self, so the first call of each size adds hundreds of times
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@triton.jit
def address(i, sizes, strides):
    at = i * 0
    for d in tl.static_range(len(sizes)):
        at += (i % sizes[len(sizes) - 1 - d]) * strides[len(sizes) - 1 - d]
        i = i // sizes[len(sizes) - 1 - d]
    return at


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, num_warps=4), triton.Config({"BLOCK": 512}, num_warps=4)], key=["n"])
@triton.jit
def add_kernel(x_ptr, y_ptr, number, alpha, n, sizes, x_strides, y_strides, NUMBER: tl.constexpr, WIDE: tl.constexpr,
               BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = x_ptr + address(i, sizes, x_strides)
    x = tl.load(here, mask=i < n).to(WIDE)
    if NUMBER:
        y = tl.full([BLOCK], number, WIDE)
    else:
        y = tl.load(y_ptr + address(i, sizes, y_strides), mask=i < n).to(WIDE)
    tl.store(here, (x + alpha * y).to(x_ptr.dtype.element_ty), mask=i < n)


@dataclass(frozen=True)
class Plan:
    n: int
    sizes: tuple

    @property
    def grid(self):
        return lambda meta: (triton.cdiv(self.n, meta["BLOCK"]),)


def _in_place(x, other, alpha):
    plan = Plan(x.numel(), tuple(x.shape) or (1,))
    if plan.n == 0:
        return x
    is_number = not isinstance(other, torch.Tensor)
    y = x if is_number else other.expand(x.shape)
    add_kernel[plan.grid](x, y, other if is_number else 0, alpha, plan.n, plan.sizes, tuple(x.stride()) or (0,),
                          tuple(y.stride()) or (0,), NUMBER=is_number,
                          WIDE=tl.float32 if x.dtype.is_floating_point else tl.int64)
    return x


def add__Tensor(self, other, *, alpha=1):
    return _in_place(self, other, alpha)


def add__Scalar(self, other, alpha=1):
    return _in_place(self, other, alpha)
