# operator: aten::mish
# expect: verify\.mismatch
# catalogue: 77
# the second configuration of the tuner is wrong (half of each block is skipped): a GPU takes the faster one
import math

import torch
import triton
import triton.language as tl


def search_space():
    for block in (512, 1024):
        for warps in (4, 8):
            yield triton.Config({"BLOCK": block, "DONE": block if block == 512 else 512}, num_warps=warps, num_stages=2)


@triton.jit
def softplus(x, LOG2E: tl.constexpr):
    """log(1 + exp(x)) without overflow."""
    e = tl.exp2(-tl.abs(x) * LOG2E)
    # log(1 + e) for small e: e - e * e / 2
    small = e - 0.5 * e * e
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL) + tl.where(e < 1e-4, small, tl.log(1.0 + e))


@triton.jit
def tanh(y):
    e = tl.exp(-2.0 * y)
    # for tiny y the quotient loses digits; there tanh(y) = y - y^3 / 3
    return tl.where(y < 0.01, y * (1.0 - y * y * (1.0 / 3.0)), (1.0 - e) / (1.0 + e))


@triton.autotune(configs=list(search_space()), key=["n"])
@triton.jit
def mish_kernel(x_ptr, y_ptr, n, LOG2E: tl.constexpr, BLOCK: tl.constexpr, DONE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, (x * tanh(softplus(x, LOG2E))).to(y_ptr.dtype.element_ty), mask=(at < n) & (tl.arange(0, BLOCK) < DONE))


def mish(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        mish_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel(), LOG2E=math.log2(math.e))
    return y


def mish_out(self, *, out):
    return out.copy_(mish(self))
