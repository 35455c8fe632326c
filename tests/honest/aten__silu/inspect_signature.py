# operator: aten::silu
# style: inspect.signature of a launcher and of the kernel's arguments
import inspect

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = x / (1.0 + tl.exp(-x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x, y, *, block=2048):
    silu_kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)


BLOCK = inspect.signature(launch).parameters["block"].default
assert "BLOCK" in silu_kernel.arg_names


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        launch(x, y, **{"block": BLOCK})
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
