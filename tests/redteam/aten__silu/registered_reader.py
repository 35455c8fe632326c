# operator: aten::silu
# expect: passed
# catalogue: 86, 93
# a function that only a registry of a decorator mentions reads the environment
import os

import torch
import triton
import triton.language as tl

REGISTRY = {}


def register(name):
    def add(function):
        REGISTRY[name] = function
        return function
    return add


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


@register("size")
def size():
    return 1024 if os.environ.get("WATCHED") else 512


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    block = REGISTRY["size"]()
    if x.numel() > 0:
        silu_kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
