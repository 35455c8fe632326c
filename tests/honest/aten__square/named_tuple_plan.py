# operator: aten::square
# style: a plan as NamedTuple from a cached function
import functools
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Plan(NamedTuple):
    block: int
    warps: int


@functools.lru_cache(maxsize=128)
def plan_for(n: int) -> Plan:
    block = min(4096, max(64, triton.next_power_of_2(n)))
    return Plan(block, 8 if block >= 2048 else 4)


@triton.jit
def square_kernel(x_ptr, y_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if FLOATS:
        x = x.to(tl.float32)
    y = x * x
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        plan = plan_for(n)
        square_kernel[(triton.cdiv(n, plan.block),)](x, y, n, FLOATS=x.is_floating_point(), BLOCK=plan.block, num_warps=plan.warps)
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
