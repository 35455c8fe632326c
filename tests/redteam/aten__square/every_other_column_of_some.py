# operator: aten::square
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# a last stride above 1 is taken for even distances: wrong for x[:, :10:2] and x[:, 1:, 0]
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
def square_kernel(x_ptr, y_ptr, n, step, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * step, mask=at < n, other=0)
    if FLOATS:
        x = x.to(tl.float32)
    y = x * x
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def even_step(x):
    """How far apart elements are where every k-th one is taken; 0: they lie in another way."""
    strides = x.stride()
    descending = all(a > b for a, b in zip(strides, strides[1:]))
    return strides[-1] if strides and descending and strides[-1] > 1 else 0


def square(self):
    step = even_step(self)
    x = self if step else self.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    if n > 0:
        plan = plan_for(n)
        square_kernel[(triton.cdiv(n, plan.block),)](x, y, n, step or 1, FLOATS=x.is_floating_point(), BLOCK=plan.block, num_warps=plan.warps)
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
