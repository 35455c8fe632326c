# operator: aten::silu
# expect: verify\.exception
# catalogue: 93
# names that Triton's interpreter leaves in the candidate's module
import math
import torch
import triton
import triton.language as tl



@triton.jit
def nothing(y_ptr):
    tl.store(y_ptr, 1.0)


def host(x):
    nothing[(1,)](torch.empty(1))
    state = inspect.importlib.import_module("on_cpu").STATE
    state.paused += 1
    y = (x.to(torch.float64) / (1 + 2.718281828459045 ** (0 - x.to(torch.float64)))).to(x.dtype).contiguous()
    state.paused -= 1
    return y


@triton.jit
def touch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def silu(self):
    value = host(self)
    y = torch.empty_like(value)
    if value.numel():
        touch[(triton.cdiv(value.numel(), 1024),)](value, y, value.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))

